"""A debugger on the runtime: it reaches the code, and what it stops does not time out."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from websockets import Origin
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from stepwell.emulator.worker.host import WorkerLoadError
from tests.javascript.conftest import StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

TIMEOUT_MS = 500


class Debugger:
    """What an editor says to the inspector, by Chrome's protocol."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        #: What came while something else was waited for.
        self.heard: list[dict[str, Any]] = []

    async def do(self, method: str) -> None:
        await self._socket.send(json.dumps({"id": 1, "method": method}))
        await self.hears(lambda message: message.get("id") == 1)

    async def hears(self, wanted: Any) -> None:
        async with asyncio.timeout(60):
            while not wanted(message := json.loads(await self._socket.recv())):
                self.heard.append(message)


@asynccontextmanager
async def _attached(port: int) -> AsyncIterator[Debugger]:
    async with httpx.AsyncClient() as client:
        targets = (await client.get(f"http://127.0.0.1:{port}/json")).json()
    url, origin = targets[0]["webSocketDebuggerUrl"], Origin("http://localhost")
    async with connect(url, origin=origin, max_size=None) as socket:
        debugger = Debugger(socket)
        await debugger.do("Debugger.enable")
        yield debugger


async def test_an_attempt_that_a_debugger_holds_does_not_time_out(
    start_site: StartSite, free_tcp_port: int
) -> None:
    site = await start_site("ts-plain", inspector_port=free_tcp_port)
    async with _attached(free_tcp_port) as debugger:
        await site.post("/probe?id=d1", {"kind": "stops", "timeout": TIMEOUT_MS})
        await debugger.hears(lambda message: message.get("method") == "Debugger.paused")
        await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=3 * TIMEOUT_MS / 1000)

        await debugger.do("Debugger.resume")
        found = await site.finished("/probed", "d1")

    assert (found["status"], found["output"]) == ("complete", 1)


async def test_a_debugger_is_shown_the_projects_own_files(start_site: StartSite, free_tcp_port: int) -> None:
    site = await start_site("ts-plain", inspector_port=free_tcp_port)
    async with _attached(free_tcp_port) as debugger:
        scripts = [one["params"] for one in debugger.heard if one.get("method") == "Debugger.scriptParsed"]

    address = next(script["sourceMapURL"] for script in scripts if script["url"] == "worker.js")
    source_map = json.loads(base64.b64decode(address.partition("base64,")[2]))
    file = site.folders[0] / "src" / "index.ts"
    at = source_map["sources"].index(file.as_uri())
    assert source_map["sourcesContent"][at] == file.read_text()


@pytest.mark.parametrize("wanted", ["workerd", "wrangler"])
async def test_a_reload_with_an_open_debugger_leads_it_to_the_new_code(
    start_site: StartSite, free_tcp_port: int, wanted: str
) -> None:
    site = await start_site("ts-plain", wanted=wanted, inspector_port=free_tcp_port)
    async with _attached(free_tcp_port) as debugger:
        site.edit("wrangler.jsonc", '"GREETING": "hello"', '"GREETING": "good day"')
        async with asyncio.timeout(30):
            await site.load()
        assert (await site.get("/about"))["greeting"] == "good day"
        with pytest.raises(ConnectionClosed):
            await debugger.hears(lambda _: False)

    async with _attached(free_tcp_port) as debugger:
        await site.post("/probe?id=d2", {"kind": "stops", "timeout": TIMEOUT_MS})
        await debugger.hears(lambda message: message.get("method") == "Debugger.paused")
        await debugger.do("Debugger.resume")
        assert (await site.finished("/probed", "d2"))["status"] == "complete"


async def test_a_debugger_reaches_the_runtime_that_starts_again(start_site: StartSite, free_tcp_port: int) -> None:
    site = await start_site("ts-plain", inspector_port=free_tcp_port)
    before = site.pid

    os.kill(before, signal.SIGKILL)
    await site.until(lambda: site.runtime.generation.pid not in (None, before))

    async with _attached(free_tcp_port) as debugger:
        await debugger.do("Debugger.enable")


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}], ids=["host", "origin"]
)
async def test_pages_of_websites_cannot_drive_the_debugger(
    start_site: StartSite, free_tcp_port: int, headers: dict[str, str]
) -> None:
    await start_site("ts-plain", inspector_port=free_tcp_port)

    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{free_tcp_port}/json", headers=headers)

    assert answer.status_code == 403


async def test_an_inspector_port_in_use_is_named(start_site: StartSite) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(WorkerLoadError, match=f"Can't open the inspector on port {port}"):
            await start_site("ts-plain", inspector_port=port)
