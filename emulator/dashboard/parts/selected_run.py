"""The run that a page is about, and where its records are read: the store, or a file that was opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from stepwell.emulator.dashboard.parts.urls import RunAddress, Urls
from stepwell.emulator.dashboard.runs.saved_reader import SavedReader
from stepwell.emulator.storage.reader import SqliteReader
from stepwell.emulator.storage.records import InstanceRow, WorkflowRow

RunReader: TypeAlias = SqliteReader | SavedReader


@dataclass(frozen=True, slots=True)
class Found:
    """An instance, or a saved run; `opened` is the key of its file and `saved_at` when it was saved."""

    workflow: WorkflowRow
    row: InstanceRow
    reader: RunReader
    opened: str = ""
    saved_at: int = 0

    @property
    def address(self) -> RunAddress:
        return Urls().opened(self.opened) if self.opened else Urls().run(self.workflow.name, self.row.id)
