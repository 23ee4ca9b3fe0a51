"""What tests of JavaScript Workers share: sample projects on an engine, in the runtime that is installed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepwell.bindings.ports import WorkflowPort
from stepwell.emulator.clock import SystemClock, breathe
from stepwell.emulator.config import load_project
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.storage.records import InstanceValues
from stepwell.emulator.storage.sqlite import SqliteStore
from stepwell.emulator.switches import Switches
from stepwell.emulator.worker.console import ConsoleLine
from stepwell.emulator.worker.workerd.host import JavaScriptRuntime, JavaScriptWorker, RuntimeOptions
from stepwell.emulator.worker.workerd.runtime_choice import Wanted

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "fixtures" / "workers"
NODE_MODULES = ROOT / "fixtures" / "node" / "node_modules"

needs_runtime = pytest.mark.skipif(
    not (NODE_MODULES / "workerd").is_dir(),
    reason="Cloudflare's tools are not installed; install them with: npm ci --prefix fixtures/node",
)
#: Longer than anything should take, on a machine that is busy.
PATIENCE_S = 60


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
def node_on_path() -> Iterator[None]:
    """Node of the tests first: wrangler wants a newer one than some machines have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(NODE_MODULES / ".bin"), prepend=os.pathsep)
        yield


class Site:
    """Projects that run: their engine, their front door, what they logged."""

    def __init__(
        self,
        folders: Sequence[Path],
        state: Path,
        wanted: Wanted,
        patience_s: float,
        *,
        replay_always: bool = False,
        inspector_port: int | None = None,
        switches: Switches | None = None,
    ) -> None:
        self.folders = list(folders)
        self.state = state
        self.lines: list[ConsoleLine] = []
        self.engine = Engine(SqliteStore(":memory:"), SystemClock(), compat=switches, replay_always=replay_always)
        options = RuntimeOptions(state, wanted, inspector_port, patience_s)
        self.runtime = JavaScriptRuntime(self._workers, self._port, options, self.lines.append)

    def _workers(self) -> list[JavaScriptWorker]:
        projects = [load_project(folder, environ={}) for folder in self.folders]
        return [JavaScriptWorker(project.config, project.vars, file=project.config_path) for project in projects]

    def _port(self, name: str) -> WorkflowPort | None:
        known = {state.name for state in self.engine.workflows()}
        return self.engine.workflow(name) if name in known else None

    async def load(self) -> None:
        """Loads the code as it is now; again after a change."""
        for worker in self._workers():
            config = worker.config
            generation = await self.runtime.host(config.name).load()
            for workflow in config.workflows:
                if workflow.script_name is None:
                    definition = WorkflowDefinition(workflow.name, workflow.class_name, config.name)
                    version = Version(f"{generation.version_id}-{workflow.name}", "javascript")
                    self.engine.define(definition, generation.runners[workflow.class_name], version)

    async def start(self) -> None:
        await self.load()
        await self.engine.start()

    async def stop(self) -> None:
        await self.engine.stop()
        await self.runtime.stop()
        self.engine.store.close()

    def client(self, index: int = 0) -> httpx.AsyncClient:
        """Requests to one of the Workers."""
        name = self._workers()[index].config.name
        transport = httpx.ASGITransport(self.runtime.host(name).front_door())
        return httpx.AsyncClient(transport=transport, base_url="http://shop.example", timeout=PATIENCE_S)

    async def get(self, path: str) -> Any:
        """The JSON of an answer."""
        async with self.client() as client:
            return (await client.get(path)).json()

    async def post(self, path: str, body: object) -> httpx.Response:
        async with self.client() as client:
            return await client.post(path, json=body)

    def key(self, workflow: str, instance_id: str) -> int:
        """Storage's key of an instance."""
        state = next(state for state in self.engine.workflows() if state.name == workflow)
        key = self.engine.store.find(state.key, instance_id)
        assert key is not None
        return key

    def values(self, workflow: str, instance_id: str) -> InstanceValues:
        """What is stored of an instance."""
        values = self.engine.store.values(self.key(workflow, instance_id))
        assert values is not None
        return values

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits for something that the runtime brings about."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await breathe()

    async def finished(self, path: str, instance_id: str) -> dict[str, Any]:
        """What `path` says of an instance when it has ended."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found: dict[str, Any] = await self.get(f"{path}?id={instance_id}")
                if found.get("status") in ("complete", "errored", "terminated"):
                    return found
                await breathe()

    async def probe(self, instance_id: str, kind: str, **params: object) -> dict[str, Any]:
        """Runs one of the probes of ts-plain to its end."""
        await self.post(f"/probe?id={instance_id}", {"kind": kind, **params})
        return await self.finished("/probed", instance_id)

    @property
    def pid(self) -> int:
        """The process of the runtime."""
        generation = self.runtime.generation
        assert generation is not None
        pid = generation.pid
        assert pid is not None
        return pid

    def edit(self, file: str, old: str, new: str) -> None:
        """Changes a file of the first project."""
        path = self.folders[0] / file
        text = path.read_text()
        assert old in text, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new))


def copy_samples(names: Sequence[str], folder: Path) -> list[Path]:
    """Copies sample projects to where the tools that they need are found."""
    copies = []
    for name in names:
        shutil.copytree(SAMPLES / name, folder / name, dirs_exist_ok=True)
        copies.append(folder / name)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    return copies


StartSite = Callable[..., Any]


@pytest.fixture
async def start_site(tmp_path: Path) -> AsyncIterator[StartSite]:
    """Starts sample projects by name: `await start_site("ts-plain", wanted="auto", patience_s=30)`."""
    running: list[Site] = []

    async def start(*names: str, wanted: Wanted = "auto", patience_s: float = 30, **options: Any) -> Site:
        folders = copy_samples(names, tmp_path)
        site = Site(folders, tmp_path / "state", wanted, patience_s, **options)
        running.append(site)
        await site.start()
        return site

    yield start
    for site in running:
        await site.stop()


@pytest.fixture(scope="module")
async def plain(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """ts-plain, shared by the tests of a module that leave it as it is."""
    folder = tmp_path_factory.mktemp("plain")
    site = Site(copy_samples(["ts-plain"], folder), folder / "state", "auto", 30)
    await site.start()
    yield site
    await site.stop()


class SlowBackEnd:
    """Answers nobody before it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self._answers = asyncio.Event()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        await self._answers.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        writer.close()

    def answer(self) -> None:
        self._answers.set()


@pytest.fixture
async def back_end() -> AsyncIterator[tuple[SlowBackEnd, str]]:
    slow = SlowBackEnd()
    server = await asyncio.start_server(slow.handle, "127.0.0.1", 0)
    yield slow, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    slow.answer()
    server.close()
