"""The body of a message: what it may be made of, and reading it once in one of its forms."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, TypeAlias

from stepwell.bindings.values.shapes import JsBytes
from stepwell.bindings.web.headers import Headers
from stepwell.bindings.web.streams import ReadableStream

if TYPE_CHECKING:  # most Workers have nothing to do with forms, so they are imported where they are needed
    from stepwell.bindings.web.forms import Blob, FormData

Bytes: TypeAlias = bytes


class Body:
    """The body of a message: read once, as bytes, text, JSON, a form or a stream."""

    def __init__(self, data: Bytes | ReadableStream | None, headers: Headers) -> None:
        self._data = data
        self._stream: ReadableStream | None = data if isinstance(data, ReadableStream) else None
        self._used = False
        self.headers = headers

    @property
    def body(self) -> ReadableStream | None:
        """The body as a stream; None when there is none."""
        if self._stream is None and self._data is not None and not isinstance(self._data, ReadableStream):
            self._stream = ReadableStream.of(self._data)
        return self._stream

    @property
    def body_used(self) -> bool:
        return self._used or (self._stream is not None and self._stream.is_disturbed)

    async def bytes(self) -> Bytes:
        return await self._read()

    async def buffer(self) -> JsBytes:
        return JsBytes(await self._read())

    async def text(self) -> str:
        return (await self._read()).decode("utf-8-sig", "replace")

    async def form_data(self) -> FormData:
        """Raises `TypeError` when the content type is no form's."""
        from stepwell.bindings.web.forms import parse_form

        self._raise_if_used()
        return parse_form(await self._read(), self.headers.get("content-type", ""))

    async def blob(self) -> Blob:
        from stepwell.bindings.web.forms import Blob

        return Blob(await self._read(), self.headers.get("content-type", ""))

    def whole_body(self) -> Bytes | None:
        """For whoever sends the message: its bytes; None when they come as a stream."""
        return None if isinstance(self._data, ReadableStream) else self._data or b""

    async def _read(self) -> Bytes:
        self._raise_if_used()
        self._used = True
        if isinstance(self._data, ReadableStream):
            return await self._data.read_all()
        return self._data or b""

    async def _parsed(self, **options: Any) -> Any:
        return json.loads(await self.text(), **options)

    def _raise_if_used(self) -> None:
        if self.body_used:
            raise OSError("Body already used")

    def copied_body(self) -> Bytes | ReadableStream | None:
        self._raise_if_used()
        if isinstance(self._data, ReadableStream):
            self._data, copied = self._data.tee()
            self._stream = self._data
            return copied
        return self._data

    # JavaScript's names, for code that works with `js_object`
    arrayBuffer = buffer
    formData = form_data

    @property
    def bodyUsed(self) -> bool:
        return self.body_used


def body_data(body: Any, headers: Headers) -> Bytes | ReadableStream | None:
    """The bytes of what user code gave as a body; sets the content type that goes with it, unless there is one.

    Raises `TypeError` with the SDK's text for other types.
    """
    data, content_type = _body_and_type(body)
    if content_type and "content-type" not in headers:
        headers.set("content-type", content_type)
    return data


def _body_and_type(body: Any) -> tuple[Bytes | ReadableStream | None, str]:
    if body is None or isinstance(body, ReadableStream):
        return body, ""
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass"), "text/plain;charset=UTF-8"
    if isinstance(body, bytes):
        return bytes(body), ""
    return _form_and_type(body)


def _form_and_type(body: Any) -> tuple[Bytes, str]:
    from stepwell.bindings.web.forms import Blob, FormData, multipart

    if isinstance(body, FormData):
        boundary = f"----formdata-{os.urandom(12).hex()}"
        return multipart(body, boundary), f"multipart/form-data; boundary={boundary}"
    if isinstance(body, Blob):
        return body._data, body.content_type
    if hasattr(body, "to_query_string"):  # js.URLSearchParams
        return body.to_query_string().encode(), "application/x-www-form-urlencoded;charset=UTF-8"
    raise TypeError(f"Unsupported type in Response: {type(body).__name__}")


async def chunks_of(message: Body) -> AsyncIterator[Bytes]:
    """The body of a message that is sent, a chunk at a time."""
    stream = message.body
    if stream is not None:
        async for chunk in stream:
            yield chunk
