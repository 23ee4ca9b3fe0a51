"""The Now box: what an instance is doing, why, and what can be done about it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bindings.values import UNDEFINED_TEXT
from emulator.dashboard.attempts import AttemptView
from emulator.dashboard.clipboard import Snippet, event_snippets
from emulator.dashboard.statuses import STATUS_LOOKS, Look
from emulator.dashboard.steps import StepView
from emulator.dashboard.text import plural
from emulator.storage.records import InstanceRow, Status, StepKind, StepState

ItemKind: TypeAlias = Literal["running", "sleeping", "waiting", "retrying"]
_SHOWN: Final = 6


@dataclass(frozen=True, slots=True)
class NowItem:
    """One open step. `payload` is the editor's text for an awaited event."""

    kind: ItemKind
    step: StepView
    due_at: int | None
    since_at: int
    last_error: str = ""
    attempt: int = 0
    event_type: str = ""
    payload: str = ""
    payload_is_last: bool = False
    snippets: tuple[Snippet, ...] = ()


@dataclass(frozen=True, slots=True)
class NowView:
    """`frozen`: deadlines stand still, for it is paused."""

    look: Look
    sentence: str
    items: tuple[NowItem, ...]
    more: int
    frozen: bool
    since_at: int | None
    reason: str = ""
    queue_place: int | None = None
    blocked: tuple[str, ...] | None = None

    @property
    def is_over(self) -> bool:
        return self.look.word in ("Complete", "Errored", "Terminated")


def now_view(
    row: InstanceRow,
    open_steps: Sequence[StepView],
    *,
    payloads: Mapping[str, str],
    address: tuple[str, str] = ("", ""),
    reason: str | None = None,
    queue_place: int | None = None,
    defined: bool = True,
    blocked: tuple[str, ...] | None = None,
) -> NowView:
    """`payloads` are the last ones of the awaited types, encoded; `address` is (server URL, Workflow)."""
    sending = _Sending(*address, row.id, payloads)
    items = [_item(step, sending) for step in open_steps[:_SHOWN]] if row.ended_at is None else []
    return NowView(
        look=STATUS_LOOKS[row.status],
        sentence=_sentence(row, items, defined=defined),
        items=tuple(items),
        more=max(0, len(open_steps) - _SHOWN) if items else 0,
        frozen=row.status is Status.PAUSED,
        since_at=_since(row),
        reason=reason or "",
        queue_place=queue_place,
        blocked=blocked if row.status is Status.RUNNING else None,
    )


def _since(row: InstanceRow) -> int | None:
    if row.ended_at is not None:
        return row.ended_at
    return row.paused_at if row.status is Status.PAUSED else row.modified_at


def _sentence(row: InstanceRow, items: Sequence[NowItem], *, defined: bool) -> str:
    if not defined and row.ended_at is None:
        return "Blocked: the Worker has no code for this Workflow now. It goes on when the class is back."
    plain = {
        Status.QUEUED: "Queued: it starts when a slot of the concurrency limit is free.",
        Status.PAUSED: "Paused. Every deadline keeps the time it had left; resume to go on.",
        Status.WAITING_FOR_PAUSE: "Pausing: it rests as soon as the attempt in flight has ended.",
        Status.ROLLING_BACK: "Rolling back: the handlers of its steps run, newest first.",
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


@dataclass(frozen=True, slots=True)
class _Sending:
    """Where events go, and what was sent before."""

    base: str
    workflow: str
    instance_id: str
    payloads: Mapping[str, str]

    def snippets(self, event_type: str) -> tuple[Snippet, ...]:
        payload = self.payloads.get(event_type, "{}")
        return event_snippets(self.base, self.workflow, self.instance_id, event_type, payload) if self.base else ()


def _item(step: StepView, sending: _Sending) -> NowItem:
    if step.kind is StepKind.SLEEP:
        return NowItem("sleeping", step, step.due_at, step.started_at)
    if step.kind is StepKind.WAIT_FOR_EVENT:
        last = sending.payloads.get(step.waits_for)
        last = None if last == UNDEFINED_TEXT else last
        return NowItem(
            "waiting",
            step,
            step.due_at,
            step.started_at,
            event_type=step.waits_for,
            payload=_laid_out(last) if last is not None else "{}",
            payload_is_last=last is not None,
            snippets=sending.snippets(step.waits_for),
        )
    last_try = step.tries.attempts[-1] if step.tries.attempts else None
    if step.state is StepState.RETRYING:
        return NowItem("retrying", step, step.due_at, step.started_at, _last_error(step), step.attempts + 1)
    since = last_try.started_at if last_try is not None else step.started_at
    return NowItem("running", step, None, since, _last_error(step), step.attempts)


def _last_error(step: StepView) -> str:
    failed: list[AttemptView] = [one for one in step.tries.attempts if one.error is not None]
    return failed[-1].error.text if failed and failed[-1].error is not None else ""


def _laid_out(text: str) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
