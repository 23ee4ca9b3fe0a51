"""Replays histories on the code of a project: loads its Workers, and follows each history on them."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.ports import Runner
from stepwell.bindings.values import Encoded
from stepwell.emulator.app.assembly import declare, ports
from stepwell.emulator.clock import SystemClock
from stepwell.emulator.config import Opened, Project
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.engine.replay.follow import Verdict, follow, run_callback
from stepwell.emulator.engine.replay.recorded import Recorded
from stepwell.emulator.engine.run_event import run_event
from stepwell.emulator.histories.recorded import answered_steps
from stepwell.emulator.histories.saved import NotARun, SavedRun
from stepwell.emulator.storage.sqlite import SqliteStore
from stepwell.emulator.worker.host import Generation
from stepwell.emulator.worker.hosts import Hosts
from stepwell.emulator.worker.neighbours import Registry


class Replayer:
    """Today's code of a project. Use it as a context manager: `async with Replayer(opened) as replayer`."""

    def __init__(self, opened: Opened) -> None:
        self._settings = opened.settings
        self._project: Project = opened.project
        self._clock = SystemClock()
        self._scratch = Path(tempfile.mkdtemp(prefix="stepwell-replay-"))
        #: Instances that run() creates by mistake stay here, and never start.
        self._engine = Engine(SqliteStore(":memory:"), self._clock)
        declare(self._engine, self._project)
        registry = Registry(self._scratch / "registry")
        self._hosts = Hosts(
            [self._project],
            self._settings,
            ports=lambda project: ports(self._engine, project, registry),
            port=self._engine.find_workflow,
            now_ms=self._clock.now,
            emit=_silent,
            state=self._scratch,
        )
        self._generation: Generation | None = None

    async def __aenter__(self) -> Replayer:
        """Loads the code. Raises `WorkerLoadError`."""
        try:
            self._generation = await self._hosts.all[0].load()
            await self._hosts.open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        await self._hosts.all[0].stop()
        await self._hosts.stop()
        self._engine.store.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    @property
    def workflows(self) -> list[str]:
        """The names of the Workflows whose code the project has."""
        return [flow.name for flow in self._project.config.workflows if flow.script_name is None]

    async def replay(self, run: SavedRun, answers: Mapping[str, object]) -> Verdict:
        """Follows a history. `answers` are results for unknown ones, by the public name of the step.

        Raises `NotARun` when the project has no code for its Workflow, or an answer has no step.
        """
        return await follow(self._runner(run), recorded_of(run, answers), self._clock)

    async def run_step(self, run: SavedRun, answers: Mapping[str, object], step: str) -> Encoded:
        """What the callback of a step returns for the inputs that a history has; raises what it raises.

        Raises `NotReached` when the code does not come to the step, and `NotARun` like `replay`.
        """
        return await run_callback(self._runner(run), recorded_of(run, answers), step, self._clock)

    def _runner(self, run: SavedRun) -> Runner:
        assert self._generation is not None, "use it as a context manager"
        names = self.workflows
        name = run.workflow.name if run.workflow.name in names or len(names) != 1 else names[0]
        flow = next((flow for flow in self._project.config.workflows if flow.name == name), None)
        runner = None if flow is None else self._generation.runners.get(flow.class_name)
        if runner is None:
            raise NotARun(
                f'The project has no code for the Workflow "{run.workflow.name}". '
                f"Its Workflows: {', '.join(names) or 'none'}."
            )
        return runner


def recorded_of(run: SavedRun, answers: Mapping[str, object]) -> Recorded:
    """What a replay needs of a recorded instance. Raises `NotARun` for an answer that fits no unknown result."""
    steps, unknown = answered_steps(run, answers)
    error = run.values.error
    return Recorded(
        event=run_event(run.workflow.name, run.row.id, run.row.created_at, run.values.params, run.row.schedule),
        status=run.row.status,
        steps=steps,
        output=Encoded(run.values.output) if run.values.output is not None else None,
        error=ErrorInfo.from_json(json.loads(error)) if error else None,
        unknown=unknown,
        knows_parents=run.knows_parents,
    )


def _silent(*_: object) -> None:
    """What code prints in a replay was printed before."""
