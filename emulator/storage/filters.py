"""The condition of a list of instances, as SQL with parameters."""

from __future__ import annotations

import json
from typing import Any, Final, Protocol

from stepwell.emulator.storage.codes import CODE_OF_TYPES, STATE_CODES, STATUS_CODES, TRIGGER_CODES
from stepwell.emulator.storage.records import EventType, PageFilter, StepState, Trigger

_RETRYING: Final = STATE_CODES[StepState.RETRYING]
_IN_FLIGHT: Final = STATE_CODES[StepState.IN_FLIGHT]
_ATTEMPT_ERRORED: Final = CODE_OF_TYPES[(EventType.ATTEMPT_ERRORED,)]
#: Characters of an error that are searched.
_SEARCHED: Final = 65_536

#: The error of an instance or of one of its steps. Of a step that is tried again only the history has it: there it
#: is that of the last attempt that ended.
_ERROR: Final = f"""(
    instr(lower(substr(instance.error, 1, {_SEARCHED})), lower(?)) > 0
    OR EXISTS (SELECT 1 FROM step WHERE step.instance = instance.key AND (
        instr(lower(substr(step.error, 1, {_SEARCHED})), lower(?)) > 0
        OR (step.state = {_RETRYING} OR step.state = {_IN_FLIGHT} AND step.attempts > 1) AND EXISTS (
            SELECT 1 FROM history WHERE history.instance = step.instance AND history.step = step.seq
            AND history.types = {_ATTEMPT_ERRORED} AND history.attempt = step.attempts - (step.state = {_IN_FLIGHT})
            AND instr(lower(substr(history.detail, 1, {_SEARCHED})), lower(?)) > 0))))"""


def where(wanted: PageFilter) -> tuple[str, list[Any]]:
    """A condition over `instance` and its parameters; "1" when nothing is asked for."""
    parts: list[str] = []
    params: list[Any] = []

    def narrow(condition: str, *values: Any) -> None:
        parts.append(condition)
        params.extend(values)

    if wanted.workflow is not None:
        narrow("workflow = ?", wanted.workflow)
    if wanted.statuses:
        marks = ", ".join("?" * len(wanted.statuses))
        narrow(f"status IN ({marks})", *(STATUS_CODES[status] for status in wanted.statuses))
    if wanted.created_from is not None:
        narrow("created_at >= ?", wanted.created_from)
    if wanted.created_to is not None:
        narrow("created_at <= ?", wanted.created_to)
    for text in wanted.id_texts:
        narrow("instr(id, ?) > 0", text)
    for text in wanted.value_texts:
        narrow("(instr(params, ?) > 0 OR instr(output, ?) > 0 OR instr(error, ?) > 0)", text, text, text)
    if wanted.triggers:
        codes = {TRIGGER_CODES[trigger] for trigger in Trigger if {trigger, trigger.public} & {*wanted.triggers}}
        narrow(f"trigger IN ({', '.join('?' * len(codes))})", *sorted(codes))
    for creator in wanted.created_by:
        workflow, slash, instance_id = creator.partition("/")
        narrow("created_by ->> 0 = ?", workflow)
        if slash:
            narrow("created_by ->> 1 = ?", instance_id)
    for text in wanted.error_texts:
        narrow(_ERROR, text, text, text)
    for path, text in wanted.params:
        # SQLite reads 1,000 levels of JSON; values of JavaScript Workers may have more.
        narrow("CAST(CASE WHEN json_valid(params) THEN params ->> ? END AS TEXT) = ?", json_path(path), text)
    _narrow_by_time(wanted, narrow)
    _narrow_by_steps(wanted, narrow)
    return " AND ".join(parts) or "1", params


class _Narrow(Protocol):
    def __call__(self, condition: str, *values: Any) -> None: ...


def _narrow_by_time(wanted: PageFilter, narrow: _Narrow) -> None:
    ran = "coalesce(ended_at, ?) - started_at"
    if wanted.ran_from_ms is not None:
        narrow(f"{ran} >= ?", wanted.now, wanted.ran_from_ms)
    if wanted.ran_to_ms is not None:
        narrow(f"{ran} <= ?", wanted.now, wanted.ran_to_ms)


def _narrow_by_steps(wanted: PageFilter, narrow: _Narrow) -> None:
    step = "EXISTS (SELECT 1 FROM step WHERE step.instance = instance.key AND"
    for text in wanted.step_texts:
        narrow(f"{step} instr(step.name, ?) > 0)", text)
    if wanted.attempts_from is not None:
        narrow(f"{step} step.attempts >= ?)", wanted.attempts_from)
    for kind in wanted.waiting_for:
        narrow(
            f"{step} step.kind = 2 AND step.state = 2 AND "
            "(SELECT text ->> 'type' FROM step_config WHERE step_config.key = step.config) = ?)",
            kind,
        )


def json_path(path: str) -> str:
    """SQLite's path of "user.items.0": numbers are places in a list, everything else is a name."""
    return "$" + "".join(_part(part) for part in path.split(".") if part)


def _part(text: str) -> str:
    # No list is as long as ten digits say. A name is quoted as JSON quotes it.
    is_place = text.isascii() and text.isdecimal() and len(text) < 10
    return f"[{text}]" if is_place else "." + json.dumps(text, ensure_ascii=False)
