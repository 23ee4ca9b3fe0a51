"""Instances opened from files. The newest few are kept in memory."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.parts.answers import NotFound
from stepwell.emulator.dashboard.parts.selected_run import Found
from stepwell.emulator.dashboard.runs.saved_reader import SavedReader
from stepwell.emulator.histories.saved import SavedRun

_MOST: Final = 8
_MOST_BYTES: Final = 96 * 1024 * 1024
_KEY_LENGTH: Final = 16


@dataclass(frozen=True, slots=True)
class _Opened:
    run: SavedRun
    reader: SavedReader
    size: int


class OpenedRuns:
    """Opened files by a hash of their contents, so that a reopened file keeps its address."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Opened] = OrderedDict()

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

    def found(self, key: str) -> Found:
        """Raises `NotFound`."""
        one = self._kept.get(key)
        if one is None:
            raise NotFound("This run is no longer open. Open its file again under “Saved runs”.")
        return Found(one.run.workflow, one.run.row, one.reader, key, one.run.saved_at)
