"""Rebuilds an instance from a history as `subscribe()` delivers it.

The history names neither the Workflow nor the parent of a nested step, and its values are JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from stepwell.bindings.errors import WorkflowTimeoutError
from stepwell.bindings.values import encode
from stepwell.emulator.histories.saved import NotARun, SavedRun
from stepwell.emulator.storage.records import (
    EventType,
    HistoryRow,
    InstanceRow,
    InstanceValues,
    Status,
    StepKind,
    StepRow,
    StepState,
    Trigger,
    WorkflowRow,
)

_T = EventType
_STATUS: Final = {
    _T.WORKFLOW_QUEUED: Status.QUEUED,
    _T.WORKFLOW_STARTED: Status.RUNNING,
    _T.WORKFLOW_RUNNING: Status.RUNNING,
    _T.WORKFLOW_WAITING: Status.WAITING,
    _T.WORKFLOW_PAUSED: Status.PAUSED,
    _T.WORKFLOW_WAITING_FOR_PAUSE: Status.WAITING_FOR_PAUSE,
    _T.WORKFLOW_COMPLETED: Status.COMPLETE,
    _T.WORKFLOW_ERRORED: Status.ERRORED,
    _T.WORKFLOW_TERMINATED: Status.TERMINATED,
    _T.ROLLBACK_STARTED: Status.ROLLING_BACK,
}
_BEGINS: Final = {
    _T.STEP_STARTED: StepKind.DO,
    _T.SLEEP_STARTED: StepKind.SLEEP,
    _T.WAIT_STARTED: StepKind.WAIT_FOR_EVENT,
}
_STATE: Final = {
    _T.ATTEMPT_STARTED: StepState.IN_FLIGHT,
    _T.ATTEMPT_ERRORED: StepState.RETRYING,
    _T.STEP_COMPLETED: StepState.COMPLETED,
    _T.SLEEP_COMPLETED: StepState.COMPLETED,
    _T.WAIT_COMPLETED: StepState.COMPLETED,
    _T.STEP_ERRORED: StepState.FAILED,
    _T.WAIT_TIMED_OUT: StepState.FAILED,
}
_ENDED: Final = (StepState.COMPLETED, StepState.FAILED)
_DETAILS: Final = ("error", "retryDelayMs")

Event = Mapping[str, Any]


def run_of_events(events: Sequence[Event]) -> SavedRun:
    """Raises `NotARun` for any other list, or one of `saved.WRONG` for a modified file."""
    if not events or not all(
        isinstance(one, dict) and {"type", "timestamp", "eventId"} <= set(one) for one in events
    ):
        raise NotARun("Not a history: each entry needs a type, a timestamp and an eventId.")
    steps = _Steps()
    history = tuple(steps.take(event) for event in events)
    last = int(events[-1]["timestamp"])
    return SavedRun(
        workflow=WorkflowRow(0, "", "(a history)", "", "", 0, 0, None, False),
        row=_instance(events, history, len(steps.rows)),
        values=_values(events),
        steps=tuple(steps.rows.values()),
        history=history,
        events=(),
        logs=(),
        saved_at=last,
    )


class _Steps:
    """The steps so far, in order of first arrival, by kind and public name."""

    def __init__(self) -> None:
        self.rows: dict[tuple[StepKind, str], StepRow] = {}

    def take(self, event: Event) -> HistoryRow:
        kind, at = EventType(event["type"]), int(event["timestamp"])
        detail = {name: event[name] for name in _DETAILS if name in event}
        return HistoryRow(
            event_id=int(event["eventId"]),
            type=kind,
            at=at,
            step=self._step(kind, at, event) if "stepName" in event else None,
            attempt=event.get("attempt"),
            detail=json.dumps(detail) if detail else None,
        )

    def _step(self, type: EventType, at: int, event: Event) -> int:
        kind = _BEGINS.get(type) or _kind(type)
        row = self.rows.get((kind, event["stepName"])) or _begun(kind, len(self.rows) + 1, at, event)
        self.rows[kind, event["stepName"]] = _changed(row, type, at, event)
        return row.seq


def _kind(type: EventType) -> StepKind:
    return StepKind.SLEEP if "sleep" in type else StepKind.WAIT_FOR_EVENT if "wait" in type else StepKind.DO


def _begun(kind: StepKind, seq: int, at: int, event: Event) -> StepRow:
    name, _, count = str(event["stepName"]).rpartition("-")
    config = {
        StepKind.DO: event.get("config", {}),
        StepKind.SLEEP: {"durationMs": event.get("durationMs", 0)},
        StepKind.WAIT_FOR_EVENT: {"type": event.get("eventType"), "timeoutMs": 0},
    }[kind]
    return StepRow(
        seq=seq,
        kind=kind,
        name=name,
        count=int(count),
        parent=None,
        state=StepState.IN_FLIGHT if kind is StepKind.DO else StepState.PENDING,
        attempts=0,
        started_at=at,
        ended_at=None,
        due_at=None,
        has_rollback=False,
        sensitive=False,
        config=json.dumps(config),
        error=None,
        output=None,
    )


def _changed(row: StepRow, type: EventType, at: int, event: Event) -> StepRow:
    if type not in _STATE:
        return replace(row, has_rollback=row.has_rollback or type.startswith("rollback"))
    state, error = _STATE[type], event.get("error")
    if type is _T.WAIT_TIMED_OUT:
        error = {"name": WorkflowTimeoutError.name, "message": "Execution timed out"}
    elif type is _T.STEP_ERRORED and row.error is not None:  # same as the error of its last attempt
        error = json.loads(row.error)
    return replace(
        row,
        state=state,
        attempts=int(event.get("attempt") or row.attempts),
        ended_at=at if state in _ENDED else None,
        due_at=at + int(event.get("retryDelayMs") or 0) if state is StepState.RETRYING else None,
        error=json.dumps(error) if error is not None else None,
        output=encode(event["output"]) if "output" in event else None,
    )


def _instance(events: Sequence[Event], history: Sequence[HistoryRow], steps: int) -> InstanceRow:
    told = [entry for entry in history if entry.type in _STATUS]
    status = _STATUS[told[-1].type] if told else Status.RUNNING
    started = next((entry.at for entry in history if entry.type is _T.WORKFLOW_STARTED), None)
    last = history[-1].at
    return InstanceRow(
        key=0,
        workflow=0,
        id=str(events[0].get("instanceId", "")),
        status=status,
        created_at=history[0].at,
        modified_at=last,
        started_at=started,
        ended_at=last if status in (Status.COMPLETE, Status.ERRORED, Status.TERMINATED) else None,
        paused_at=last if status is Status.PAUSED else None,
        wake_at=None,
        expires_at=None,
        version=0,
        trigger=Trigger.UNKNOWN,
        schedule=None,
        success_retention_ms=None,
        error_retention_ms=None,
        step_count=steps,
    )


def _values(events: Iterable[Event]) -> InstanceValues:
    """What the entries of the instance itself hold."""
    found: dict[str, Any] = {}
    for event in events:
        if "stepName" not in event:
            found.update({name: event[name] for name in ("params", "output", "error") if name in event})
    texts = {name: encode(found[name]) for name in ("params", "output") if name in found}
    error = json.dumps(found["error"]) if "error" in found else None
    return InstanceValues(texts.get("params"), texts.get("output"), error, None, None)
