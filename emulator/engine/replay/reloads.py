"""Code that was reloaded, on the instances that have not finished: which of them cannot follow it?

They are checked before they meet the new code. Those that cannot follow it are paused, so that a person decides;
they are resumed when a later reload lets them follow again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from stepwell.bindings.errors import EngineError
from stepwell.bindings.ports import Runner
from stepwell.emulator.clock import SystemClock, monotonic_ns
from stepwell.emulator.engine.commands import Commands
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.run_event import run_event
from stepwell.emulator.storage.records import InstanceRow, Page, PageFilter, Status, StepRow, StepState
from stepwell.emulator.storage.store import StorageError

if TYPE_CHECKING:
    from stepwell.emulator.engine.replay.follow import Verdict
    from stepwell.emulator.engine.replay.recorded import Recorded

#: The newest unfinished instances of a Workflow that a reload checks, and how long it may take in real time.
_MOST: Final = 200
_MOST_NS: Final = 2_000_000_000
_PATIENCE_MS: Final = 500
_CHECKED: Final = (Status.RUNNING, Status.WAITING, Status.PAUSED, Status.WAITING_FOR_PAUSE)
_PAUSABLE: Final = (Status.RUNNING, Status.WAITING)
_STREAM: Final = "it is a stream"


@dataclass(frozen=True, slots=True)
class CannotFollow:
    """An instance that cannot follow the new code, and where the two differ."""

    workflow_name: str
    instance_id: str
    verdict: Verdict

    def __str__(self) -> str:
        place = "" if self.verdict.place is None else f"{self.verdict.place}: "
        return f"{self.workflow_name}/{self.instance_id}: {place}{self.verdict.difference}"


class ReloadCheck:
    """Checks unfinished instances before their code is replaced."""

    def __init__(self, core: Core, commands: Commands) -> None:
        self._core = core
        self._commands = commands
        #: Instances that a check has paused, by key, with what it found.
        self._paused: dict[int, CannotFollow] = {}

    @property
    def paused(self) -> list[CannotFollow]:
        """Those that are still paused because they cannot follow the code."""
        self._forget_those_that_go_on()
        return list(self._paused.values())

    async def check(self, workflow: WorkflowState, runner: Runner) -> list[CannotFollow]:
        """Pauses the instances that cannot follow `runner`, and gives those that are new among them."""
        self._forget_those_that_go_on()
        until_ns = monotonic_ns() + _MOST_NS
        found: list[CannotFollow] = []
        for row in self._unfinished(workflow):
            if monotonic_ns() > until_ns:
                break
            verdict = await self._verdict(workflow, row, runner)
            if verdict is None or verdict.too_late or not verdict.difference:
                await self._resume(row.key)
            elif row.key not in self._paused and row.status in _PAUSABLE:
                found += await self._pause(workflow, row, verdict)
        return found

    def _unfinished(self, workflow: WorkflowState) -> Iterable[InstanceRow]:
        wanted = PageFilter(workflow=workflow.key, statuses=_CHECKED)
        return self._core.store.instances(wanted, Page(_MOST))

    async def _verdict(self, workflow: WorkflowState, row: InstanceRow, runner: Runner) -> Verdict | None:
        """None for an instance that has called no step yet, or that cannot be read."""
        from stepwell.emulator.engine.replay.follow import follow

        try:
            recorded = self._recorded(workflow, row)
        except StorageError:
            return None
        return await follow(runner, recorded, SystemClock(), _PATIENCE_MS) if recorded.steps else None

    def _recorded(self, workflow: WorkflowState, row: InstanceRow) -> Recorded:
        from stepwell.emulator.engine.replay.recorded import Recorded

        store = self._core.store
        steps, values = store.steps(row.key), store.values(row.key)
        params = values.params if values is not None else None
        return Recorded(
            event=run_event(workflow.name, row.id, row.created_at, params, row.schedule),
            status=row.status,
            steps=steps,
            unknown=_unknown(steps),
        )

    async def _pause(self, workflow: WorkflowState, row: InstanceRow, verdict: Verdict) -> list[CannotFollow]:
        """The instance, if it could be paused: it may have finished meanwhile."""
        try:
            await self._commands.pause(row.key)
        except EngineError:
            return []
        self._paused[row.key] = CannotFollow(workflow.name, row.id, verdict)
        return [self._paused[row.key]]

    async def _resume(self, key: int) -> None:
        if self._paused.pop(key, None) is not None:
            with contextlib.suppress(EngineError):  # it was deleted or terminated meanwhile
                await self._commands.resume(key)

    def _forget_those_that_go_on(self) -> None:
        still = (Status.PAUSED, Status.WAITING_FOR_PAUSE)
        self._paused = {key: found for key, found in self._paused.items() if self._core.store.status(key) in still}


def _unknown(steps: Iterable[StepRow]) -> Mapping[int, str]:
    """Streams are not read for a check; what comes after one is not judged."""
    return {row.seq: _STREAM for row in steps if row.stream is not None and row.state is StepState.COMPLETED}
