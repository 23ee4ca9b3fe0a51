"""Builds the running emulator from its settings: clock, storage, engine, hosts, server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from stepwell.bindings.ports import WorkflowPort
from stepwell.emulator.app.startup_log import Step
from stepwell.emulator.clock import Clock, SystemClock, resolve
from stepwell.emulator.config import Project, Settings, WorkflowConfig
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.engine.replay.reloads import CannotFollow
from stepwell.emulator.engine.time.schedules import ScheduledHandler
from stepwell.emulator.engine.time.travel import SKEW_SETTING
from stepwell.emulator.limits import Limits
from stepwell.emulator.server.app import App
from stepwell.emulator.server.listener import Listener
from stepwell.emulator.storage.sqlite import SqliteStore
from stepwell.emulator.threads.engine_thread import EngineThread
from stepwell.emulator.web.notices import Notices
from stepwell.emulator.web.parts import ServerParts
from stepwell.emulator.worker.host import (
    Generation,
    WorkerCodeError,
    WorkerHost,
    WorkerPending,
    call_scheduled,
)
from stepwell.emulator.worker.neighbours import Registry, neighbour_of

_log = logging.getLogger("stepwell.dev")

#: Instances that the message about a reload names.
_MOST_NAMED: Final = 10


def definition_of(project: Project, workflow: WorkflowConfig) -> WorkflowDefinition:
    """Convert a Workflow of the configuration into the engine's definition."""
    return WorkflowDefinition(
        name=workflow.name,
        class_name=workflow.class_name,
        script_name=workflow.script_name or project.config.name,
        steps_limit=workflow.steps_limit,
        concurrency_limit=workflow.concurrency_limit,
        schedules=workflow.schedules,
        success_retention_ms=workflow.success_retention_ms,
        error_retention_ms=workflow.error_retention_ms,
        preserve_non_retryable=project.config.compat.workflows_preserve_non_retryable_error_message,
    )


def open_engine(settings: Settings, database: str) -> Engine:
    """Open the engine on its database, with the stored clock skew."""
    store = SqliteStore(database, settings.synchronous)
    store.check_in_background()
    clock: Clock = SystemClock(int(store.setting(SKEW_SETTING) or 0), settings.time_scale)
    return Engine(
        store,
        clock,
        Limits.in_force(settings.limits_profile, settings.compat, settings.limits),
        settings.compat,
        replay_always=settings.replay == "always",
        enforce_retention=settings.enforce_retention,
        fire_schedules=settings.schedules,
    )


def store_of(engine: Engine) -> SqliteStore:
    """The store that `open_engine` has given the engine, with what the engine does not use of it."""
    assert isinstance(engine.store, SqliteStore)
    return engine.store


@dataclass(frozen=True, slots=True)
class Worker:
    """A Worker of this `stepwell dev`: its project and the host of its code."""

    project: Project
    host: WorkerHost

    def own_workflows(self) -> list[WorkflowConfig]:
        """The Workflows that its own script defines."""
        return [workflow for workflow in self.project.config.workflows if workflow.script_name is None]


def with_adopted(project: Project, projects: Sequence[Project]) -> Project:
    """Add the Workflows of the project's classes that only other Workers of this `stepwell dev` configure."""
    own = {workflow.name for workflow in project.config.workflows}
    adopted = {
        workflow.name: replace(workflow, binding=None, script_name=None)
        for other in projects
        for workflow in other.config.workflows
        if workflow.script_name == project.config.name and workflow.name not in own
    }
    workflows = (*project.config.workflows, *adopted.values())
    return project._replace(config=replace(project.config, workflows=workflows)) if adopted else project


def ports(engine: Engine, project: Project, registry: Registry) -> dict[str, WorkflowPort]:
    """The Workflow bindings of a Worker by name. A Workflow of another `stepwell dev` is found via the registry."""
    bindings: dict[str, WorkflowPort] = {}
    for workflow in project.config.workflows:
        port = engine.find_workflow(workflow.name) or neighbour_of(workflow, registry)
        if workflow.binding is not None and port is not None:
            bindings[workflow.binding] = port
    return bindings


