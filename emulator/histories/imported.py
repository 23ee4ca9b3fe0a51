"""Imported instances: a folder with one file for each, in the state folder of a project.

They are frozen: no engine ever sees them. A file is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from stepwell.emulator.histories.saved import SavedRun, save
from stepwell.emulator.private_files import make_private_folder, write_private

FOLDER: Final = "imported"
#: Ends the name of a file with answers, which lies beside its history.
_ANSWERS: Final = ".answers.json"
_LONGEST_NAME: Final = 150


class AnswersError(Exception):
    """A file with answers can't be used; the message says why."""


class Imported:
    """A folder of imported instances, with a folder for each Workflow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, state: Path) -> Imported:
        """Those of a project, by its state folder."""
        return cls(state / FOLDER)

    def add(self, run: SavedRun) -> Path:
        """Stores an instance, in place of an earlier import of the same one. Raises `OSError`."""
        file = self.file(run.workflow.name, run.row.id)
        make_private_folder(file.parent)
        new = file.with_name(f".{file.name}.{os.getpid()}.new")
        write_private(new, save(run))
        new.replace(file)
        return file

    def file(self, workflow: str, instance_id: str) -> Path:
        """Where an instance is stored, if it was imported."""
        return self.folder / _file_name(workflow) / f"{_file_name(instance_id)}.json"

    def files(self, workflow: str | None = None) -> list[Path]:
        """The files of a Workflow, or of all, by name."""
        folder = self.folder if workflow is None else self.folder / _file_name(workflow)
        return sorted(history_files(folder))


def _file_name(name: str) -> str:
    """A name as that of a file: no part of a path, not hidden, and short enough for every file system."""
    text = quote(name, safe=" ,")
    text = f"%2E{text[1:]}" if text.startswith(".") else text
    if len(text) <= _LONGEST_NAME:
        return text
    return f"{text[: _LONGEST_NAME - 17]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def history_files(folder: Path) -> Iterator[Path]:
    """The histories in a folder and below it; files with answers are none."""
    for file in folder.rglob("*.json") if folder.is_dir() else ():
        if file.is_file() and not file.name.startswith(".") and not file.name.endswith(_ANSWERS):
            yield file


def answers_file(history: Path) -> Path:
    """Where the results are that a person gave for unknown ones: a JSON object by name of the step."""
    return history.with_name(history.name.removesuffix(".json") + _ANSWERS)


def read_answers(history: Path) -> dict[str, object]:
    """The answers beside a history; none when there is no such file. Raises `AnswersError`."""
    file = answers_file(history)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise AnswersError(f"Can't read the answers in {file}: {error}.") from None
    if not isinstance(data, dict):
        raise AnswersError(f'{file} must hold a JSON object such as {{"charge-1": {{"paid": true}}}}.')
    return data
