"""Outputs of steps that are streams: stored in pieces, read again as often as wanted (area streams)."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from typing import Final

from stepwell.bindings.errors import (
    EngineError,
    ErrorInfo,
    HostCrashed,
    WorkerError,
    WorkflowFatalError,
    WorkflowInternalError,
    error_info,
)
from stepwell.bindings.ports import StreamOutput
from stepwell.emulator.limits import GIB, MIB, Limits
from stepwell.emulator.storage.records import StepRow
from stepwell.emulator.storage.store import Store

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


#: What the host of user code found wrong with a stream: their texts stand by themselves.
_UNUSABLE: Final = frozenset({"InvalidStepReadableStreamError", "UnsupportedStreamChunkError"})


class Unusable(InvalidStream):
    """A stream that is locked already, or holds something that is neither bytes nor text."""

    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(info.message, name=info.name)


class StreamFailed(InvalidStream):
    """Reading it failed; `original` is what user code's stream raised."""

    def __init__(self, original: str) -> None:
        super().__init__(f"Failed to read from step ReadableStream output. {original}")


def _failed(info: ErrorInfo) -> InvalidStream:
    return Unusable(info) if info.name in _UNUSABLE else StreamFailed(info.message)


async def store_stream(
    store: Store, key: int, row: StepRow, stream: StreamOutput, limits: Limits, check: Callable[[], None]
) -> None:
    """Reads a stream to its end into storage. `check` raises when the instance is no longer ours to write.

    Raises `InvalidStream` for a bad chunk or a failing stream, `WorkflowFatalError` when storage is full. What was
    stored by then is removed, and so is what an attempt left that a crash cut off.
    """
    store.delete_stream(key, row.seq)
    writer = _Pieces(store, key, row)
    room = Room(limits, store.stored_bytes(key))
    try:
        async for chunk in stream.chunks:
            check()
            most = limits.stream_chunk_bytes
            if most is not None and len(chunk) > most:
                raise OversizedChunk(most)
            room.take(len(chunk))
            writer.add(chunk)
        check()
        writer.close()
    except (EngineError, HostCrashed):
        store.delete_stream(key, row.seq)
        raise
    except WorkerError as error:
        store.delete_stream(key, row.seq)
        raise _failed(error.info) from error
    except Exception as error:
        store.delete_stream(key, row.seq)
        raise StreamFailed(error_info(error).message) from error


class Room:
    """What an instance may still store."""

    def __init__(self, limits: Limits, used: int) -> None:
        self._most = limits.instance_storage_bytes
        self._used = used

    def take(self, size: int) -> None:
        """Raises `WorkflowFatalError` when there is no room for so many bytes."""
        if self._most is not None and self._used + size > self._most:
            raise WorkflowFatalError(f"The instance has exceeded the {_shown(self._most)} storage limit")
        self._used += size


def _shown(size: int) -> str:
    return f"{size // GIB}GiB" if size >= GIB else f"{size // MIB}MiB" if size >= MIB else f"{size} bytes"


class _Pieces:
    """Cuts chunks of any size into pieces of one size; an empty piece marks the end."""

    def __init__(self, store: Store, key: int, row: StepRow) -> None:
        self._store, self._key, self._row = store, key, row
        self._buffer = bytearray()
        self._count = 0

    def add(self, chunk: bytes) -> None:
        self._buffer += chunk
        while len(self._buffer) >= PIECE_BYTES:
            self._put(bytes(self._buffer[:PIECE_BYTES]))
            del self._buffer[:PIECE_BYTES]

    def close(self) -> None:
        if self._buffer:
            self._put(bytes(self._buffer))
        self._put(b"")

    def _put(self, piece: bytes) -> None:
        row = self._row
        self._store.add_chunk(self._key, row.seq, self._count, piece, sensitive=row.sensitive)
        self._count += 1


def stored_stream(store: Store, key: int, seq: int) -> StreamOutput:
    """A fresh stream over what is stored. Iterating raises `WorkflowInternalError` if a piece is missing."""
    return StreamOutput(_read(store, key, seq))


async def _read(store: Store, key: int, seq: int) -> AsyncIterator[bytes]:
    for n in itertools.count():
        piece = store.chunk(key, seq, n)
        if piece is None:
            step = store.step(key, seq)
            name = step.public_name if step is not None else str(seq)
            raise WorkflowInternalError(f"Stored output for {name} is corrupt or incomplete.")
        if not piece:
            return
        yield piece


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
