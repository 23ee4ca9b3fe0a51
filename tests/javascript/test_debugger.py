"""A debugger on the runtime: it reaches the code, and what it stops does not time out."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect

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
    async with connect(targets[0]["webSocketDebuggerUrl"], max_size=None) as socket:
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
