"""Which Workers the user's dev servers run now, and where: what their preloads say.

Each Miniflare of a dev server keeps one request open while it runs. The request says which Workers it has; when it
ends, these Workers are gone. A new one of the same Miniflare takes the place of the one before.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stepwell.emulator.worker.host import Receive, Scope, Send

#: Where the preload announces Workers, on the port for binding calls.
REGISTER_PATH: Final = "/hosts"
_HEADERS: Final = [(b"content-type", b"application/x-ndjson")]


@dataclass(frozen=True, slots=True)
class HostedWorkflow:
    """A Workflow of a Worker: its own, or one that it only binds (`script` names the Worker that defines it)."""

    name: str
    class_name: str
    binding: str | None = None
    script: str | None = None


@dataclass(frozen=True, slots=True)
class HostedWorker:
    """A Worker as its dev server runs it.

    `http` is the port of its requests, `runs` that of its passes, None for one without Workflows of its own. `code`
    is a digest of what the dev server has bundled. `imports_later`: the code is not in there; the Worker imports it
    at each use.
    """

    name: str
    folder: Path
    http: int
    runs: int | None
    date: str
    flags: tuple[str, ...]
    own: tuple[HostedWorkflow, ...]
    others: tuple[HostedWorkflow, ...]
    code: str
    imports_later: bool


@dataclass(slots=True, eq=False)
class Registration:
    """What one Miniflare has announced, until `ended` is set. `launch` names the process if we have started it."""

    id: str
    workers: Mapping[str, HostedWorker]
    launch: str | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Registrations:
    """The registrations of all dev servers of a run. Belongs to the engine's loop."""

    def __init__(self, on_workers: Callable[[Sequence[HostedWorker]], Awaitable[None]]) -> None:
        """`on_workers` is called with the Workers of each registration before its dev server goes on."""
        #: Whether no more registrations come.
        self.closed = False
        self._on_workers = on_workers
        self._current: dict[str, Registration] = {}
        self._changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def find(self, worker: str) -> tuple[Registration, HostedWorker] | None:
        """The newest registration of a Worker that takes passes."""
        for registration in reversed(self._current.values()):
            hosted = registration.workers.get(worker)
            if hosted is not None and hosted.runs is not None:
                return registration, hosted
        return None

    async def of(self, launch: str) -> Registration:
        """The registration of a process that we have started; waits for it."""
        while True:
            for registration in self._current.values():
                if registration.launch == launch:
                    return registration
            await self.change()

    async def change(self, timeout_s: float | None = None) -> None:
        """Returns when a registration has come or gone, or after `timeout_s`."""
        await asyncio.wait([self._changed], timeout=timeout_s)

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The endpoint: an ASGI app that answers when the Workers are known, and for as long as they are there."""
        registration = _read(json.loads(await _body(receive)))
        before = self._current.pop(registration.id, None)
        self._current[registration.id] = registration
        if before is not None:
            before.ended.set()
        self._tell()
        gone = asyncio.ensure_future(_until_gone(receive))
        ended = asyncio.ensure_future(registration.ended.wait())
        try:
            await self._on_workers(list(registration.workers.values()))
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await send({"type": "http.response.body", "body": b"{}\n", "more_body": True})
            await asyncio.wait([gone, ended], return_when=asyncio.FIRST_COMPLETED)
            if not gone.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            ended.cancel()
            self._end(registration)

    def close(self) -> None:
        """Ends all of them; nobody waits for another one."""
        self.closed = True
        self._tell()
        for registration in list(self._current.values()):
            self._end(registration)

    def _end(self, registration: Registration) -> None:
        registration.ended.set()
        if self._current.get(registration.id) is registration:
            del self._current[registration.id]
            self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.get_running_loop().create_future()
        changed.set_result(None)


def _read(message: Mapping[str, Any]) -> Registration:
    folder, http = Path(message["folder"]), int(message["http"])
    workers = [_worker(entry, folder, http) for entry in message["workers"]]
    return Registration(str(message["id"]), {worker.name: worker for worker in workers}, message.get("launch"))


def _worker(entry: Mapping[str, Any], folder: Path, http: int) -> HostedWorker:
    return HostedWorker(
        name=str(entry["name"]),
        folder=folder,
        http=int(entry.get("http", http)),
        runs=entry["runs"],
        date=str(entry.get("date") or ""),
        flags=tuple(entry["flags"]),
        own=tuple(_workflow(workflow) for workflow in entry["own"]),
        others=tuple(_workflow(workflow) for workflow in entry["others"]),
        code=str(entry["code"]),
        imports_later=bool(entry["importsLater"]),
    )


def _workflow(entry: Mapping[str, Any]) -> HostedWorkflow:
    return HostedWorkflow(entry["name"], entry["className"], entry.get("binding"), entry.get("script"))


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
