"""The HTTP client of the front door: requests to the runtime as they came, bodies streamed both ways.

Written on httptools because a general client is most of the cost of a small request: httpx takes 0.6 ms of CPU for
one, this a sixth, and nothing here may decode, follow or retry anything by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Final

import httptools

from stepwell.emulator.worker.host import Receive, Scope, Send, set_reason
from stepwell.emulator.worker.workerd.frames import RuntimeAddress, open_connection
from stepwell.emulator.worker.workerd.idle import Idle

_IDLE_CONNECTIONS: Final = 32
_READ: Final = 64 * 1024
_Headers = list[tuple[bytes, bytes]]
#: Answers of these have no body whatever their headers say.
_BODILESS: Final = frozenset({204, 304})


class UpstreamFailed(Exception):
    """The runtime gave no answer, or not all of it.

    `sent`: it may have seen the request; `answered`: the client has the beginning of the answer already.
    """

    def __init__(self, message: str, *, sent: bool = True, answered: bool = False) -> None:
        super().__init__(message)
        self.sent = sent
        self.answered = answered


class Upstream:
    """Connections to the runtime, by address; belongs to one loop."""

    def __init__(self) -> None:
        self._idle: dict[RuntimeAddress, Idle[_Connection]] = {}

    async def request(
        self, address: RuntimeAddress, scope: Scope, headers: _Headers, receive: Receive, send: Send
    ) -> None:
        """Passes one request on, and its answer back. Raises `UpstreamFailed`."""
        answer = _Answer(scope["method"])
        connection = await self._connection(address)
        try:
            await _exchange(connection, scope, headers, receive, send, answer)
        except (OSError, asyncio.IncompleteReadError, httptools.HttpParserError) as error:
            connection.close()
            raise UpstreamFailed(str(error) or type(error).__name__, answered=answer.started) from None
        except BaseException:
            connection.close()
            raise
        if answer.complete and answer.keep_alive:
            self._give_back(address, connection)
        else:
            connection.close()

    def close(self) -> None:
        """Closes the connections that are idle."""
        for idle in self._idle.values():
            idle.close()
        self._idle.clear()

    async def _connection(self, address: RuntimeAddress) -> _Connection:
        idle = self._idle.get(address)
        if idle is not None and (connection := idle.take()) is not None:
            return connection
        try:
            return await _connect(address)
        except OSError as error:
            raise UpstreamFailed(str(error), sent=False) from None

    def _give_back(self, address: RuntimeAddress, connection: _Connection) -> None:
        # Only the newest runtime's connections are of use.
        for other in [a for a in self._idle if a != address and not self._idle[a]]:
            del self._idle[other]
        if address not in self._idle:
            self._idle[address] = Idle(_IDLE_CONNECTIONS)
        self._idle[address].give(connection)


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @property
    def closed(self) -> bool:
        """Also when only the runtime has closed it."""
        return self.reader.at_eof() or self.writer.is_closing()

    def close(self) -> None:
        self.writer.close()


class _ReadsToTheEnd(asyncio.StreamReaderProtocol):
    """Keeps the answer of a runtime that closes the connection before it has read the request.

    asyncio drops a connection on which a write fails, with all that has arrived on it and was not read.
    When the runtime closes a connection, so do we: an idle one must not stay half open.
    """

    transport: asyncio.WriteTransport | None = None

    def __init__(self, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(reader, loop=loop)
        self._reader = reader

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport
        super().connection_made(transport)

    def eof_received(self) -> bool:
        super().eof_received()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None and self.transport is not None:
            for data in _arrived(self.transport.get_extra_info("socket")):
                self._reader.feed_data(data)
        super().connection_lost(None)  # an error would hide the data; an incomplete answer fails anyway


def _arrived(sock: socket.socket) -> Iterator[bytes]:
    """What the kernel has received on a connection that is about to be closed."""
    # A copy: asyncio does not let its own sockets be read.
    with contextlib.suppress(OSError), sock.dup() as copy:
        while data := copy.recv(_READ):
            yield data


async def _connect(address: RuntimeAddress) -> _Connection:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    protocol = await open_connection(lambda: _ReadsToTheEnd(reader, loop), address)
    assert protocol.transport is not None
    return _Connection(reader, asyncio.StreamWriter(protocol.transport, protocol, reader, loop))


class _Answer:
    """What httptools reads: the head, then pieces of the body."""

    def __init__(self, method: str) -> None:
        self._has_body = method != "HEAD"
        self.phrase = b""
        self.headers: _Headers = []
        self.body: list[bytes] = []
        self.head_complete = False
        self.complete = False
        self.started = False
        self.ended = False
        self.keep_alive = True
        self.parser = httptools.HttpResponseParser(self)

    def on_status(self, phrase: bytes) -> None:
        self.phrase += phrase

    def on_header(self, name: bytes, value: bytes) -> None:
        lower = name.lower()
        if lower not in (b"connection", b"keep-alive", b"transfer-encoding"):
            self.headers.append((lower, value))

    def on_headers_complete(self) -> None:
        if self.status < 200:  # 100 Continue, 103 Early Hints: the answer is still to come
            self.headers.clear()
            self.phrase = b""
            return
        self.head_complete = True
        self.keep_alive = self.parser.should_keep_alive()
        if not self._has_body or self.status in _BODILESS:
            self.complete = True

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        if self.head_complete:
            self.complete = True

    @property
    def status(self) -> int:
        return int(self.parser.get_status_code())

    def take_body(self) -> bytes:
        body = b"".join(self.body)
        self.body.clear()
        return body


async def _exchange(
    connection: _Connection, scope: Scope, headers: _Headers, receive: Receive, send: Send, answer: _Answer
) -> None:
    """Sends the request while its answer may come already, and watches for a client that goes away."""
    sending = asyncio.ensure_future(_send_request(connection.writer, scope, headers, receive))
    answering = asyncio.ensure_future(_pass_answer(connection.reader, answer, scope, send))
    try:
        await asyncio.wait([sending, answering], return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            answering.result()
        elif isinstance(sending.exception(), OSError):  # the runtime has stopped reading; its answer counts
            await answering
        elif sending.result():  # the client is gone
            answer.keep_alive = False
        else:
            gone = asyncio.ensure_future(_until_gone(receive))
            await asyncio.wait([answering, gone], return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            if answering.done():
                answering.result()
    finally:
        if not sending.done() or sending.cancelled() or sending.exception() is not None:
            answer.keep_alive = False
        sending.cancel()
        answering.cancel()


async def _send_request(writer: asyncio.StreamWriter, scope: Scope, headers: _Headers, receive: Receive) -> bool:
    """Writes the request; True when the client went away in the middle."""
    target = scope.get("raw_path") or scope["path"].encode()
    if scope.get("query_string"):
        target += b"?" + scope["query_string"]
    chunked = _is_chunked(scope)
    lines = [scope["method"].encode() + b" " + target + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in headers]
    if chunked:
        lines.append(b"Transfer-Encoding: chunked")
    head = b"\r\n".join([*lines, b"", b""])
    if not chunked and not _has_length(headers):
        writer.write(head)
        return False
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return True
        body: bytes = message.get("body", b"")
        writer.write(head + (_chunk(body) if chunked else body))
        head = b""
        if not message.get("more_body"):
            break
        await writer.drain()
    if chunked:
        writer.write(b"0\r\n\r\n")
    return False


def _is_chunked(scope: Scope) -> bool:
    return any(name == b"transfer-encoding" for name, _ in scope["headers"])


def _has_length(headers: _Headers) -> bool:
    return any(name == b"content-length" and value != b"0" for name, value in headers)


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body) if body else b""


async def _pass_answer(reader: asyncio.StreamReader, answer: _Answer, scope: Scope, send: Send) -> None:
    while not answer.complete:
        data = await reader.read(_READ)
        if not data:
            _end_of_connection(answer)
            break
        answer.parser.feed_data(data)
        if answer.head_complete:
            await _tell(answer, scope, send)
    await _tell(answer, scope, send)


def _end_of_connection(answer: _Answer) -> None:
    """Without a length, the end of the connection is the end of the answer."""
    answer.keep_alive = False
    framed = any(name == b"content-length" for name, _ in answer.headers)
    if not answer.head_complete or framed:
        raise ConnectionError("the runtime closed the connection")
    answer.complete = True


async def _tell(answer: _Answer, scope: Scope, send: Send) -> None:
    if not answer.started:
        answer.started = True
        set_reason(scope, answer.status, answer.phrase.decode("latin-1"))
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    body = answer.take_body()
    if body or (answer.complete and not answer.ended):
        await send({"type": "http.response.body", "body": body, "more_body": not answer.complete})
        answer.ended = answer.complete


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
