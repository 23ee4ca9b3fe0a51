"""A real engine in a thread of its own, and the dashboard's routes over it in another, on a free port."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette

from stepwell.bindings import values
from stepwell.emulator.clock import SystemClock, breathe
from stepwell.emulator.config import Settings
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.server.listener import bind
from stepwell.emulator.storage.records import Trigger
from stepwell.emulator.storage.sqlite import SqliteStore
from stepwell.emulator.threads.engine_thread import EngineThread
from stepwell.emulator.web.parts import ServerParts
from tests.e2e.dashboard import shop

T = TypeVar("T")


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()


@dataclass
class Running:
    """What tests hold: the address, and the engine to do things behind the page's back."""

    url: str
    engine: Engine
    loop: Loop
    server_loop: Loop
    parts: ServerParts

    @property
    def base(self) -> str:
        return f"{self.url}/__dashboard"

    def instance_url(self, workflow: str, instance_id: str) -> str:
        return f"{self.base}/workflows/{workflow}/instances/{instance_id}"

    def create(self, workflow: str, instance_id: str, params: Any = None) -> str:
        options: dict[str, Any] = {"id": instance_id}
        if params is not None:
            options["params"] = values.encode(params)
        return self.do(lambda: self.engine.workflow(workflow, Trigger.API).create(options))

    def do(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Runs a coroutine on the engine's loop."""

        async def call() -> T:
            return await make()

        return self.loop.run(call())

    def idle(self) -> None:
        self.do(self.engine.idle)

    @contextmanager
    def hung(self) -> Iterator[None]:
        """The server takes connections and answers nothing, as one that is stopped with Ctrl-Z."""
        go_on = threading.Event()
        self.server_loop.loop.call_soon_threadsafe(go_on.wait)
        try:
            yield
        finally:
            go_on.set()

    def status(self, workflow: str, instance_id: str) -> str:
        return self.do(lambda: self.engine.workflow(workflow).status(instance_id)).status


class Dashboard:
    """Starts and stops everything. `fill` may put rows into the store before the engine starts."""

    def __init__(
        self, folder: Path, fill: Callable[[SqliteStore], None] | None = None, *, heartbeat_s: float = 5.0
    ) -> None:
        self._folder = folder
        self._fill = fill
        self._heartbeat_s = heartbeat_s

    def __enter__(self) -> Running:
        self._engine_loop, self._server_loop = Loop(), Loop()
        self._engine = self._engine_loop.run(self._start_engine())
        self._socket = bind("127.0.0.1", 0)
        url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._reader = self._engine.store.reader()
        project = Path(__file__).parent
        self._parts = ServerParts(
            settings=replace(_settings(project), persist_to=self._folder),
            engine=self._engine,
            thread=EngineThread(self._engine_loop.loop),
            reader=self._reader,
            hosts=(),
            url=url,
            folders={"shop": project},
            heartbeat_s=self._heartbeat_s,
        )
        self._server_loop.run(self._start_server())
        return Running(url, self._engine, self._engine_loop, self._server_loop, self._parts)

    async def _start_engine(self) -> Engine:
        store = SqliteStore(str(self._folder / "dashboard.sqlite"))
        if self._fill is not None:
            self._fill(store)
        engine = Engine(store, SystemClock())
        for name, runner in shop.workflows().items():
            schedules = ("0 3 * * *",) if name == "quick" else ()
            at_once = 1 if name == "narrow" else None
            definition = WorkflowDefinition(name, name.title(), "shop", None, at_once, schedules)
            engine.define(definition, runner, Version(f"{name}-v1", source="..."))
        await engine.start()
        return engine

    async def _start_server(self) -> None:
        from stepwell.emulator.dashboard import routes as dashboard_routes
        from stepwell.emulator.server import security

        routes = dashboard_routes.routes(self._parts)
        app = Starlette(routes=routes, middleware=security.middleware(self._parts))
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._serving = asyncio.ensure_future(self._server.serve(sockets=[self._socket]))
        while not self._server.started:
            await breathe()

    def __exit__(self, *_: object) -> None:
        self._parts.notices.stop()
        self._server.should_exit = True
        self._server_loop.run(self._stopped())
        self._engine_loop.run(self._engine.stop())
        self._reader.close()
        self._engine.store.close()
        self._server_loop.stop()
        self._engine_loop.stop()
        self._socket.close()

    async def _stopped(self) -> None:
        await self._serving


def _settings(project: Path) -> Settings:
    return Settings(project=project, config_file=project / "wrangler.jsonc", persist_to=project)
