"""Instances that `stepwell import` has stored, as rows of a list."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from stepwell.bindings.values.times import iso
from stepwell.emulator.histories.files import load_file
from stepwell.emulator.histories.imported import Imported
from stepwell.emulator.histories.saved import NotARun
from stepwell.emulator.web.parts import ServerParts


def imported_rows(parts: ServerParts, workflow: str) -> list[dict[str, str | None]]:
    """The imported instances of a Workflow, by file name. A file that can't be read has a `problem`."""
    return [_row(file) for file in Imported.of(parts.settings.persist_to).files(workflow)]


def _row(file: Path) -> dict[str, str | None]:
    try:
        run = load_file(file)
    except NotARun as error:
        return {"id": unquote(file.stem), "file": str(file), "problem": str(error)}
    row = run.row
    return {
        "id": row.id,
        "file": str(file),
        "status": str(row.status),
        "created_on": iso(row.created_at),
        "started_on": None if row.started_at is None else iso(row.started_at),
        "ended_on": None if row.ended_at is None else iso(row.ended_at),
        "origin": run.origin,
    }
