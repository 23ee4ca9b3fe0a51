"""The Now block: what an instance is doing, why, and the actions that apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.instance.now_items import NowItem, Sending, open_item, undoing_items
from stepwell.emulator.dashboard.instance.steps import StepView
from stepwell.emulator.dashboard.parts.frame import Blocked
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import plural
from stepwell.emulator.storage.records import InstanceRow, Status

_SHOWN: Final = 6


@dataclass(frozen=True, slots=True)
class NowView:
    """`paused_at` is set while timers are paused."""

    look: Look
    sentence: str
    items: tuple[NowItem, ...]
    more: int
    paused_at: int | None
    since_at: int | None
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
    queue_place: int | None = None,
    defined: bool = True,
    blocked: Blocked | None = None,
) -> NowView:
    """`payloads` are the last encoded payloads by event type; `address` is (server URL, Workflow)."""
    items, count = _items(row, steps, Sending(*address, row.id, payloads))
    return NowView(
        look=STATUS_LOOKS[row.status],
        sentence=_sentence(row, items, count, steps, defined=defined, queue_place=queue_place),
        items=tuple(items),
        more=count - len(items),
        paused_at=row.paused_at if row.status is Status.PAUSED else None,
        since_at=_since(row),
        reason=reason or "",
        queue_place=queue_place,
        blocked=blocked if row.ended_at is None else None,
    )


def _items(row: InstanceRow, steps: Sequence[StepView], sending: Sending) -> tuple[list[NowItem], int]:
    """The items that are shown, and how many there are."""
    if row.ended_at is not None:
        return [], 0
    if row.status is Status.ROLLING_BACK:
        undoing = undoing_items(steps)
        return undoing[:_SHOWN], len(undoing)
    open_steps = [step for step in steps if step.is_open]
    return [open_item(step, sending) for step in open_steps[:_SHOWN]], len(open_steps)


def _since(row: InstanceRow) -> int | None:
    if row.ended_at is not None:
        return row.ended_at
    return row.paused_at if row.status is Status.PAUSED else row.modified_at


def _sentence(
    row: InstanceRow,
    items: Sequence[NowItem],
    count: int,
    steps: Iterable[StepView],
    *,
    defined: bool,
    queue_place: int | None,
) -> str:
    if not defined and row.ended_at is None:
        return "Suspended: this Workflow is not defined in the Worker. The instance resumes when its class is back."
    if row.status is Status.ROLLING_BACK:
        return _rolling_back(steps)
    plain = {
        Status.QUEUED: _queued(queue_place),
        Status.PAUSED: "Paused. Timers are frozen until you resume",
        Status.WAITING_FOR_PAUSE: "Pausing when the current attempt ends",
        Status.COMPLETE: "Complete",
        Status.ERRORED: "Failed: uncaught error in run()",
        Status.TERMINATED: "Terminated by request",
    }
    if row.status in plain:
        return plain[row.status]
    if not items:
        return "Running code between steps"
    kinds = {item.kind for item in items}
    if count > 1:
        return f"{plural(count, 'step')} in progress"
    return {
        "running": "Running a step",
        "sleeping": "Sleeping",
        "waiting": "Waiting for an event",
        "retrying": "Waiting to retry",
    }[kinds.pop()]


def _rolling_back(steps: Iterable[StepView]) -> str:
    handled = [step for step in steps if step.has_rollback]
    rolled_back = sum(step.tries.rolled_back for step in handled)
    progress = f": {rolled_back} of {plural(len(handled), 'step')} done" if handled else ""
    return f"Rolling back, newest step first{progress}"


def _queued(place: int | None) -> str:
    return "Queued: next to start" if not place else f"Queued: {place:,} ahead (concurrency limit)"
