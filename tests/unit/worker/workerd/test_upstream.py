"""The front door's client against servers that answer in every way there is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stepwell.emulator.worker.workerd.upstream import Upstream, UpstreamFailed

pytestmark = pytest.mark.anyio

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Client:
    """One request from outside, as ASGI brings it."""

    def __init__(self, method: str = "GET", body: tuple[bytes, ...] = (), **headers: str) -> None:
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": "/a b",
            "raw_path": b"/a%20b",
            "query_string": b"q=1",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for n, part in enumerate(body):
            self._incoming.put_nowait({"type": "http.request", "body": part, "more_body": n < len(body) - 1})
        self.answer: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        return await self._incoming.get()

    async def send(self, message: Any) -> None:
        self.answer.append(dict(message))

    def feed(self, part: bytes, *, more: bool) -> None:
        self._incoming.put_nowait({"type": "http.request", "body": part, "more_body": more})

    def leave(self) -> None:
        self._incoming.put_nowait({"type": "http.disconnect"})

    @property
    def status(self) -> int:
        status: int = self.answer[0]["status"]
        return status

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.answer)


class Server:
    """Answers each connection's requests with a fixed text; keeps what it was sent."""

    def __init__(self, answer: bytes, *, closes: bool = False) -> None:
        self.answer = answer
        self.closes = closes
        self.heads: list[bytes] = []
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while head := await _head(reader):
            self.heads.append(head)
            writer.write(self.answer)
            if self.closes:
                break
        writer.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


@asynccontextmanager
async def _serving(handler: Handler) -> AsyncIterator[Callable[[Client], Coroutine[Any, Any, None]]]:
    """What passes a client's request to a server with this handler."""
    handled: list[asyncio.Future[None]] = []
    upstream = Upstream()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        handled.append(done)
        await handler(reader, writer)
        await writer.wait_closed()
        done.set_result(None)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def send(client: Client) -> None:
        headers = [header for header in client.scope["headers"] if header[0] != b"transfer-encoding"]
        await upstream.request(port, client.scope, headers, client.receive, client.send)

    yield send
    upstream.close()
    server.close()
    await asyncio.wait_for(asyncio.gather(*handled), 10)


async def test_path_query_and_headers_arrive_as_they_came() -> None:
    server, client = Server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), Client(host="shop", x_one="1")

    async with _serving(server) as send:
        await send(client)

    assert server.heads == [b"GET /a%20b?q=1 HTTP/1.1\r\nhost: shop\r\nx-one: 1\r\n\r\n"]
    assert (client.status, client.body) == (200, b"ok")


async def test_connections_are_used_again() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async with _serving(server) as send:
        for _ in range(3):
            await send(Client())

    assert (server.connections, len(server.heads)) == (1, 3)


@pytest.mark.parametrize(
    ("answer", "closes", "body"),
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n4\r\n two\r\n0\r\n\r\n",
            False,
            b"one two",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nto the end", True, b"to the end"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", False, b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", False, b""),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!", False, b"!"),
    ],
)
async def test_every_way_to_end_an_answer_is_understood(answer: bytes, closes: bool, body: bytes) -> None:
    client = Client()

    async with _serving(Server(answer, closes=closes)) as send:
        await send(client)

    assert client.body == body
    assert client.answer[-1]["more_body"] is False


async def test_an_answer_to_head_has_its_length_and_no_body() -> None:
    client = Client("HEAD")

    async with _serving(Server(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")) as send:
        await send(client)

    assert (b"content-length", b"900") in client.answer[0]["headers"]
    assert client.body == b""


@pytest.mark.parametrize(
    ("headers", "sent"),
    [
        ({"content_length": "6"}, b"abcdef"),
        ({"transfer_encoding": "chunked"}, b"3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"),
    ],
)
async def test_a_request_body_is_passed_on_in_its_own_form(headers: dict[str, str], sent: bytes) -> None:
    got: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _head(reader)
        got.append(await reader.readexactly(len(sent)))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    client = Client("POST", (b"abc", b"def"), **headers)
    async with _serving(take) as send:
        await send(client)

    assert got == [sent]


async def test_an_answer_streams_while_it_is_made() -> None:
    go_on = asyncio.Event()

    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
        await go_on.wait()
        writer.write(b"def")
        writer.close()

    client = Client()
    async with _serving(slowly) as send:
        passing = asyncio.create_task(send(client))
        async with asyncio.timeout(10):
            while client.answer == [] or client.body != b"abc":
                await asyncio.wait([passing], timeout=0.01)
        go_on.set()
        await passing

    assert client.body == b"abcdef"


async def test_the_worker_hears_when_the_client_leaves() -> None:
    heard = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _head(reader)
        await reader.read()
        heard.set()
        writer.close()

    client = Client()
    async with _serving(wait) as send:
        passing = asyncio.create_task(send(client))
        client.leave()
        await passing
        await asyncio.wait_for(heard.wait(), 10)


async def test_a_port_where_nobody_listens_means_that_nothing_was_sent(free_tcp_port: int) -> None:
    with pytest.raises(UpstreamFailed) as failed:
        await Upstream().request(free_tcp_port, Client().scope, [], Client().receive, Client().send)

    assert not failed.value.sent


async def test_a_connection_that_ends_without_an_answer_may_have_seen_the_request() -> None:
    async with _serving(Server(b"", closes=True)) as send:
        with pytest.raises(UpstreamFailed) as failed:
            await send(Client())

    assert failed.value.sent
    assert not failed.value.answered


async def test_an_answer_that_breaks_off_is_told_apart() -> None:
    async with _serving(Server(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", closes=True)) as send:
        with pytest.raises(UpstreamFailed) as failed:
            await send(Client())

    assert failed.value.answered


async def test_an_answer_wins_over_a_request_that_can_no_longer_be_written() -> None:
    """As for a 401 to an upload: the runtime answers, and closes the connection with the body unread."""
    closed = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _head(reader)
        # Small enough for the socket: what waits to be sent when a connection is closed unread, the system drops.
        writer.transport.set_write_buffer_limits(high=0)
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 60000\r\n\r\n" + b"n" * 60_000)
        await writer.drain()
        writer.close()
        closed.set()

    client = Client("POST", content_length="3000000")
    client.feed(b"x" * 100_000, more=True)
    async with _serving(refuse) as send:
        passing = asyncio.create_task(send(client))
        await closed.wait()
        for _ in range(29):
            client.feed(b"x" * 100_000, more=True)
        await passing

    assert (client.status, len(client.body)) == (401, 60_000)


async def test_a_request_that_cannot_be_written_and_has_no_answer_fails() -> None:
    async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _head(reader)
        writer.transport.abort()

    client = Client("POST", content_length="3000000")
    for _ in range(30):
        client.feed(b"x" * 100_000, more=True)

    async with _serving(drop) as send:
        with pytest.raises(UpstreamFailed) as failed:
            await send(client)

    assert (failed.value.sent, failed.value.answered) == (True, False)


async def test_the_reason_phrase_is_passed_on() -> None:
    client, phrases = Client(), list[tuple[int, str]]()
    client.scope["extensions"] = {"stepwell.reason": lambda status, phrase: phrases.append((status, phrase))}

    async with _serving(Server(b"HTTP/1.1 418 Short and stout\r\nContent-Length: 0\r\n\r\n")) as send:
        await send(client)

    assert phrases == [(418, "Short and stout")]