def declare(engine: Engine, project: Project) -> None:
    """Declare the Workflows of a Worker before its code is loaded, so bindings can refer to them."""
    for workflow in project.config.workflows:
        if workflow.script_name is None and engine.find_workflow(workflow.name) is None:
            engine.define(definition_of(project, workflow), None, None)


def define(engine: Engine, worker: Worker, generation: Generation) -> None:
    """Pass the newly loaded code to the engine."""
    language = generation.language
    for workflow in worker.own_workflows():
        engine.define(
            definition_of(worker.project, workflow),
            generation.runners.get(workflow.class_name),
            Version(
                f"{generation.version_id}-{workflow.name}", language, generation.source_of(workflow.class_name)
            ),
        )


class WorkerHosts(Protocol):
    """The hosts of the Workers, in the order of their projects."""

    @property
    def all(self) -> tuple[WorkerHost, ...]: ...

    async def open(self) -> None:
        """Bring shared parts up to date after a load."""
        ...

    def configure(self, index: int, project: Project) -> None:
        """Use a configuration that was read again."""
        ...

    async def stop(self) -> None: ...


class Emulator:
    """A running emulator: the engine on this loop, the server in its own thread."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        projects: Sequence[Project],
        hosts: WorkerHosts,
        sock: socket.socket,
        blocked_ms: Callable[[], int] = lambda: 0,
        step: Step = contextlib.nullcontext,
    ) -> None:
        """`blocked_ms` returns how long user code has been blocking this loop; `step` measures the start."""
        self._step = step
        self.settings = settings
        self.engine = engine
        self.workers = [Worker(project, host) for project, host in zip(projects, hosts.all, strict=True)]
        self._hosts = hosts
        self._served_hosts = [worker.host for worker in self.workers]
        self._folders = {worker.project.config.name: worker.project.folder for worker in self.workers}
        self._socket = sock
        self._blocked_ms = blocked_ms
        self._listener: Listener | None = None
        self.notices = Notices()
        self.url = url_of(sock)
        self._loaded: dict[int, str] = {}

    async def start(self) -> None:
        """Load the Workers, resume unfinished instances, and serve.

        Raises `WorkerLoadError`. With reload on, broken code does not raise: the Worker and its instances
        wait for a fix, and `notices` holds the reason.
        """
        # Python first: the JavaScript runtime needs the names of its classes.
        for index, worker in sorted(enumerate(self.workers), key=lambda pair: pair[1].host.language != "python"):
            try:
                with self._step(f"load {worker.host.name}"):
                    generation = await worker.host.load()
            except WorkerPending:
                continue
            except WorkerCodeError as error:
                if not self.settings.reload:
                    raise
                self.notices.not_loaded(worker.host.name, str(error), runs=False)
                continue
            self._loaded[index] = generation.version_id
            define(self.engine, worker, generation)
        with self._step("open the bindings"):
            await self._hosts.open()
        with self._step("resume the instances"):
            await self.engine.start()
        for index in self._loaded:
            self._schedule(self.workers[index])
        with self._step("start the server"):
            await self._serve()

    def _schedule(self, worker: Worker) -> None:
        """Fire the cron triggers of a Worker by the engine's clock."""
        crons = worker.project.config.crons
        if crons or worker.host.name in self.engine.schedules.handlers:
            self.engine.schedules.handle(
                worker.host.name, ScheduledHandler(crons, partial(call_scheduled, worker.host))
            )

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        parts = ServerParts(
            settings=self.settings,
            engine=self.engine,
            thread=EngineThread(loop),
            reader=store_of(self.engine).reader(),
            hosts=self._served_hosts,
            url=self.url,
            folders=self._folders,
            notices=self.notices,
            blocked_ms=self._blocked_ms,
        )
        ready = loop.create_future()
        self._listener = Listener(App(parts), self._socket)
        self._listener.start(lambda failure: _settle(loop, ready, failure))
        await ready

    def index_of(self, name: str) -> int | None:
        """The index of the Worker of this name."""
        return next((index for index, worker in enumerate(self.workers) if worker.host.name == name), None)

    def adopt(self, project: Project, host: WorkerHost) -> int:
        """Add a Worker that became known after the start; returns its index for `reload`."""
        self.workers.append(Worker(project, host))
        self._folders[project.config.name] = project.folder
        self._served_hosts.append(host)
        return len(self.workers) - 1

    async def reload(self, index: int, project: Project) -> bool:
        """Reload a Worker with its current configuration. Returns True if the version changed.

        On `WorkerLoadError` the previous version keeps running. Instances of a Workflow that is no longer
        configured are suspended until it is configured again.
        """
        project = with_adopted(project, [worker.project for worker in self.workers])
        before, after = self.workers[index], Worker(project, self.workers[index].host)
        declare(self.engine, project)
        self._hosts.configure(index, project)
        generation = await after.host.load()
        await self._hosts.open()
        self.workers[index] = after
        await self._check_instances(after, generation, self._loaded.get(index))
        define(self.engine, after, generation)
        self._schedule(after)
        names = {workflow.name for workflow in after.own_workflows()}
        for workflow in before.own_workflows():
            if workflow.name not in names:
                self.engine.define(definition_of(before.project, workflow), None, None)
        version = self._loaded.get(index)
        self._loaded[index] = generation.version_id
        return version != generation.version_id

    async def _check_instances(self, worker: Worker, generation: Generation, before: str | None) -> None:
        """Pause the instances that cannot follow the new code, and say so."""
        if not self.settings.check_reload or generation.version_id == before:
            return
        found: list[CannotFollow] = []
        for workflow in worker.own_workflows():
            runner = generation.runners.get(workflow.class_name)
            if runner is not None and self.engine.find_workflow(workflow.name) is not None:
                found += await self.engine.check_reload(workflow.name, runner)
        if found:
            _log.warning("%s", _cannot_follow(found), extra={"action": "cannot_follow"})
        self.notices.cannot_follow(list(map(str, self.engine.reload_check.paused)))

    @property
    def unloaded(self) -> list[int]:
        """Indexes of the Workers whose code failed to load."""
        return [index for index in range(len(self.workers)) if index not in self._loaded]

    async def stop(self, grace_ms: int, last_words: Callable[[], None] = lambda: None) -> None:
        """Stop. Steps in flight have `grace_ms` to finish; unfinished work resumes at the next start.

        `last_words` is called after the last change, while the database can still be read.
        """
        self.notices.stop()
        listener_stopped = asyncio.get_running_loop().create_task(self._stop_listener())
        await self.engine.stop(grace_ms)
        await listener_stopped
        for worker in self.workers:
            with contextlib.suppress(asyncio.CancelledError):
                await worker.host.stop()
        await self._hosts.stop()
        last_words()
        self.engine.store.close()

    async def _stop_listener(self) -> None:
        """Stop the listener in a new thread: user code may occupy all of the loop's threads."""
        if self._listener is not None:
            loop, stopped = asyncio.get_running_loop(), asyncio.Event()
            stop = self._listener.stop

            def run() -> None:
                stop()
                loop.call_soon_threadsafe(stopped.set)

            threading.Thread(target=run, name="stepwell-stop", daemon=True).start()
            await stopped.wait()


def _cannot_follow(found: Sequence[CannotFollow]) -> str:
    """The message about instances that a reload has paused."""
    count = "1 instance" if len(found) == 1 else f"{len(found)} instances"
    more = [f"  and {len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
    return "\n".join(
        [
            f"{count} can't follow the new code, and {'was' if len(found) == 1 else 'were'} paused:",
            *(f"  {instance}" for instance in found[:_MOST_NAMED]),
            *more,
            "Save code that they can follow, and they resume. Or resume them with this code, or restart them. "
            "To switch this check off: --no-check-reload",
        ]
    )


def _settle(loop: asyncio.AbstractEventLoop, ready: asyncio.Future[None], failure: BaseException | None) -> None:
    if failure is None:
        loop.call_soon_threadsafe(resolve, ready)
    elif not ready.done():
        loop.call_soon_threadsafe(ready.set_exception, failure)


def url_of(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
