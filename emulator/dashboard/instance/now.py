"""The Now box: what an instance is doing, why, and what can be done about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.instance.now_items import NowItem, Sending, open_item, undoing_items
from stepwell.emulator.dashboard.instance.steps import StepView
from stepwell.emulator.dashboard.parts.errors import ErrorView, unfolded
from stepwell.emulator.dashboard.parts.frame import Blocked
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import plural
from stepwell.emulator.storage.records import InstanceRow, Status, StepState

_SHOWN: Final = 6


@dataclass(frozen=True, slots=True)
class Failure:
    """What ended an instance: the error that run() raised, what caused that in the end, the step it came from."""

    text: str
    cause: str
    step: StepView | None


@dataclass(frozen=True, slots=True)
class NowView:
    """`paused_at` is not None while deadlines stand still."""

    look: Look
    sentence: str
    items: tuple[NowItem, ...]
    more: int
    paused_at: int | None
    since_at: int | None
    failure: Failure | None = None
    reason: str = ""
    queue_place: int | None = None
    blocked: Blocked | None = None

    @property
    def is_over(self) -> bool:
        return self.look.word in ("Complete", "Errored", "Terminated")


def now_view(
    row: InstanceRow,
    steps: Sequence[StepView],
    *,
    payloads: Mapping[str, str],
    address: tuple[str, str] = ("", ""),
    reason: str | None = None,
    error: ErrorView | None = None,
    queue_place: int | None = None,
    defined: bool = True,
    blocked: Blocked | None = None,
) -> NowView:
    """`payloads` are the last ones of the awaited types, encoded; `address` is (server URL, Workflow)."""
    items = _items(row, steps, Sending(*address, row.id, payloads))
    return NowView(
        look=STATUS_LOOKS[row.status],
        sentence=_sentence(row, items, steps, defined=defined),
        items=tuple(items[:_SHOWN]),
        more=max(0, len(items) - _SHOWN),
        paused_at=row.paused_at if row.status is Status.PAUSED else None,
        since_at=_since(row),
        failure=_failure(steps, error) if row.status is Status.ERRORED and error is not None else None,
        reason=reason or "",
        queue_place=queue_place,
        blocked=blocked if row.ended_at is None else None,
    )


def _items(row: InstanceRow, steps: Sequence[StepView], sending: Sending) -> list[NowItem]:
    if row.ended_at is not None:
        return []
    if row.status is Status.ROLLING_BACK:
        return undoing_items(steps)
    return [open_item(step, sending) for step in steps if step.is_open]


def _since(row: InstanceRow) -> int | None:
    if row.ended_at is not None:
        return row.ended_at
    return row.paused_at if row.status is Status.PAUSED else row.modified_at


def _failure(steps: Sequence[StepView], error: ErrorView) -> Failure:
    """The step is the newest of those that failed with this error, or with one that caused it.

    The error of an instance has the name of the step's in its message: "Error: TypeError: no such key".
    """
    chain = [error]
    while chain[-1].cause is not None:
        chain.append(chain[-1].cause)
    texts = {text for one in chain for text in (one.text, one.message)}
    failed = [step for step in steps if step.state is StepState.FAILED and step.summary in texts]
    return Failure(
        unfolded(error.name, error.message),
        chain[-1].text if len(chain) > 1 else "",
        failed[-1] if failed else None,
    )


def _sentence(row: InstanceRow, items: Sequence[NowItem], steps: Iterable[StepView], *, defined: bool) -> str:
    if not defined and row.ended_at is None:
        return "Suspended: this Workflow is not defined in the Worker. It resumes when the class is back."
    if row.status is Status.ROLLING_BACK:
        return _rolling_back(steps)
    plain = {
        Status.QUEUED: "Queued: it starts when a slot of the concurrency limit is free.",
        Status.PAUSED: "Paused. Every deadline keeps the time it had left; resume to go on.",
        Status.WAITING_FOR_PAUSE: "Pausing: it rests as soon as the attempt in flight has ended.",
        Status.COMPLETE: "Complete: run() returned.",
        Status.ERRORED: "Errored: run() raised an error that nothing caught.",
        Status.TERMINATED: "Terminated from outside.",
    }
    if row.status in plain:
        return plain[row.status]
    if not items:
        return "Running code of run() between two steps."
    kinds = {item.kind for item in items}
    if len(items) > 1:
        return f"{plural(len(items), 'step')} under way."
    return {
        "running": "Running a step.",
        "sleeping": "Sleeping.",
        "waiting": "Waiting for an event.",
        "retrying": "Waiting before the next attempt.",
    }[kinds.pop()]


def _rolling_back(steps: Iterable[StepView]) -> str:
    handled = [step for step in steps if step.has_rollback]
    undone = sum(step.tries.rolled_back for step in handled)
    progress = f" {undone} of {plural(len(handled), 'step')} undone." if handled else ""
    return f"Rolling back: the handlers of its steps run, newest first.{progress}"
