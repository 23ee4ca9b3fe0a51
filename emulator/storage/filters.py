"""The condition of a list of instances, as SQL with parameters."""

from __future__ import annotations

from typing import Any, Protocol

from emulator.storage.codes import STATUS_CODES, TRIGGER_CODES
from emulator.storage.records import PageFilter


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
    if wanted.id_text:
        narrow("instr(id, ?) > 0", wanted.id_text)
    if wanted.value_text:
        text = wanted.value_text
        narrow("(instr(params, ?) > 0 OR instr(output, ?) > 0 OR instr(error, ?) > 0)", text, text, text)
    if wanted.trigger is not None:
        narrow("trigger = ?", TRIGGER_CODES[wanted.trigger])
    if wanted.error_text:
        narrow("instr(lower(error), lower(?)) > 0", wanted.error_text)
    if wanted.param is not None:
        path, text = wanted.param
        narrow("CAST(params ->> ? AS TEXT) = ?", json_path(path), text)
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
    if wanted.step_text:
        narrow(f"{step} instr(step.name, ?) > 0)", wanted.step_text)
    if wanted.attempts_from is not None:
        narrow(f"{step} step.attempts >= ?)", wanted.attempts_from)
    if wanted.waiting_for:
        narrow(
            f"{step} step.kind = 2 AND step.state = 2 AND "
            "(SELECT text ->> 'type' FROM step_config WHERE step_config.key = step.config) = ?)",
            wanted.waiting_for,
        )


def json_path(path: str) -> str:
    """SQLite's path of "user.items.0": numbers are places in a list, everything else is a name."""
    parts = (f"[{part}]" if part.isdigit() else f'."{part}"' for part in path.replace('"', "").split(".") if part)
    return "$" + "".join(parts)
