"""A stream of user code on its way to the engine."""

from __future__ import annotations

import asyncio

from stepwell.bindings.errors import ErrorInfo, WorkerError
from stepwell.emulator.worker.workerd.wire import WireError

#: What Workers RPC makes of a stream that fails, whatever the reason (contract case streams-errors).
_STREAM_FAILED = ErrorInfo("Error", "ReadableStream received over RPC disconnected prematurely.")
#: Errors of a stream that have a text of their own.
_STREAM_ERRORS = frozenset({"UnsupportedStreamChunkError", "InvalidStepReadableStreamError"})


class IncomingStream:
    """Chunks of one stream of user code, one at a time."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._next: asyncio.Future[bytes | None] | None = None
        self._failure: BaseException | None = None
        self.over = False

    async def next(self) -> bytes | None:
        """The next chunk, which has been asked for; None at the end. Raises `WorkerError` if the stream failed."""
        if self._failure is not None:
            raise self._failure
        self._next = asyncio.get_running_loop().create_future()
        return await self._next

    def received(self, piece: bytes, *, last: bool) -> None:
        self._parts.append(piece)
        if last:
            chunk = b"".join(self._parts)
            self._parts.clear()
            self._settle(chunk)

    def ended(self, error: WireError | None) -> None:
        self.over = True
        if error is None:
            self._settle(None)
        else:
            known = error["name"] in _STREAM_ERRORS
            self.failed(WorkerError(ErrorInfo.from_json(error) if known else _STREAM_FAILED))

    def failed(self, error: BaseException) -> None:
        self.over = True
        self._failure = error
        if self._next is not None and not self._next.done():
            self._next.set_exception(error)

    def _settle(self, chunk: bytes | None) -> None:
        if self._next is not None and not self._next.done():
            self._next.set_result(chunk)
