"""Instances from files: those that were opened, of which the newest few are kept, and those that were imported."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepwell.emulator.dashboard.parts.answers import NotFound
from stepwell.emulator.dashboard.parts.selected_run import Found
from stepwell.emulator.dashboard.runs.saved_reader import SavedReader
from stepwell.emulator.histories.files import load_file
from stepwell.emulator.histories.imported import Imported
from stepwell.emulator.histories.saved import NotARun, SavedRun

_MOST: Final = 8
_MOST_BYTES: Final = 96 * 1024 * 1024
_KEY_LENGTH: Final = 16
#: Imported instances that a page lists.
_MOST_IMPORTED: Final = 200


@dataclass(frozen=True, slots=True)
class _Opened:
    run: SavedRun
    reader: SavedReader
    size: int


class OpenedRuns:
    """Opened files by a hash of their contents, so that a reopened file keeps its address.

    Imported instances are read when somebody looks at them; a file that cannot be read is left out.
    """

    def __init__(self, imported: Imported) -> None:
        self._imported = imported
        self._kept: OrderedDict[str, _Opened] = OrderedDict()
        self._read: dict[Path, tuple[int, SavedRun | None]] = {}

    def keep(self, run: SavedRun, file: bytes) -> str:
        """Add a file and return its key. The oldest files are dropped."""
        key = hashlib.sha256(file).hexdigest()[:_KEY_LENGTH]
        self._kept[key] = _Opened(run, SavedReader(run), len(file))
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST or sum(one.size for one in self._kept.values()) > _MOST_BYTES:
            self._kept.popitem(last=False)
        return key

    def all(self) -> list[tuple[str, SavedRun]]:
        """The open runs with their keys, the last opened first."""
        return [(key, opened.run) for key, opened in reversed(self._kept.items())]

    def imported(self, workflow: str | None = None) -> list[tuple[str, SavedRun]]:
        """The imported instances with their keys, by name."""
        files = self._imported.files(workflow)[:_MOST_IMPORTED]
        runs = ((_key_of(file), self._run_in(file)) for file in files)
        return [(key, run) for key, run in runs if run is not None]

    def imported_copy(self, workflow: str, instance_id: str) -> Found:
        """The imported instance of an id. Raises `NotFound`."""
        file = self._imported.file(workflow, instance_id)
        run = self._run_in(file) if file.is_file() else None
        if run is None:
            raise NotFound(f'There is no imported instance "{instance_id}" of "{workflow}".')
        return _found(run, SavedReader(run), _key_of(file))

    def _run_in(self, file: Path) -> SavedRun | None:
        """The instance in an imported file, read again when the file has changed; None when it cannot be read."""
        changed_at = file.stat().st_mtime_ns
        known = self._read.get(file)
        if known is None or known[0] != changed_at:
            known = self._read[file] = (changed_at, _loaded(file))
        return known[1]

    def found(self, key: str) -> Found:
        """Raises `NotFound`."""
        opened = self._kept.get(key)
        if opened is not None:
            return _found(opened.run, opened.reader, key)
        for file in self._imported.files():
            if _key_of(file) == key and (run := self._run_in(file)) is not None:
                return _found(run, SavedReader(run), key)
        raise NotFound("This run is no longer open. Open its file again under “Saved runs”.")


def _found(run: SavedRun, reader: SavedReader, key: str) -> Found:
    return Found(run.workflow, run.row, reader, key, run.saved_at)


def _key_of(file: Path) -> str:
    return hashlib.sha256(str(file).encode()).hexdigest()[:_KEY_LENGTH]


def _loaded(file: Path) -> SavedRun | None:
    try:
        return load_file(file)
    except NotARun:
        return None
