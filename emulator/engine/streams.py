"""Outputs of steps that are streams: stored in pieces, read again as often as wanted (area streams)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from bindings.errors import EngineError, WorkerError, WorkflowFatalError, WorkflowInternalError
from bindings.ports import StreamOutput
from emulator.limits import Limits
from emulator.storage.store import Store

#: A stored piece. Cloudflare's size, so that the storage limit counts alike.
PIECE_BYTES: Final = 256 * 1024
PREVIEW_CHARS: Final = 1_024


class InvalidStream(EngineError):
    """The stream itself is unusable; the instance ends at once."""

    name = "InvalidStepReadableStreamError"


class OversizedChunk(InvalidStream):
    name = "OversizedStreamChunkError"

    def __init__(self, limit: int) -> None:
        super().__init__(
            "Step returned a ReadableStream chunk larger than the maximum allowed size of "
            f"{limit} bytes. Return smaller chunks from step.do()."
        )


class StreamFailed(InvalidStream):
    """Reading it failed; `original` is what user code's stream raised."""

    def __init__(self, original: str) -> None:
        super().__init__(f"Failed to read from step ReadableStream output. {original}")


async def store_stream(store: Store, key: int, seq: int, stream: StreamOutput, limits: Limits) -> int:
    """Reads a stream to its end into storage; gives the number of bytes.

    Raises `InvalidStream` for a bad chunk or a failing stream, `WorkflowFatalError` when storage is full. What was
    stored by then is removed.
    """
    writer = _Pieces(store, key, seq)
    room = limits.instance_storage_bytes
    used = store.stored_bytes(key)
    try:
        async for chunk in stream.chunks:
            most = limits.stream_chunk_bytes
            if most is not None and len(chunk) > most:
                raise OversizedChunk(most)
            writer.add(chunk)
            if room is not None and used + writer.size > room:
                raise WorkflowFatalError(f"The instance has exceeded the {_gib(room)} storage limit")
        writer.close()
    except WorkerError as error:
        store.delete_stream(key, seq)
        raise StreamFailed(error.message) from error
    except BaseException:
        store.delete_stream(key, seq)
        raise
    return writer.size


def _gib(size: int) -> str:
    return f"{size // 1024**3}GiB" if size >= 1024**3 else f"{size // 1024**2}MiB"


class _Pieces:
    """Cuts chunks of any size into pieces of one size."""

    def __init__(self, store: Store, key: int, seq: int) -> None:
        self._store, self._key, self._seq = store, key, seq
        self._buffer = bytearray()
        self._count = 0
        self.size = 0

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._buffer += chunk
        while len(self._buffer) >= PIECE_BYTES:
            self._put(bytes(self._buffer[:PIECE_BYTES]))
            del self._buffer[:PIECE_BYTES]

    def close(self) -> None:
        if self._buffer or self._count == 0:
            self._put(bytes(self._buffer))

    def _put(self, piece: bytes) -> None:
        self._store.add_chunk(self._key, self._seq, self._count, piece)
        self._count += 1


def stored_stream(store: Store, key: int, seq: int) -> StreamOutput:
    """A fresh stream over what is stored. Iterating raises `WorkflowInternalError` if a piece is missing."""
    return StreamOutput(_read(store, key, seq))


async def _read(store: Store, key: int, seq: int) -> AsyncIterator[bytes]:
    n = 0
    while (piece := store.chunk(key, seq, n)) is not None:
        if piece:
            yield piece
        n += 1
    if n == 0:
        step = store.step(key, seq)
        name = step.public_name if step is not None else str(seq)
        raise WorkflowInternalError(f"Stored output for {name} is corrupt or incomplete.")


def preview(first: bytes, size: int) -> str:
    """A stream in a log: its first characters when it is text, else its size."""
    try:
        text = first[: PREVIEW_CHARS * 4].decode()
    except UnicodeDecodeError as error:
        if error.end < len(first[: PREVIEW_CHARS * 4]) or error.start == 0:
            return f"[ReadableStream (binary): {size} bytes]"
        text = first[: error.start].decode()
    cut = text[:PREVIEW_CHARS]
    return cut if len(cut.encode()) == size else f"{cut}[truncated output]"
