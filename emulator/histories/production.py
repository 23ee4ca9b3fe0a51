"""An instance from Cloudflare's REST API: what `GET .../instances/ID` says of it, as a recorded instance.

The API leaves things out: results that JSON cannot carry, redacted ones, the parents of nested steps, stacks. What
is left out is marked as unknown. Every field of an answer is optional here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from stepwell.bindings.values import encode
from stepwell.bindings.values.times import datetime_ms
from stepwell.emulator.histories.saved import NotARun, SavedRun, UnknownResult
from stepwell.emulator.storage.records import (
    InstanceRow,
    InstanceValues,
    Status,
    StepKind,
    StepRow,
    StepState,
    Trigger,
    WorkflowRow,
)

#: What the API shows in place of the result of a sensitive step.
REDACTED: Final = "[REDACTED]"
REDACTED_REASON: Final = "Cloudflare redacted it, because the step is sensitive"
NOT_JSON_REASON: Final = "it is a stream or bytes, which JSON cannot carry"
CUT_REASON: Final = "the API cut it off"

_KINDS: Final = {"step": StepKind.DO, "sleep": StepKind.SLEEP, "waitForEvent": StepKind.WAIT_FOR_EVENT}
_DAY_MS: Final = 86_400_000

Detail = Mapping[str, Any]
#: The whole result of a step by type and public name; `UnknownOutput` where it could not be had.
Outputs = Mapping[tuple[str, str], Any]


class UnknownOutput:
    """Takes the place of a result that could not be had, for a reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def is_instance_detail(data: object) -> bool:
    """Whether parsed JSON is an instance as the REST API describes one."""
    return (
        isinstance(data, dict) and isinstance(data.get("steps"), list) and "status" in data and "format" not in data
    )


def run_of_detail(
    workflow: str, instance_id: str, detail: Detail, outputs: Outputs | None = None, origin: str = ""
) -> SavedRun:
    """The recorded instance. `outputs` take the place of those in `detail`.

    Raises `NotARun` for anything that is not an instance of the API.
    """
    created_at = _time(detail.get("queued")) or _time(detail.get("start")) or 0
    steps, unknown = _steps(detail.get("steps") or (), outputs or {}, created_at)
    status = _status(detail)
    return SavedRun(
        workflow=WorkflowRow(0, "", workflow, "", "", 0, 0, None, False),
        row=_row(instance_id, status, detail, created_at, len(steps)),
        values=_values(detail),
        steps=tuple(steps),
        history=(),
        events=(),
        logs=(),
        saved_at=max([created_at, *(step.ended_at or step.started_at for step in steps)]),
        origin=origin,
        unknown=tuple(unknown),
        knows_parents=False,
    )


def _status(detail: Detail) -> Status:
    try:
        return Status(str(detail.get("status")))
    except ValueError:
        raise NotARun(f"Unknown status {detail.get('status')!r} of an instance.") from None


def _time(text: object) -> int | None:
    if not isinstance(text, str):
        return None
    try:
        return datetime_ms(datetime.fromisoformat(text))
    except ValueError:
        raise NotARun(f"Not a time: {text!r}.") from None


def _row(instance_id: str, status: Status, detail: Detail, created_at: int, steps: int) -> InstanceRow:
    trigger = detail.get("trigger") or {}
    source = str(trigger.get("source", "")) if isinstance(trigger, Mapping) else ""
    ended_at = _time(detail.get("end"))
    return InstanceRow(
        key=0,
        workflow=0,
        id=instance_id,
        status=status,
        created_at=created_at,
        modified_at=ended_at or created_at,
        started_at=_time(detail.get("start")),
        ended_at=ended_at,
        paused_at=None,
        wake_at=None,
        expires_at=None,
        version=0,
        trigger=Trigger(source) if source in set(map(str, Trigger)) else Trigger.UNKNOWN,
        schedule=_schedule(detail.get("schedule")),
        success_retention_ms=None,
        error_retention_ms=None,
        step_count=steps,
    )


def _schedule(schedule: object) -> str | None:
    if not isinstance(schedule, Mapping) or "cron" not in schedule:
        return None
    at = schedule.get("scheduledTime")
    scheduled_at = int(at) if isinstance(at, int | float) else _time(at)
    return json.dumps({"cron": str(schedule["cron"]), "scheduledTime": scheduled_at or 0})


