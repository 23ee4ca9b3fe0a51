"""Requests over real connections: bodies that stream, WebSockets, our own port from inside."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from stepwell.emulator.clock import breathe
from stepwell.emulator.worker.host import Receive, Scope, Send
from tests.javascript.conftest import Site, copy_samples, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


class Server:
    """The front door on a port, on a thread of its own, as in the emulator."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """ts-plain on an engine with a thread of its own; gives HOST:PORT."""
    folder = tmp_path_factory.mktemp("served")
    server = Server()
    ready, stop = threading.Event(), threading.Event()
    engine = threading.Thread(target=lambda: asyncio.run(_engine(folder, server, ready, stop)))
    engine.start()
    assert ready.wait(60)
    yield server.address
    stop.set()
    engine.join()


async def _engine(folder: Path, server: Server, ready: threading.Event, stop: threading.Event) -> None:
    site = Site(copy_samples(["ts-plain"], folder), folder / "state", "auto", 30)
    await site.start()
    app = site.runtime.host("ts-plain").front_door()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)

    config = uvicorn.Config(
        guarded, interface="asgi3", lifespan="off", log_config=None, http="httptools", ws="websockets-sansio"
    )
    serving = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: serving.run([server.socket]))
    thread.start()
    while not serving.started:
        await breathe()
    ready.set()
    while not stop.is_set():
        await breathe()
    await site.stop()  # ends the connections to the runtime, on the loop of the server
    serving.should_exit = True
    await asyncio.get_running_loop().run_in_executor(None, thread.join)


async def test_an_answer_arrives_while_it_is_made(served: str) -> None:
    parts = []
    async with httpx.AsyncClient() as client, client.stream("GET", f"http://{served}/slow") as answer:
        parts = [part async for part in answer.aiter_raw()]

    assert b"".join(parts) == b"one two three"
    assert len(parts) > 1


async def test_a_request_body_without_a_length_streams_in(served: str) -> None:
    async def chunks() -> object:
        for n in range(3):
            yield f"chunk {n} ".encode()

    async with httpx.AsyncClient() as client:
        answer = await client.post(f"http://{served}/echo", content=chunks())  # type: ignore[arg-type]

    assert answer.text == "chunk 0 chunk 1 chunk 2 "


async def test_a_websocket_goes_through(served: str) -> None:
    async with connect(f"ws://{served}/socket") as websocket:
        await websocket.send("hello")

        assert await websocket.recv() == "echo: hello"


async def test_a_refused_websocket_has_the_workers_own_answer(served: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"ws://{served}/nothing"):
            pass

    assert refused.value.response.status_code == 404


async def test_an_error_instead_of_a_websocket_is_told_without_anything_of_ours(served: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"ws://{served}/throws"):
            pass

    response = refused.value.response
    assert (response.status_code, response.headers.get("stepwell-error")) == (500, None)
    assert (response.body or b"").startswith(b"TypeError: the <handler> failed")


async def test_a_request_that_is_no_upgrade_is_told_so(served: str) -> None:
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"http://{served}/socket")).status_code == 426


async def test_user_code_may_fetch_the_port_it_is_served_on(served: str) -> None:
    async with httpx.AsyncClient() as client:
        assert (await client.get(f"http://{served}/self")).json() == {"status": 200}


async def test_many_requests_at_once_are_all_answered(served: str) -> None:
    async with httpx.AsyncClient() as client:
        answers = await asyncio.gather(*(client.get(f"http://{served}/about") for _ in range(50)))

    assert {answer.status_code for answer in answers} == {200}
