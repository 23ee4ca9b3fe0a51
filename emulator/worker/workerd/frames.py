"""The client's end of a WebSocket to the runtime, as small as the wire needs it.

A step is four messages, so their cost is the speed of JavaScript Workers: measured over 2,000 steps, `websockets`
took 350 microseconds of CPU per step, this a fifth. Both ends are ours and on loopback: there are no extensions,
and frames are masked with zeros, which RFC 6455 allows and which makes masking free.
"""

from __future__ import annotations

import asyncio
import os
import struct
import sys
from base64 import b64encode
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, TypeVar

_TEXT: Final = 0x1
_BINARY: Final = 0x2
_CLOSE: Final = 0x8
#: The status code of a normal closure.
_NORMAL: Final = struct.pack("!H", 1000)
_PING: Final = 0x9
_PONG: Final = 0xA
_FINAL: Final = 0x80
_MASKED: Final = 0x80
_NO_MASK: Final = b"\0\0\0\0"


#: Where a socket listens: a port of loopback, or the name of a Unix socket outside of the file system.
RuntimeAddress: TypeAlias = int | str
_P = TypeVar("_P", bound=asyncio.BaseProtocol)
_LOOPBACK: Final = "127.0.0.1"


class SocketRefused(ConnectionError):
    """The runtime did not switch to a WebSocket. The text is the first line of its answer."""


class Listener(Protocol):
    """Who is told what arrives."""

    def text_received(self, text: str) -> None: ...

    def bytes_received(self, data: bytes) -> None: ...

    def socket_lost(self) -> None:
        """The socket is gone, whoever closed it; nothing comes after this."""
        ...


class WireSocket(asyncio.Protocol):
    """One open WebSocket. `listener` may be replaced between messages."""

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._receive: Callable[[bytearray], int] = self._read_handshake
        self._buffer = bytearray()
        self._parts: list[bytes] = []
        self._kind = 0

    @property
    def closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def send(self, text: str) -> None:
        """Sends one text message; does nothing when the socket is gone, of which the listener is told."""
        self._send(_TEXT, text.encode("utf-8", "surrogatepass"))

    def close(self) -> None:
        """Says goodbye and closes: the runtime ends whatever runs for this socket.

        Without the goodbye, older versions of the runtime log a lost connection as an error of user code.
        """
        if self._transport is not None and not self._transport.is_closing():
            self._send(_CLOSE, _NORMAL)
            self._transport.close()

    def abort(self) -> None:
        """Closes at once, with nothing said."""
        if self._transport is not None:
            self._transport.abort()

    def _send(self, kind: int, payload: bytes) -> None:
        if self._transport is not None:
            self._transport.write(_frame_head(kind, len(payload)) + payload)

    # -- asyncio.Protocol
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._buffer and (used := self._receive(self._buffer)):
            del self._buffer[:used]

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self._opened.done():
            self._opened.set_exception(SocketRefused("the runtime closed the connection"))
        if self.listener is not None:
            self.listener.socket_lost()

    # -- opening
    async def open(self, host: str, path: str, headers: dict[str, str]) -> None:
        """Asks for the WebSocket and waits for it. Raises `SocketRefused`."""
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: {host}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {b64encode(os.urandom(16)).decode()}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        if self._transport is not None:
            self._transport.write("\r\n".join([*lines, "", ""]).encode())
        await self._opened

    def _read_handshake(self, buffer: bytearray) -> int:
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            return 0
        status = bytes(buffer[: buffer.find(b"\r\n")]).decode("latin-1")
        if not self._opened.done():
            if status.startswith("HTTP/1.1 101"):
                self._opened.set_result(None)
            else:
                self._opened.set_exception(SocketRefused(status))
                self.abort()
        self._receive = self._read_frame
        return end + 4

    # -- frames
    def _read_frame(self, buffer: bytearray) -> int:
        """Handles the first frame of the buffer; gives its length, 0 when it is not complete."""
        if len(buffer) < 2:
            return 0
        size, at = buffer[1] & 0x7F, 2
        if size >= 126:
            at = 4 if size == 126 else 10
            size = int.from_bytes(buffer[2:at], "big")
        end = at + size
        if len(buffer) < end or len(buffer) < at:
            return 0
        self._frame(buffer[0], bytes(buffer[at:end]))
        return end

    def _frame(self, first: int, payload: bytes) -> None:
        kind = first & 0x0F
        if kind == _PING:
            self._send(_PONG, payload)
        elif kind == _CLOSE:
            self.close()
        elif kind != _PONG:
            self._message(kind, bool(first & _FINAL), payload)

    def _message(self, kind: int, final: bool, payload: bytes) -> None:
        if kind:
            self._kind = kind
        if not final or self._parts:
            self._parts.append(payload)
            if not final:
                return
            payload = b"".join(self._parts)
            self._parts.clear()
        listener = self.listener
        if listener is None:
            return
        if self._kind == _TEXT:
            listener.text_received(payload.decode("utf-8", "surrogatepass"))
        else:
            listener.bytes_received(payload)


def _frame_head(kind: int, size: int) -> bytes:
    first = kind | _FINAL
    if size < 126:
        return bytes((first, size | _MASKED)) + _NO_MASK
    if size < 65536:
        return struct.pack("!BBH", first, 126 | _MASKED, size) + _NO_MASK
    return struct.pack("!BBQ", first, 127 | _MASKED, size) + _NO_MASK


async def open_connection(protocol: Callable[[], _P], address: RuntimeAddress) -> _P:
    """A connection to a port of loopback or a Unix socket of the runtime. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    if isinstance(address, int):
        return (await loop.create_connection(protocol, _LOOPBACK, address))[1]
    if sys.platform == "win32":
        raise OSError(f"there are no Unix sockets here, so none named {address}")
    return (await loop.create_unix_connection(protocol, f"\0{address}"))[1]


async def connect(address: RuntimeAddress, path: str, headers: dict[str, str]) -> WireSocket:
    """An open WebSocket. Raises `OSError` when nothing listens, `SocketRefused` when it is no WebSocket."""
    socket = await open_connection(WireSocket, address)
    try:
        await socket.open(_LOOPBACK, path, headers)
    except BaseException:
        socket.abort()
        raise
    return socket
