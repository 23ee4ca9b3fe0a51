"""What is read for the page of an instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from stepwell.emulator.dashboard.parts.errors import ReadSource, no_source
from stepwell.emulator.dashboard.parts.frame import Blocked
from stepwell.emulator.dashboard.parts.urls import RunAddress, Urls
from stepwell.emulator.real_time import RealTime
from stepwell.emulator.storage.records import (
    HistoryRow,
    InstanceRow,
    InstanceValues,
    LogRow,
    PassRow,
    StepRow,
    VersionRow,
    WorkflowRow,
)
from stepwell.emulator.storage.view_records import EventBrief, Sizes, StepStretch

TABS: Final = (
    ("steps", "Timeline and steps"),
    ("history", "History"),
    ("events", "Events"),
    ("logs", "Logs"),
    ("graph", "Graph"),
    ("advice", "Advice"),
)


@dataclass(frozen=True, slots=True)
class InstanceInputs:
    """Everything read for the page. Of `row.step_count` steps those in `steps` are shown and the `folded` told of.

    `unfold` is the first of a stretch of steps that was asked for. With `find` they are those so named.

    `versions` are the ids of those that ran `passes`, by key. `opened` is the key of the file that it comes from.
    """

    workflow: WorkflowRow
    row: InstanceRow
    values: InstanceValues
    steps: Sequence[StepRow]
    output_sizes: Mapping[int, int]
    history: Sequence[HistoryRow]
    now: int
    allowed: Mapping[str, str | None]
    version: VersionRow | None = None
    passes: Sequence[PassRow] = ()
    versions: Mapping[int, str] = field(default_factory=dict)
    events: Sequence[EventBrief] = ()
    event_count: int = 0
    logs: Sequence[LogRow] = ()
    sizes: Sizes = field(default_factory=lambda: Sizes(None, None, None))
    payloads: Mapping[str, str] = field(default_factory=dict)
    queue_place: int | None = None
    blocked: Blocked | None = None
    folded: Sequence[StepStretch] = ()
    unfold: int | None = None
    find: str = ""
    window: tuple[int, int] | None = None
    tab: str = "steps"
    family: str = ""
    selected: int | None = None
    read: ReadSource = no_source
    real_time: RealTime = field(default_factory=RealTime)
    show_real: bool = False
    before_restart: bool = False
    like: str = ""
    opened: str = ""
    base_url: str = ""

    @property
    def read_only(self) -> bool:
        """Of a file nothing can be changed."""
        return bool(self.opened)

    @property
    def address(self) -> RunAddress:
        return Urls().opened(self.opened) if self.opened else Urls().run(self.workflow.name, self.row.id)
