"""Projects on disk, hosts that load them, and an engine that runs steps at once."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stepwell.bindings.context import StepFrame, current_step
from stepwell.bindings.ports import RunEvent, StepContext
from stepwell.bindings.values import Encoded, decode, encode
from stepwell.emulator.config import Project, load_project
from stepwell.emulator.worker.console import ConsoleLine
from stepwell.emulator.worker.host import Generation
from stepwell.emulator.worker.python.host import PythonHost
from stepwell.emulator.worker.python.importer import ModuleSpace, ProjectFinder

NOW_MS = 4_102_444_800_000  # 2100-01-01: no test can mistake it for today


@pytest.fixture(autouse=True)
def zone() -> Iterator[None]:
    """A host sets the process's time zone, as Workers have UTC: a test gives it back."""
    before = os.environ.get("TZ")
    yield
    os.environ.pop("TZ", None)
    if before is not None:
        os.environ["TZ"] = before
    if hasattr(time, "tzset"):
        time.tzset()


class ProjectFolder:
    """A Workers project: files by their paths, and a configuration."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config: dict[str, Any] = {
            "name": "shop",
            "main": "src/entry.py",
            "compatibility_date": "2026-07-01",
            "compatibility_flags": ["python_workers", "python_workflows"],
        }

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def project(self) -> Project:
        main = self.root / self.config["main"]
        if not main.exists():
            self.write({self.config["main"]: ""})
        (self.root / "wrangler.jsonc").write_text(json.dumps(self.config))
        return load_project(self.root, environ={})

    def workflow(self, class_name: str, binding: str = "ORDERS", **settings: Any) -> None:
        entry = {"name": class_name.lower(), "binding": binding, "class_name": class_name, **settings}
        self.config.setdefault("workflows", []).append(entry)


@pytest.fixture
def folder(tmp_path: Path) -> ProjectFolder:
    return ProjectFolder(tmp_path)


class Loaded:
    """A host and what it was told; `load` writes files first."""

    def __init__(self, folder: ProjectFolder, ports: Mapping[str, Any]) -> None:
        self.folder = folder
        self.lines: list[ConsoleLine] = []
        project = folder.project()
        self.host = PythonHost(
            project.config,
            variables=project.vars,
            workflows=ports,
            now_ms=lambda: NOW_MS,
            emit=self.lines.append,
            max_body_bytes=1_000,
        )
        self.generation: Generation

    async def load(self, files: Mapping[str, str] | None = None) -> Generation:
        self.folder.write(files or {})
        self.generation = await self.host.load()
        return self.generation

    async def run(self, class_name: str, payload: Any = None, **event: Any) -> Any:
        """One pass of run() from the top; its decoded result."""
        given = RunEvent(encode(payload), NOW_MS, "i-1", class_name.lower(), **event)
        return decode(await self.generation.runners[class_name](given, ImmediateSteps()))

    def texts(self) -> list[str]:
        return [line.text for line in self.lines]

    async def request(
        self, path: str = "/", method: str = "GET", body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """A request through the front door."""
        exchange = Exchange([body])
        await self.host.front_door()(http_scope(path, method, headers), exchange.receive, exchange.send)
        return exchange.answer()


class ImmediateSteps:
    """A `StepPort` that runs callbacks at once, and says so to `print` as the engine does."""

    async def do(self, name: Any, config: Any, callback: Any, rollback: Any = None, site: Any = None) -> Encoded:
        context = StepContext(name, 1, 1, {})
        token = current_step.set(StepFrame("orders", "i-1", 1, f"{name}-1", 1, 1))
        try:
            result = callback(context)
            return Encoded(result if isinstance(result, str) else await result)
        finally:
            current_step.reset(token)

    async def sleep(self, name: Any, duration: Any, site: Any = None) -> None: ...

    async def sleep_until(self, name: Any, timestamp: Any, site: Any = None) -> None: ...

    async def wait_for_event(self, name: Any, options: Any, site: Any = None) -> Encoded:
        return encode({"type": options["type"], "payload": None, "timestamp": 0})


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes, chunks: list[bytes]) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.chunks = chunks

    @property
    def text(self) -> str:
        return self.body.decode()


class Exchange:
    """The server's half of one ASGI request: gives a body in parts, collects the answer."""

    def __init__(self, parts: list[bytes]) -> None:
        self._parts = parts
        self.received = 0
        self.sent: list[Any] = []

    async def receive(self) -> Any:
        if self.received < len(self._parts):
            self.received += 1
            body = self._parts[self.received - 1]
            return {"type": "http.request", "body": body, "more_body": self.received < len(self._parts)}
        await asyncio.Event().wait()  # the client stays
        raise AssertionError("not reached")

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    def answer(self) -> Answer:
        start, *bodies = self.sent
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        chunks = [message["body"] for message in bodies]
        return Answer(start["status"], headers, b"".join(chunks), [chunk for chunk in chunks if chunk])


def http_scope(path: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> Any:
    raw, _, query = path.partition("?")
    given = {"host": "localhost:8787", **(headers or {})}
    return {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": raw,
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 5),
    }


@pytest.fixture
async def worker(folder: ProjectFolder) -> AsyncIterator[Callable[..., Loaded]]:
    """Makes a host of the folder's project; it is stopped at the end."""
    made: list[Loaded] = []

    def make(**ports: Any) -> Loaded:
        made.append(Loaded(folder, ports))
        return made[-1]

    yield make
    for loaded in made:
        await loaded.host.stop()
    leftovers = [name for name in sys.modules if "@" in name]
    for name in leftovers:
        del sys.modules[name]


class Spaces:
    """Opens loads of one project; the project's files are `src/...` and `python_modules/...`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.opened: list[ModuleSpace] = []

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def open(self, files: Mapping[str, str] | None = None) -> ModuleSpace:
        self.write(files or {})
        self.opened.append(ProjectFinder.installed().open(self.root / "src" / "entry.py", self.root))
        return self.opened[-1]

    def load(self, files: Mapping[str, str] | None = None) -> ModuleType:
        return self.open(files).load_main()


@pytest.fixture
def spaces(tmp_path: Path) -> Iterator[Spaces]:
    made = Spaces(tmp_path)
    yield made
    finder = ProjectFinder.installed()
    for space in made.opened:
        finder.close(space)
    finder.serve_libraries(made.open({"src/entry.py": ""}))
