"""The open steps of an instance: running, sleeping, waiting, retrying or rolling back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stepwell.bindings.values import UNDEFINED_TEXT
from stepwell.emulator.dashboard.instance.attempts import AttemptView
from stepwell.emulator.dashboard.instance.steps import StepView
from stepwell.emulator.dashboard.parts.clipboard import Snippet, event_snippets
from stepwell.emulator.storage.records import StepKind, StepState

ItemKind: TypeAlias = Literal["running", "sleeping", "waiting", "retrying", "undoing", "undoing again"]


@dataclass(frozen=True, slots=True)
class NowItem:
    """An open step. `due_at` is when its sleep, wait, delay or attempt ends; `payload` is the editor's text for an
    awaited event.
    """

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
class Sending:
    """The target of events (server URL, Workflow, instance), and the last encoded payload of each type."""

    base: str
    workflow: str
    instance_id: str
    payloads: Mapping[str, str]

    def snippets(self, event_type: str) -> tuple[Snippet, ...]:
        payload = self.payloads.get(event_type, "{}")
        return event_snippets(self.base, self.workflow, self.instance_id, event_type, payload) if self.base else ()


def open_item(step: StepView, sending: Sending) -> NowItem:
    """The item of a step that has not ended."""
    if step.kind is StepKind.SLEEP:
        return NowItem("sleeping", step, step.due_at, step.started_at)
    if step.kind is StepKind.WAIT_FOR_EVENT:
        return _waiting(step, sending)
    last_error = _last_error(step.tries.attempts)
    if step.state is StepState.RETRYING:
        return NowItem("retrying", step, step.due_at, step.started_at, last_error, step.attempts + 1)
    since = step.tries.attempts[-1].started_at if step.tries.attempts else step.started_at
    due_at = since + step.timeout_ms if step.timeout_ms is not None else None
    return NowItem("running", step, due_at, since, last_error, step.attempts)


def undoing_items(steps: Iterable[StepView]) -> list[NowItem]:
    """The items of steps whose rollback is in progress."""
    return [_undoing(step) for step in steps if step.tries.is_undoing]


def _undoing(step: StepView) -> NowItem:
    last = step.tries.rollback[-1]
    last_error = _last_error(step.tries.rollback)
    if last.ended_at is None or last.delay_ms is None:
        return NowItem("undoing", step, None, last.started_at, last_error, last.number)
    return NowItem(
        "undoing again", step, last.ended_at + last.delay_ms, last.started_at, last_error, last.number + 1
    )


def _waiting(step: StepView, sending: Sending) -> NowItem:
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


def _last_error(attempts: Iterable[AttemptView]) -> str:
    failed = [one.error.text for one in attempts if one.error is not None]
    return failed[-1] if failed else ""


def _laid_out(text: str) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
