"""What every part of the page of a run needs: the run, what its address asks for, and where it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from stepwell.emulator.dashboard.instance.outline import Choice, Only, Outline, Place
from stepwell.emulator.dashboard.parts.errors import ReadSource, no_source
from stepwell.emulator.dashboard.parts.selected_run import RunReader
from stepwell.emulator.dashboard.parts.urls import RunAddress, Urls
from stepwell.emulator.real_time import RealTime
from stepwell.emulator.storage.records import InstanceRow, WorkflowRow

TABS: Final = (
    ("steps", "Timeline"),
    ("data", "Data"),
    ("events", "Events"),
    ("logs", "Logs"),
    ("history", "History"),
    ("graph", "Graph"),
    ("advice", "Checks"),
)


@dataclass(frozen=True, slots=True)
class PageQuery:
    """What the address of the page asks for; `texts` are its parts as they stand there."""

    tab: str = "steps"
    selected: int | None = None
    unfold: tuple[int, ...] = ()
    only: Only = ""
    find: str = ""
    window: tuple[int, int] | None = None
    show_real: bool = False
    family: str = ""
    cause: int | None = None
    after: int = 0
    before: int | None = None
    like: str = ""
    names: str = ""
    zoom: str = ""
    within: tuple[int, int] | None = None


@dataclass(frozen=True)
class RunContext:
    """`opened` is the key of the file that the run comes from; `versions` are ids of code by key."""

    workflow: WorkflowRow
    row: InstanceRow
    reader: RunReader
    now: int
    query: PageQuery = field(default_factory=PageQuery)
    read: ReadSource = no_source
    real_time: RealTime = field(default_factory=RealTime)
    opened: str = ""
    base_url: str = ""
    versions: Mapping[int, str] = field(default_factory=dict)

    @property
    def key(self) -> int:
        return self.row.key

    @property
    def read_only(self) -> bool:
        """Nothing can be done to a run from a file."""
        return bool(self.opened)

    @property
    def address(self) -> RunAddress:
        return Urls().opened(self.opened) if self.opened else Urls().run(self.workflow.name, self.row.id)

    @cached_property
    def outline(self) -> Outline:
        return Outline(self.reader.step_outline(self.key))

    @property
    def choice(self) -> Choice:
        query, window = self.query, self.query.window
        if window is not None and query.show_real:
            window = self.real_time.engine(window[0]), self.real_time.engine(window[1])
        return Choice(frozenset(query.unfold), query.selected, query.only, query.find, window)

    @cached_property
    def places(self) -> list[Place]:
        """The rows of the timeline, in order."""
        return self.outline.places(self.choice)

    def label(self, seq: int) -> str:
        step = self.outline.by_seq.get(seq)
        return self.outline.label(step) if step is not None else f"step {seq}"
