"""A Worker project, run by the test's engine."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.emulator.app.assembly import definition_of
from stepwell.emulator.config import Opened
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.engine.time.schedules import ScheduledHandler
from stepwell.emulator.testing.code import Ports
from stepwell.emulator.testing.output import print_tagged
from stepwell.emulator.worker.host import WorkerHost, call_scheduled

if TYPE_CHECKING:
    from stepwell.emulator.worker.hosts import Hosts


class ProjectCode:
    """A Worker project, in the environment that was chosen."""

    def __init__(self, opened: Opened, variables: Mapping[str, object], scratch: Scratch | None = None) -> None:
        """`scratch` is where the runtime keeps what bindings store; a new folder unless it is given."""
        self.opened = opened
        self._variables = variables
        self._closing = ExitStack()
        self._scratch = scratch or Scratch()
        self._hosts: Hosts | None = None
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
        self._hosts = self._build(engine, ports)
        self.host = host = self._hosts.all[0]
        generation = await host.load()
        for definition in self.definitions:
            version = Version(f"{generation.version_id}-{definition.name}", generation.language, generation.source)
            engine.define(definition, generation.runners.get(definition.class_name), version)
        config = self.opened.project.config
        if config.crons:
            engine.schedules.handle(config.name, ScheduledHandler(config.crons, partial(call_scheduled, host)))

    def _build(self, engine: Engine, ports: Ports) -> Hosts:
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
            emit=print_tagged,
            state=self._scratch.folder,
        )

    def again(self) -> ProjectCode:
        """The project for another process of the same test: what bindings have stored is still there."""
        return ProjectCode(self.opened, self._variables, self._scratch)

    async def stop(self) -> None:
        if self.host is not None and self._hosts is not None:
            host, self.host = self.host, None
            await host.stop()
            await self._hosts.stop()
        self._closing.close()


class Scratch:
    """A folder of a test's own, deleted when nothing refers to it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="stepwell-test-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


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
