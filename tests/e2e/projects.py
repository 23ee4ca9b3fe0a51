"""Small Worker projects that a test writes itself."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any, Final

#: A Worker that answers, for projects that are about something else.
ANSWERS: Final = """
class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("hello")
"""
IMPORTS: Final = "from workers import Response, WorkerEntrypoint, WorkflowEntrypoint\n"


def config(**changes: Any) -> dict[str, Any]:
    """The configuration of a Worker with the Workflow `flow` of class `Flow`; None takes a key out."""
    usual = {
        "name": "worker",
        "main": "src/entry.py",
        "compatibility_date": "2026-07-01",
        "compatibility_flags": ["python_workers", "python_workflows"],
        "workflows": [workflow()],
    }
    return {key: value for key, value in {**usual, **changes}.items() if value is not None}


def workflow(name: str = "flow", class_name: str = "Flow", binding: str = "FLOW", **more: Any) -> dict[str, Any]:
    return {"name": name, "binding": binding, "class_name": class_name, **more}


def write_project(folder: Path, source: str, **changes: Any) -> Path:
    """A project in `folder` whose entry is `source` after the usual imports; gives the folder."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "wrangler.jsonc").write_text(json.dumps(config(**changes)), encoding="utf-8")
    write_entry(folder, source)
    return folder


def write_entry(folder: Path, source: str) -> None:
    """Replaces the entry at once, as an editor that saves does."""
    new = folder / "src" / "entry.new"
    new.write_text(IMPORTS + textwrap.dedent(source), encoding="utf-8")
    new.replace(folder / "src" / "entry.py")


def write_config(folder: Path, settings: dict[str, Any]) -> None:
    """Replaces the configuration at once."""
    new = folder / "wrangler.new"
    new.write_text(json.dumps(settings), encoding="utf-8")
    new.replace(folder / "wrangler.jsonc")
