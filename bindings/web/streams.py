"""ReadableStream, as far as bodies need it: chunks of bytes, read once, by iteration or through a reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any, TypeAlias

from stepwell.bindings.values import JsDict
from stepwell.bindings.values.shapes import JsBytes

Bytes: TypeAlias = bytes


class ReadableStream:
    """A stream of bytes over any async iterable of them."""

    def __init__(self, chunks: AsyncIterable[Bytes]) -> None:
        self._chunks = chunks.__aiter__()
        self.is_disturbed = False
        self.locked = False

    @staticmethod
    def of(data: Bytes) -> ReadableStream:
        async def chunks() -> AsyncIterator[Bytes]:
            yield data

        return ReadableStream(chunks())

    def __aiter__(self) -> ReadableStream:
        return self

    async def __anext__(self) -> JsBytes:
        self.is_disturbed = True
        chunk = await self._chunks.__anext__()
        return JsBytes(chunk.encode() if isinstance(chunk, str) else chunk)

    async def read_all(self) -> Bytes:
        return b"".join([chunk async for chunk in self])

    def getReader(self, *_: Any) -> StreamReader:
        self.locked = True
        return StreamReader(self)

    async def cancel(self, reason: object = None) -> None:
        self.is_disturbed = True
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()

    def tee(self) -> tuple[ReadableStream, ReadableStream]:
        """Two streams with the same chunks; what one has not read yet is kept for it."""
        source = self._chunks
        queues: list[asyncio.Queue[Bytes | None]] = [asyncio.Queue(), asyncio.Queue()]
        turn = asyncio.Lock()

        async def branch(own: asyncio.Queue[Bytes | None]) -> AsyncIterator[Bytes]:
            while True:
                async with turn:
                    if own.empty():
                        chunk = await anext(source, None)
                        for queue in queues:
                            queue.put_nowait(chunk)
                chunk = own.get_nowait()
                if chunk is None:
                    return
                yield chunk

        return ReadableStream(branch(queues[0])), ReadableStream(branch(queues[1]))


class StreamReader:
    """`stream.getReader()`."""

    def __init__(self, stream: ReadableStream) -> None:
        self._stream = stream

    async def read(self) -> JsDict:
        try:
            return JsDict(value=await anext(self._stream), done=False)
        except StopAsyncIteration:
            return JsDict(value=None, done=True)

    async def cancel(self, reason: object = None) -> None:
        await self._stream.cancel(reason)

    def releaseLock(self) -> None:
        self._stream.locked = False
