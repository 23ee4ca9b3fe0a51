"""uvicorn's HTTP protocol with limits on what a client may send; uvicorn itself has no limit on headers."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

#: Maximum bytes of request line and headers: the limit of Cloudflare and of workerd.
MOST_HEAD_BYTES: Final = 128 * 1024
#: Maximum bytes of a body to discard after its request has been answered.
MOST_UNREAD_BYTES: Final = 128 * 1024 * 1024
#: Seconds until the connection of a rejected client is closed: an immediate close would lose the response.
_LINGER_S: Final = 10.0
_REASON_EXTENSION: Final = "stepwell.reason"


class BoundedHttp(HttpToolsProtocol):
    """Answers 431 if the headers are too long; closes if too much of a body follows its response."""

    #: Bytes received of the current headers; None between headers.
    _head_bytes: int | None = None
    #: Bytes received after the response, while the body of the request is still arriving.
    _unread_bytes: int | None = None
    _refused: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        if self._refused is not None:
            return
        super().data_received(data)
        if self._head_bytes is not None and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD_BYTES:
                self._refuse()
        elif self._unread_bytes is not None and self.cycle.response_complete:
            self._unread_bytes += len(data)
            if self._unread_bytes > MOST_UNREAD_BYTES:
                self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes, self._unread_bytes = 0, None

    def on_headers_complete(self) -> None:
        self._head_bytes, self._unread_bytes = None, 0
        super().on_headers_complete()
        if self.cycle is not None and self.cycle.scope is self.scope:  # not so for an upgrade
            extensions: dict[str, Any] = {_REASON_EXTENSION: partial(_set_reason, self.cycle)}
            self.scope["extensions"] = extensions

    def on_message_complete(self) -> None:
        self._unread_bytes = None
        super().on_message_complete()

    def _refuse(self) -> None:
        text = f"The request's headers take more than the limit of {MOST_HEAD_BYTES} bytes.\n".encode()
        head = b"content-type: text/plain;charset=utf-8\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
        self.transport.write(STATUS_LINE[431] + head % len(text) + text)
        self.transport.write_eof()
        self._refused = self.loop.call_later(_LINGER_S, self.transport.close)

    def eof_received(self) -> None:
        if self._refused is not None:
            self.transport.close()
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._refused is not None:
            self._refused.cancel()
        super().connection_lost(exc)


def _set_reason(cycle: RequestResponseCycle, status: int, phrase: str) -> None:
    """Has the status line of an answer end in `phrase`, if a status line can hold it."""
    if phrase and phrase.isprintable() and phrase.isascii() and phrase != _usual_phrase(status):
        line = f"HTTP/1.1 {status} {phrase}\r\n".encode()
        cycle.transport = _WithStatusLine(cycle.transport, STATUS_LINE[status], line)  # type: ignore[assignment]


def _usual_phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""


class _WithStatusLine:
    """A transport that replaces the status line, which is the beginning of the first write."""

    def __init__(self, transport: asyncio.Transport, usual: bytes, line: bytes) -> None:
        self._transport = transport
        self._usual = usual
        self._line = line

    def write(self, data: bytes) -> None:
        if self._line and data.startswith(self._usual):
            data, self._line = self._line + data[len(self._usual) :], b""
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
