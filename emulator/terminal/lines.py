"""The terminal line for each entry of an instance's history: pure functions of records."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from stepwell.bindings.durations import describe_ms
from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.tracebacks import error_report
from stepwell.emulator.local_time import moment
from stepwell.emulator.storage.records import EventType, HistoryRow, StepRow
from stepwell.emulator.terminal import safe

_T = EventType

#: Text and colour for entries about the instance itself. Other entries are not printed: another line covers them.
_OF_INSTANCE: Final[dict[EventType, tuple[str, str]]] = {
    _T.WORKFLOW_STARTED: ("started", "cyan"),
    _T.WORKFLOW_PAUSED: ("paused", "yellow"),
    _T.WORKFLOW_WAITING_FOR_PAUSE: ("pausing after the current step", "yellow"),
    _T.WORKFLOW_COMPLETED: ("complete", "green"),
    _T.WORKFLOW_ERRORED: ("errored", "red"),
    _T.WORKFLOW_TERMINATED: ("terminated", "yellow"),
    _T.ROLLBACK_STARTED: ("rolling back", "magenta"),
    _T.ROLLBACK_COMPLETED: ("rolled back", "magenta"),
    _T.ROLLBACK_ERRORED: ("rollback failed", "red"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the terminal: `what` in `colour`. `stack` is the traceback of user code."""

    at: int
    workflow: str
    instance: str
    step: str | None
    what: str
    colour: str = ""
    stack: str | None = None


def line_of(
    row: HistoryRow, workflow: str, instance: str, step: StepRow | None, error: ErrorInfo | None
) -> Line | None:
    """The terminal line for a history entry, or None to skip it. `error` is the error of the instance."""
    if row.step is None:
        return _of_instance(row, workflow, instance, error)
    name = step.public_name if step is not None else None
    parts = _of_step(row, step)
    if parts is None:
        return None
    what, colour, stack = parts
    return Line(row.at, workflow, instance, name, what, colour, stack)


def _of_instance(row: HistoryRow, workflow: str, instance: str, error: ErrorInfo | None) -> Line | None:
    if row.type not in _OF_INSTANCE:
        return None
    what, colour = _OF_INSTANCE[row.type]
    if row.type is _T.WORKFLOW_ERRORED and error is not None:
        return Line(row.at, workflow, instance, None, f"errored: {_error(error)}", colour, error_report(error))
    return Line(row.at, workflow, instance, None, what, colour)


def _of_step(row: HistoryRow, step: StepRow | None) -> tuple[str, str, str | None] | None:
    detail = json.loads(row.detail) if row.detail else {}
    match row.type:
        case _T.STEP_COMPLETED:
            took = row.at - step.started_at if step is not None else 0
            return f"done in {describe_ms(took)}", "", None
        case _T.ATTEMPT_ERRORED | _T.ROLLBACK_ATTEMPT_ERRORED:
            return _attempt(row, detail)
        case _T.SLEEP_STARTED:
            until = step.due_at if step is not None else None
            return f"sleeping{f' until {moment(until)}' if until else ''}", "dim", None
        case _T.SLEEP_COMPLETED:
            return "woke up", "dim", None
        case _T.WAIT_STARTED:
            kind = json.loads(step.config)["type"] if step is not None else "?"
            return f'waiting for event "{safe.name(kind)}"', "dim", None
        case _T.WAIT_COMPLETED:
            return "event received", "", None
        case _T.WAIT_TIMED_OUT:
            return "timed out waiting for the event", "yellow", None
        case _T.ROLLBACK_STEP_COMPLETED:
            return "rolled back", "magenta", None
    return None


def _attempt(row: HistoryRow, detail: dict[str, object]) -> tuple[str, str, str | None]:
    stored = detail.get("error")
    error = ErrorInfo.from_json(stored if isinstance(stored, dict) else {})
    delay = detail.get("retryDelayMs")
    after = f", retrying in {describe_ms(delay)}" if isinstance(delay, int) else ""
    what = f"attempt {row.attempt} failed: {_error(error)}{after}"
    return what, "yellow" if after else "red", error_report(error)


def _error(error: ErrorInfo) -> str:
    return safe.name(error.name) + (f": {safe.error_text(error.message)}" if error.message else "")
