"""The condition of a list of instances, as SQL with parameters."""

from __future__ import annotations

from typing import Any

from emulator.storage.codes import STATUS_CODES
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
    return " AND ".join(parts) or "1", params
