"""The hosts of the Workers of a run: CPython for each Python Worker, one runtime for all JavaScript ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.bindings.ports import WorkflowPort
from stepwell.emulator.config.project import Project
from stepwell.emulator.config.settings import Settings
from stepwell.emulator.worker.host import AsgiApp, WorkerHost
from stepwell.emulator.worker.python.environment import no_other_bindings
from stepwell.emulator.worker.python.output import Emit

if TYPE_CHECKING:
    from stepwell.emulator.worker.python.host import PythonHost
    from stepwell.emulator.worker.workerd.holder import Holder
    from stepwell.emulator.worker.workerd.host import JavaScriptRuntime, JavaScriptWorker


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
    ) -> None:
        self._projects = list(projects)
        self._settings = settings
        self._ports = ports
        self._port = port
        self._now_ms = now_ms
        self._emit = emit
        self._state = state
        self._runtime: JavaScriptRuntime | None = None
        self._holders: list[Holder] = []
        self._doors: dict[str, AsgiApp] = {}
        self.all: tuple[WorkerHost, ...] = tuple(self._build(project) for project in self._projects)

    def _build(self, project: Project) -> WorkerHost:
        return self._python(project) if project.config.language == "python" else self._javascript(project)

    def _python(self, project: Project) -> PythonHost:
        from stepwell.emulator.worker.python.host import PythonHost

        return PythonHost(
            project.config,
            variables=project.vars,
            workflows=self._ports(project),
            now_ms=self._now_ms,
            emit=self._emit,
            other_binding=self._holder(project).binding if project.config.bindings else no_other_bindings,
        )

    def _holder(self, project: Project) -> Holder:
        """What holds the other bindings of a Python Worker, when the first of them is used."""
        from stepwell.emulator.worker.workerd.holder import Holder
        from stepwell.emulator.worker.workerd.host import RuntimeOptions

        index = self._projects.index(project)
        # Tests of Python Workers have no state folder but the project itself.
        state = self._state if self._state != project.folder else project.folder / ".stepwell"
        options = RuntimeOptions(state / "bindings" / project.config.name, self._settings.runtime)
        holder = Holder(lambda: self._projects[index].config, project.vars, options)
        self._holders.append(holder)
        return holder

    async def stop_holders(self) -> None:
        """Ends the runtimes that hold other bindings."""
        for holder in self._holders:
            await holder.stop()

    def _javascript(self, project: Project) -> WorkerHost:
        if self._runtime is None:
            from stepwell.emulator.worker.workerd.host import JavaScriptRuntime, RuntimeOptions

            options = RuntimeOptions(self._state, self._settings.runtime, self._settings.inspector_port)
            self._runtime = JavaScriptRuntime(
                self._javascript_workers, self._port, options, self._emit, self._python_services
            )
        return self._runtime.host(project.config.name)

    def _python_services(self) -> dict[str, AsgiApp]:
        """The front doors of the Python Workers, for service bindings of the others."""
        return {host.name: self._door(host) for host in self.all if host.language == "python"}

    def _door(self, host: WorkerHost) -> AsgiApp:
        if host.name not in self._doors:
            self._doors[host.name] = host.front_door()
        return self._doors[host.name]

    def _javascript_workers(self) -> list[JavaScriptWorker]:
        from stepwell.emulator.worker.workerd.host import JavaScriptWorker

        return [
            JavaScriptWorker(project.config, project.vars)
            for project in self._projects
            if project.config.language == "javascript"
        ]

    def configure(self, index: int, project: Project) -> None:
        """The configuration of a Worker was read anew; it counts from its next load on."""
        self._projects[index] = project
        host = self.all[index]
        if project.config.language == "python" and host.language == "python":
            host.configure(project.config, project.vars, self._ports(project))  # type: ignore[attr-defined]
