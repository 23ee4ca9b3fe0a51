from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import ServerConnection, serve

from stepwell.emulator.worker.workerd.frames import SocketRefused, WireSocket, connect

pytestmark = pytest.mark.anyio


class Inbox:
    """What a socket received."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[str | bytes | None] = asyncio.Queue()

    def text_received(self, text: str) -> None:
        self.messages.put_nowait(text)

    def bytes_received(self, data: bytes) -> None:
        self.messages.put_nowait(data)

    def socket_lost(self) -> None:
        self.messages.put_nowait(None)


@asynccontextmanager
async def _connected(
    handler: Callable[[ServerConnection], Awaitable[None]],
) -> AsyncIterator[tuple[WireSocket, Inbox]]:
    inbox = Inbox()
    async with serve(handler, "127.0.0.1", 0, compression=None, max_size=None) as server:
        port = server.sockets[0].getsockname()[1]
        socket = await connect(port, "/runs", {"Authorization": "Bearer t"})
        socket.listener = inbox
        socket.send("go")  # the runtime, too, never speaks first
        yield socket, inbox
        socket.abort()


async def _echo(connection: ServerConnection) -> None:
    await connection.recv()
    async for message in connection:
        await connection.send(message)


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65_535, 65_536, 3_000_000])
async def test_text_of_any_length_goes_there_and_back(length: int) -> None:
    async with _connected(_echo) as (socket, inbox):
        socket.send("é" * (length // 2) + "x" * (length % 2))

        assert await inbox.messages.get() == "é" * (length // 2) + "x" * (length % 2)


async def test_messages_keep_their_order() -> None:
    async with _connected(_echo) as (socket, inbox):
        for n in range(100):
            socket.send(str(n))

        assert [await inbox.messages.get() for _ in range(100)] == [str(n) for n in range(100)]


async def test_bytes_and_fragments_come_whole() -> None:
    async def send(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(b"\x00\x01" * 40_000)
        await connection.send(["one ", "two ", "three"])
        await connection.wait_closed()

    async with _connected(send) as (_, inbox):
        assert await inbox.messages.get() == b"\x00\x01" * 40_000
        assert await inbox.messages.get() == "one two three"


async def test_pings_are_answered() -> None:
    answered = asyncio.Event()

    async def ping(connection: ServerConnection) -> None:
        await connection.recv()
        await (await connection.ping())
        answered.set()
        await connection.wait_closed()

    async with _connected(ping):
        await asyncio.wait_for(answered.wait(), 10)


async def test_the_listener_hears_of_the_end() -> None:
    async def leave(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.close()

    async with _connected(leave) as (socket, inbox):
        assert await inbox.messages.get() is None
        assert socket.closed


async def test_sending_after_the_end_does_nothing() -> None:
    async with _connected(_echo) as (socket, inbox):
        socket.abort()
        assert await inbox.messages.get() is None

        socket.send("late")


async def test_an_answer_that_is_no_websocket_is_refused_with_its_status() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]

        with pytest.raises(SocketRefused, match="404 Not Found"):
            await connect(port, "/", {})


async def test_a_port_where_nobody_listens_is_an_os_error(free_tcp_port: int) -> None:
    with pytest.raises(OSError):
        await connect(free_tcp_port, "/", {})
