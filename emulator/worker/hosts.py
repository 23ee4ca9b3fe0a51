"""The hosts of the Workers of a run: CPython for each Python Worker, one runtime for all JavaScript ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stepwell.bindings.environment import MissingBinding
from stepwell.bindings.ports import WorkflowPort
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.config.project import Project
from stepwell.emulator.config.settings import Settings
from stepwell.emulator.worker.host import WorkerHost, WorkerLoadError
from stepwell.emulator.worker.python.output import Emit

if TYPE_CHECKING:
    from stepwell.emulator.worker.neighbours import Registry
    from stepwell.emulator.worker.python.host import PythonHost
    from stepwell.emulator.worker.workerd.calls import PythonService
    from stepwell.emulator.worker.workerd.config import EngineAddress
    from stepwell.emulator.worker.workerd.host import JavaScriptRuntime, JavaScriptWorker
    from stepwell.emulator.worker.workerd.stand_in import StandIn

_log = logging.getLogger("stepwell.worker")


class Hosts:
    """Builds the host of each project, in their order, and tells them of changed configurations.

    `ports` gives the bindings of a Worker, `port` that of a Workflow by its name; `now_ms` is the engine's clock.
    """

    def __init__(
        self,
        projects: Sequence[Project],
        settings: Settings,
        *,
        ports: Callable[[Project], Mapping[str, WorkflowPort]],
        port: Callable[[str], WorkflowPort | None],
        now_ms: Callable[[], int],
        emit: Emit,
        state: Path,
        registry: Registry | None = None,
    ) -> None:
        """`registry` finds Workflows that other runs on this machine have."""
        self._registry = registry
        self._projects = list(projects)
        self._settings = settings
        self._ports = ports
        self._own_port = port
        self._now_ms = now_ms
        self._emit = emit
        self._state = state
        self._runtime: JavaScriptRuntime | None = None
        self._stand_ins: dict[str, StandIn] = {}
        self._warned: set[str] = set()
        self.all: tuple[WorkerHost, ...] = tuple(self._build(project) for project in self._projects)

    def _port(self, name: str) -> WorkflowPort | None:
        """The port of a Workflow: of this run, or of the Worker that a binding names."""
        port = self._own_port(name)
        if port is not None or self._registry is None:
            return port
        from stepwell.emulator.worker.neighbours import neighbour_of

        bound = (one for project in self._projects for one in project.config.workflows if one.name == name)
        found = (neighbour_of(workflow, self._registry) for workflow in bound)
        return next((one for one in found if one is not None), None)

    def _build(self, project: Project) -> WorkerHost:
        return self._python(project) if project.config.language == "python" else self._javascript(project)

    # -- Python
    def _python(self, project: Project) -> PythonHost:
        from stepwell.emulator.worker.python.host import PythonHost

        index = self._projects.index(project)
        stand_in = self._stand_in(index) if self._needs_stand_in(project.config) else None
        return PythonHost(
            project.config,
            variables=project.vars,
            workflows=self._ports(project),
            now_ms=self._now_ms,
            emit=self._emit,
            other_binding=partial(self._binding, index),
            reach=stand_in,
        )

    def _needs_stand_in(self, config: WorkerConfig) -> bool:
        """Whether the runtime has something to do for a Python Worker, or Workers in it may call that."""
        return bool(config.bindings) or any(p.config.language == "javascript" for p in self._projects)

    def _stand_in(self, index: int) -> StandIn:
        from stepwell.emulator.worker.workerd.stand_in import StandIn

        stand_in = StandIn(
            lambda: self._projects[index].config,
            self._shared_runtime(),
            self._state / "stand-ins",
            self._left_out,
        )
        self._stand_ins[self._projects[index].config.name] = stand_in
        return stand_in

    def _binding(self, index: int, name: str, kind: str) -> object:
        """The object for a name of a Python Worker's `env`."""
        config = self._projects[index].config
        service = next((each for each in config.services if each.binding == name), None)
        if service is not None and (local := self._python_worker(service.service)) is not None:
            return local.as_service(name, service.entrypoint)
        reason = self._unavailable(config).get(name)
        if reason is not None:
            return MissingBinding(name, kind, f"{reason[0].upper()}{reason[1:]}.")
        return self._stand_ins[config.name].binding(name, kind)

    def _python_worker(self, name: str) -> PythonHost | None:
        """The Python Worker of that name that others call directly: one without static assets before it."""
        for project, host in zip(self._projects, self.all, strict=False):
            config = project.config
            if config.name == name and config.language == "python" and not config.raw.get("assets"):
                return cast("PythonHost", host)
        return None

    def _unavailable(self, config: WorkerConfig) -> Mapping[str, str]:
        from stepwell.emulator.worker.workerd.toolchain import find_toolchain
        from stepwell.emulator.worker.workerd.unavailable import unavailable_bindings

        running = [project.config.name for project in self._projects]
        return unavailable_bindings(config, running, find_toolchain(config.folder), self._settings.runtime)

    def _left_out(self, config: WorkerConfig) -> frozenset[str]:
        local = {each.binding for each in config.services if self._python_worker(each.service) is not None}
        return frozenset(self._unavailable(config)) | local

    def _python_services(self) -> dict[str, PythonService]:
        """The Python Workers, for the runtime."""
        return {host.name: cast("PythonHost", host).service() for host in self.all if host.language == "python"}

    @property
    def calls(self) -> EngineAddress | None:
        """Where binding calls from outside of the runtime go; None before it has started."""
        return self._runtime.calls if self._runtime is not None else None

    # -- the runtime
    def _shared_runtime(self) -> JavaScriptRuntime:
        if self._runtime is None:
            from stepwell.emulator.worker.workerd.host import JavaScriptRuntime, RuntimeOptions

            options = RuntimeOptions(self._state, self._settings.runtime, self._settings.inspector_port)
            self._runtime = JavaScriptRuntime(
                self._runtime_workers, self._port, options, self._emit, self._python_services
            )
        return self._runtime

    def _javascript(self, project: Project) -> WorkerHost:
        return self._shared_runtime().host(project.config.name)

    def _runtime_workers(self) -> list[JavaScriptWorker]:
        from stepwell.emulator.worker.workerd.host import JavaScriptWorker

        workers = [
            JavaScriptWorker(
                project.config, project.vars, file=None if project.has_other_main else project.config_path
            )
            for project in self._projects
            if project.config.language == "javascript"
        ]
        return workers + [each.worker() for each in self._stand_ins.values() if each.is_described]

    async def open(self) -> None:
        """Brings the runtime up to date for the Python Workers: to be called after each load of their code.

        Logs, once, what of them does not work and why.
        """
        if not self._stand_ins:
            return
        from stepwell.emulator.worker.workerd.unavailable import needs_runtime_at_once

        able = [each for each in self._stand_ins.values() if self._has_runtime(each.config())]
        running = self._runtime is not None and self._runtime.generation is not None
        for stand_in in (each for each in able if each.is_described):
            if running or needs_runtime_at_once(stand_in.config()):
                await self._start(stand_in)
                return

    async def _start(self, stand_in: StandIn) -> None:
        from stepwell.emulator.worker.workerd.unavailable import needs_runtime_at_once

        config = stand_in.config()
        try:
            await stand_in.start()
        except WorkerLoadError as error:
            parts = needs_runtime_at_once(config) or ["bindings"]
            self._warn(f"{config.name}: {', '.join(parts)} do not work. {error}")

    def _has_runtime(self, config: WorkerConfig) -> bool:
        """Whether something can hold the bindings of a Worker. Logs which of them do not work."""
        from stepwell.emulator.worker.workerd.toolchain import find_toolchain
        from stepwell.emulator.worker.workerd.unavailable import needs_runtime_at_once, why_no_runtime

        reasons = self._unavailable(config)
        reason = why_no_runtime(config, find_toolchain(config.folder), self._settings.runtime)
        if reason is not None:
            what = ", ".join([*needs_runtime_at_once(config), *(f"env.{name}" for name in reasons)])
            if what:
                self._warn(f"{config.name}: {what} do not work: {reason.rstrip('.')}.")
            return False
        for name, why in reasons.items():
            self._warn(f"{config.name}: env.{name} does not work: {why}.")
        return True

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            _log.warning("%s", text)

    async def stop(self) -> None:
        """Ends the runtime."""
        for stand_in in self._stand_ins.values():
            await stand_in.stop()
        if self._runtime is not None:
            await self._runtime.stop()

    def configure(self, index: int, project: Project) -> None:
        """The configuration of a Worker was read anew; it counts from its next load on."""
        self._projects[index] = project
        host = self.all[index]
        if project.config.language == "python" and host.language == "python":
            python = cast("PythonHost", host)
            python.configure(project.config, project.vars, self._ports(project))
            if project.config.name not in self._stand_ins and self._needs_stand_in(project.config):
                python.attach(self._stand_in(index))
