"""A Worker project, run by the test's engine."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from stepwell.emulator.app.assembly import definition_of
from stepwell.emulator.config import Opened
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.testing.code import Ports
from stepwell.emulator.worker.console import ConsoleLine
from stepwell.emulator.worker.host import WorkerHost


class ProjectCode:
    """A Worker project, in the environment that was chosen."""

    def __init__(self, opened: Opened, variables: Mapping[str, object]) -> None:
        self.opened = opened
        self._variables = variables
        self._closing = ExitStack()
        self.host: WorkerHost | None = None

    @property
    def bindings(self) -> Mapping[str, str]:
        workflows = self.opened.project.config.workflows
        return {one.binding: one.name for one in workflows if one.binding is not None}

    @property
    def definitions(self) -> Sequence[WorkflowDefinition]:
        project = self.opened.project
        own = [one for one in project.config.workflows if one.script_name is None]
        return [definition_of(project, one) for one in own]

    async def load(self, engine: Engine, ports: Ports) -> None:
        """Raises `WorkerLoadError` when the code cannot be loaded."""
        self._closing.callback(_time_zone_put_back())
        self.host = host = self._build(engine, ports)
        generation = await host.load()
        for definition in self.definitions:
            version = Version(f"{generation.version_id}-{definition.name}", generation.language, generation.source)
            engine.define(definition, generation.runners.get(definition.class_name), version)

    def _build(self, engine: Engine, ports: Ports) -> WorkerHost:
        from stepwell.emulator.worker.hosts import Hosts

        project = self.opened.project
        known = ports()
        own = {name: known[name] for name in self.bindings if name in known}
        by_workflow = {port.workflow_name: port for port in known.values()}
        return Hosts(
            [project._replace(dev_vars=project.dev_vars._replace(values={**project.vars, **self._variables}))],
            self.opened.settings,
            ports=lambda _: own,
            port=by_workflow.get,
            now_ms=engine.clock.now,
            emit=_print,
            state=self._state(),
        ).all[0]

    def _state(self) -> Path:
        """Where a JavaScript runtime keeps its files; a Python Worker has none."""
        if self.opened.project.config.language == "python":
            return self.opened.project.folder
        folder = tempfile.TemporaryDirectory(prefix="stepwell-test-", ignore_cleanup_errors=True)
        self._closing.callback(folder.cleanup)
        return Path(folder.name)

    def again(self) -> ProjectCode:
        return ProjectCode(self.opened, self._variables)

    async def stop(self) -> None:
        if self.host is not None:
            host, self.host = self.host, None
            await host.stop()
        self._closing.close()


def _print(line: ConsoleLine) -> None:
    """What user code prints belongs to the output of the test."""
    print(line.text, file=sys.stderr if line.level > 20 else sys.stdout)


def _time_zone_put_back() -> Callable[[], None]:
    """A Worker's local time is UTC; the test's is what it was, once the Worker has gone."""
    before = os.environ.get("TZ")

    def put_back() -> None:
        if before is None:
            os.environ.pop("TZ", None)
        else:
            os.environ["TZ"] = before
        if hasattr(time, "tzset"):
            time.tzset()

    return put_back