def _values(detail: Detail) -> InstanceValues:
    error, rollback = detail.get("error"), detail.get("rollback")
    output = detail.get("output")
    return InstanceValues(
        params=encode(detail["params"]) if detail.get("params") is not None else None,
        output=encode(output) if output is not None and error is None else None,
        error=_error(error),
        rollback=json.dumps(rollback) if isinstance(rollback, Mapping) else None,
        reason=None,
    )


def _error(error: object) -> str | None:
    if not isinstance(error, Mapping):
        return None
    return json.dumps({"name": str(error.get("name") or "Error"), "message": str(error.get("message") or "")})


def _steps(entries: Sequence[Any], outputs: Outputs, created_at: int) -> tuple[list[StepRow], list[UnknownResult]]:
    steps: list[StepRow] = []
    unknown: list[UnknownResult] = []
    for entry in entries:
        if not isinstance(entry, Mapping) or entry.get("type") not in _KINDS:
            continue  # rollbacks and terminations are no steps of run()
        output = outputs.get((str(entry["type"]), str(entry.get("name"))), entry.get("output"))
        if output == REDACTED:
            output = UnknownOutput(REDACTED_REASON)
        row = _step(entry, len(steps) + 1, output, created_at)
        steps.append(row)
        if isinstance(output, UnknownOutput) and row.state is StepState.COMPLETED:
            unknown.append(UnknownResult(row.seq, output.reason))
    return steps, unknown


def _step(entry: Detail, seq: int, output: object, created_at: int) -> StepRow:
    kind = _KINDS[str(entry["type"])]
    name, dash, count = str(entry.get("name")).rpartition("-")
    if not dash or not count.isdecimal():
        raise NotARun(f'The step {entry.get("name")!r} has no count; expected a name such as "charge-1".')
    started_at = _time(entry.get("start")) or created_at
    state, error = _state(kind, entry)
    ended = state in (StepState.COMPLETED, StepState.FAILED)
    attempts = entry.get("attempts")
    return StepRow(
        seq=seq,
        kind=kind,
        name=name,
        count=int(count),
        parent=None,
        state=state,
        attempts=len(attempts) if isinstance(attempts, list) else 0,
        started_at=started_at,
        ended_at=(_time(entry.get("end")) or started_at) if ended else None,
        due_at=None if ended else _time(entry.get("end")),
        has_rollback=False,
        sensitive=False,
        config=json.dumps(_config(kind, entry, started_at)),
        error=error,
        output=_output(kind, entry, output) if state is StepState.COMPLETED else None,
    )


def _state(kind: StepKind, entry: Detail) -> tuple[StepState, str | None]:
    error = _error(entry.get("error"))
    if kind is not StepKind.DO:
        finished = entry.get("finished") is True
        if error is not None and finished:
            return StepState.FAILED, error
        return (StepState.COMPLETED if finished else StepState.PENDING), None
    if entry.get("success") is True:
        return StepState.COMPLETED, None
    errors = [
        _error(attempt.get("error")) for attempt in entry.get("attempts") or () if isinstance(attempt, Mapping)
    ]
    last = next((text for text in reversed(errors) if text is not None), error)
    if entry.get("success") is False and entry.get("end") is not None:
        return StepState.FAILED, last or json.dumps({"name": "Error", "message": ""})
    return (StepState.RETRYING, None) if last is not None else (StepState.IN_FLIGHT, None)


def _config(kind: StepKind, entry: Detail, started_at: int) -> dict[str, object]:
    if kind is StepKind.DO:
        config = entry.get("config")
        return dict(config) if isinstance(config, Mapping) else {}
    length_ms = max((_time(entry.get("end")) or started_at) - started_at, 0)
    if kind is StepKind.SLEEP:
        return {"durationMs": length_ms}
    return {"type": entry.get("event_type"), "timeoutMs": length_ms or _DAY_MS}


def _output(kind: StepKind, entry: Detail, output: object) -> str | None:
    if isinstance(output, UnknownOutput) or kind is StepKind.SLEEP:
        return None
    if kind is StepKind.DO:
        return encode(output)
    # The API gives the payload alone. When the event was sent is not told: it arrived by the end of the wait.
    event = {"payload": output, "type": entry.get("event_type")}
    at = _time(entry.get("end")) or _time(entry.get("start")) or 0
    return encode(event)[:-1] + f',"timestamp":{{"$":"date","v":{at}}}}}'
