"""Which instances a test can reproduce, and which of their steps it reaches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from stepwell.bindings.errors import ErrorInfo, WorkflowFatalError
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS
from stepwell.emulator.storage.records import (
    EventType,
    HistoryRow,
    InstanceRow,
    InstanceValues,
    Status,
    StepKind,
    StepRow,
    StepState,
    WorkflowRow,
)

_UNDER_WAY: Final = (Status.QUEUED, Status.RUNNING, Status.WAITING_FOR_PAUSE, Status.ROLLING_BACK)


class NotRepeatable(ValueError):
    """The message says why the instance can't become a test, and what to do instead."""


@dataclass(frozen=True, slots=True)
class CopiedRun:
    """`difference` is what a replay check has found, empty where there was none; `outside` are calls of run() that
    give another value each time, with their lines.
    """

    workflow: WorkflowRow
    row: InstanceRow
    values: InstanceValues
    steps: Sequence[StepRow]
    history: Sequence[HistoryRow] = ()
    difference: str = ""
    outside: Sequence[tuple[str, int]] = ()

    @property
    def ends_by_itself(self) -> bool:
        return self.row.status in (Status.COMPLETE, Status.ERRORED)

    @property
    def gave_up_a_step(self) -> bool:
        """Whether a callback was still running when it ended, as of `Promise.race`."""
        return any(step.state is StepState.IN_FLIGHT for step in self.steps)

    def error(self, step: StepRow) -> ErrorInfo:
        """What the step, or its last attempt, has failed with."""
        if step.error is not None:
            return ErrorInfo.from_json(json.loads(step.error))
        told = [
            json.loads(entry.detail)["error"]
            for entry in self.history
            if entry.type is EventType.ATTEMPT_ERRORED and entry.step == step.seq and entry.detail
        ]
        return ErrorInfo.from_json(told[-1] if told else {})


def check(run: CopiedRun) -> None:
    """Raises `NotRepeatable`."""
    if run.difference:
        raise NotRepeatable(f"The replay check found nondeterministic code: {run.difference}.")
    if not run.workflow.defined:
        raise NotRepeatable(f"The Workflow {run.workflow.name} is not defined in the Worker.")
    if run.row.schedule is not None:
        raise NotRepeatable("Tests can't reproduce scheduled instances. Duplicate it, and copy the duplicate.")
    if not run.ends_by_itself and not rests(run.steps):
        raise NotRepeatable(_why_not_there(run))


def _why_not_there(run: CopiedRun) -> str:
    """A test can stop only where the code waits."""
    word = STATUS_LOOKS[run.row.status].word.lower()
    if run.row.status in _UNDER_WAY:
        return f"The instance is {word}. Copy it once it has finished, or while it waits."
    busy = next((step for step in run.steps if is_open(step) and not is_at_rest(step)), None)
    where = f"while {busy.public_name} was running" if busy is not None else "between steps"
    return f"The instance was {word} {where}. A test can stop it only where it sleeps, waits or retries."


def rests(steps: Sequence[StepRow]) -> bool:
    """Whether all that is open waits for time or an event."""
    open_ones = [step for step in steps if is_open(step)]
    return bool(open_ones) and all(map(is_at_rest, open_ones))


def is_open(step: StepRow) -> bool:
    return step.state not in (StepState.COMPLETED, StepState.FAILED)


def is_at_rest(step: StepRow) -> bool:
    return step.state in (StepState.PENDING, StepState.RETRYING)


def stands_in(step: StepRow) -> bool:
    """Whether its outcome can be given to a test; no callback is called then."""
    if step.kind is not StepKind.DO:
        return False
    if step.state is StepState.COMPLETED:
        return not step.sensitive and step.stream is None
    return step.state is StepState.RETRYING or (step.state is StepState.FAILED and not is_fatal(step))


def is_fatal(step: StepRow) -> bool:
    """Whether it has returned what cannot be stored, which ends the run however the code goes on."""
    return step.error is not None and json.loads(step.error).get("name") == WorkflowFatalError.name


def reached(steps: Sequence[StepRow]) -> Iterator[tuple[StepRow, int]]:
    """The steps that a test comes to, each with its use of its name: none inside of one whose outcome is given."""
    given: set[int] = set()
    uses: Counter[tuple[StepKind, str]] = Counter()
    for step in steps:
        if step.parent in given:
            given.add(step.seq)
            continue
        if stands_in(step):
            given.add(step.seq)
        uses[step.kind, step.name] += 1
        yield step, uses[step.kind, step.name]
