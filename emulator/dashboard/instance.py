"""One instance: header, Now box, error, values, timeline and the tabs below."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bindings.errors import ErrorInfo
from emulator.dashboard.actions import Button, buttons
from emulator.dashboard.advice import Advice, ReplayView
from emulator.dashboard.attempts import tries_by_step
from emulator.dashboard.clipboard import Snippet
from emulator.dashboard.entries import EntryView, EventView, LogView, entry_views, event_views, log_views
from emulator.dashboard.errors import ErrorView, ReadSource, error_view, no_source
from emulator.dashboard.excerpt import UNFOLDED
from emulator.dashboard.frame import Blocked
from emulator.dashboard.graph import GraphView
from emulator.dashboard.now import NowView, now_view
from emulator.dashboard.panel import StepPanel
from emulator.dashboard.passes import PassView, pass_views
from emulator.dashboard.realtime import RealTime
from emulator.dashboard.statuses import STATUS_LOOKS, Look
from emulator.dashboard.steps import StepView, step_views
from emulator.dashboard.text import duration
from emulator.dashboard.timeline import Timeline, build_timeline
from emulator.dashboard.urls import RunAddress, Urls
from emulator.dashboard.values import ValueView, value_view
from emulator.storage.records import (
    BufferedEvent,
    EventType,
    HistoryRow,
    InstanceRow,
    InstanceValues,
    LogRow,
    PassRow,
    Status,
    StepRow,
    VersionRow,
    WorkflowRow,
)
from emulator.storage.view_records import StepStretch

#: A shorter time in the queue is none.
_WORTH_TELLING_MS: Final = 50

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
    events: Sequence[BufferedEvent] = ()
    logs: Sequence[LogRow] = ()
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


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    word: str
    url: str
    selected: bool
    count: int | None


@dataclass(frozen=True, slots=True)
class FoldView:
    """Steps that are folded; the addresses unfold the first of them, or the last (empty where that is the same)."""

    steps: StepStretch
    first_url: str
    last_url: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the header; `at` is a time, `since` and `until` a duration that may still tick."""

    name: str
    text: str = ""
    at: int | None = None
    span: tuple[int, int | None] | None = None


@dataclass(frozen=True, slots=True)
class RollbackView:
    outcome: str
    error: ErrorView | None


@dataclass(frozen=True, slots=True)
class InstanceView:
    key: int
    id: str
    workflow: str
    address: RunAddress
    status: Status
    look: Look
    now: NowView
    facts: tuple[Fact, ...]
    buttons: tuple[Button, ...]
    error: ErrorView | None
    rollback: RollbackView | None
    params: ValueView
    output: ValueView
    steps: tuple[StepView, ...]
    step_count: int
    folds: tuple[FoldView, ...]
    find: str
    unfound_url: str
    timeline: Timeline
    passes: tuple[PassView, ...]
    whole_url: str
    other_time_url: str
    tabs: tuple[Tab, ...]
    tab: str
    entries: tuple[EntryView, ...]
    events: tuple[EventView, ...]
    logs: tuple[LogView, ...]
    advice: tuple[Advice, ...]
    family: str
    before_restart: bool
    like: str
    read_only: bool
    snippets: tuple[Snippet, ...] = ()
    panel: StepPanel | None = None
    graph: GraphView | None = None
    replay: ReplayView | None = None


def build_instance(given: InstanceInputs, advice: tuple[Advice, ...] = ()) -> InstanceView:
    """The page but for what is read for one of its views alone: the panel, the graph, a replay check, snippets."""
    row = given.row
    links = InstanceLinks(given)
    step_urls = {step.seq: links.step(step.seq) for step in given.steps}
    names = {step.seq: step.public_name for step in given.steps}
    tries = tries_by_step(given.history)
    steps = step_views(given.steps, tries, given.output_sizes, step_urls, over_at=row.ended_at)
    error = _error(given)
    return InstanceView(
        key=row.key,
        id=row.id,
        workflow=given.workflow.name,
        address=given.address,
        status=row.status,
        look=STATUS_LOOKS[row.status],
        now=_now(given, steps, error),
        facts=tuple(_facts(given)),
        buttons=_buttons(given),
        error=error,
        rollback=_rollback(given),
        params=value_view("params", given.values.params, given.address.value("params")),
        output=value_view("output", given.values.output, given.address.value("output")),
        steps=steps,
        step_count=row.step_count,
        folds=tuple(map(links.fold, given.folded)),
        find=given.find,
        unfound_url=links.unfound(),
        timeline=_timeline(given, steps),
        passes=pass_views(given.passes, given.versions),
        other_time_url=links.other_time(),
        whole_url=links.here(),
        tabs=links.tabs(len(advice)),
        tab=given.tab,
        entries=entry_views(given.history, names, step_urls, given.family) if given.tab == "history" else (),
        events=event_views(given.events, names, step_urls, given.address),
        logs=log_views(given.logs, names, step_urls),
        advice=advice,
        family=given.family,
        before_restart=given.before_restart,
        like=given.like,
        read_only=given.read_only,
    )


def _now(given: InstanceInputs, steps: Sequence[StepView], error: ErrorView | None) -> NowView:
    return now_view(
        given.row,
        steps,
        payloads=given.payloads,
        address=(given.base_url, given.workflow.name),
        reason=given.values.reason,
        error=error,
        queue_place=given.queue_place,
        defined=given.workflow.defined,
        blocked=given.blocked,
    )


def _buttons(given: InstanceInputs) -> tuple[Button, ...]:
    """None for a saved run: nothing can be done to it."""
    if given.read_only:
        return ()
    has_rollback = any(step.has_rollback for step in given.steps)
    return buttons(given.workflow.name, given.row.id, given.allowed, has_rollback=has_rollback)


def _timeline(given: InstanceInputs, steps: Sequence[StepView]) -> Timeline:
    real_time = given.real_time if given.show_real else None
    passes = pass_views(given.passes, given.versions)
    found = [step for step in steps if given.find.lower() in step.public_name.lower()]
    return build_timeline(given.row, found, given.history, given.now, given.window, real_time, passes, given.folded)


def _facts(given: InstanceInputs) -> list[Fact]:
    row = given.row
    facts = []
    if row.started_at is None or row.started_at - row.created_at >= _WORTH_TELLING_MS:
        facts.append(Fact("Created", at=row.created_at))
    if row.started_at is not None:
        facts.append(Fact("Started", at=row.started_at))
        facts.append(Fact("Duration", span=(row.started_at, row.ended_at)))
        facts.extend(_real_duration(given, row.started_at))
        facts.extend(_queued(given, row.started_at))
    if row.ended_at is not None:
        facts.append(Fact("Ended", at=row.ended_at))
    facts.append(Fact("Steps", str(row.step_count)))
    facts.append(Fact("Trigger", row.trigger + _schedule(row)))
    if given.version is not None:
        facts.append(Fact("Version", f"{given.version.id[:12]} ({given.version.language})"))
    if row.expires_at is not None:
        facts.append(Fact("Kept until", at=row.expires_at))
    return facts


def _queued(given: InstanceInputs, started_at: int) -> Iterable[Fact]:
    """How long it stood in the queue before this start: a restarted one was created long before."""
    queued = [entry.at for entry in given.history if entry.type is EventType.WORKFLOW_QUEUED]
    since = max((at for at in queued if at <= started_at), default=started_at)
    if started_at - since >= _WORTH_TELLING_MS:
        yield Fact("Queued", span=(since, started_at))


def _real_duration(given: InstanceInputs, started_at: int) -> Iterable[Fact]:
    """How long it took on the wall, where the clock was moved meanwhile."""
    end = given.row.ended_at if given.row.ended_at is not None else given.now
    if given.real_time.moved_within(started_at, end):
        yield Fact("In real time", duration(given.real_time.span(started_at, end)))


def _schedule(row: InstanceRow) -> str:
    return f" ({json.loads(row.schedule).get('cron')})" if row.schedule else ""


def _error(given: InstanceInputs) -> ErrorView | None:
    text = given.values.error
    return error_view(ErrorInfo.from_json(json.loads(text)), given.read) if text else None


def _rollback(given: InstanceInputs) -> RollbackView | None:
    if not given.values.rollback:
        return None
    found = json.loads(given.values.rollback)
    error = found.get("error")
    return RollbackView(found.get("outcome", ""), error_view(ErrorInfo.from_json(error)) if error else None)


class InstanceLinks:
    """Addresses of the page: the same with one thing changed."""

    def __init__(self, given: InstanceInputs) -> None:
        self._given = given

    def _url(self, **changed: str | int | None) -> str:
        given = self._given
        parts: dict[str, str | int | None] = {"tab": given.tab if given.tab != "steps" else None}
        if given.unfold is not None:
            parts["steps_from"] = given.unfold
        if given.find:
            parts["find"] = given.find
        if given.like:
            parts["like"] = given.like
        if given.show_real:
            parts["time"] = "real"
        if given.window is not None:
            parts["from"], parts["to"] = given.window
        return given.address.page(**{**parts, **changed})

    def here(self) -> str:
        return self._url(**{"from": None, "to": None})

    def other_time(self) -> str:
        """The timeline in real time, or back in the engine's; empty where the two are the same."""
        row = self._given.row
        end = row.ended_at if row.ended_at is not None else self._given.now
        if not self._given.real_time.moved_within(row.created_at, end):
            return ""
        return self._url(**{"from": None, "to": None, "time": None if self._given.show_real else "real"})

    def step(self, seq: int) -> str:
        return f"{self._url(step=seq)}#step-{seq}"

    def tabs(self, advice: int) -> tuple[Tab, ...]:
        given = self._given
        counts: dict[str, int | None] = {
            "steps": given.row.step_count,
            "events": len(given.events),
            "advice": advice,
        }
        return tuple(
            Tab(
                name,
                word,
                given.address.page(tab=None if name == "steps" else name),
                name == given.tab,
                counts.get(name) or None,
            )
            for name, word in TABS
            if not (given.read_only and name == "graph")
        )

    def unfound(self) -> str:
        """Every step again, whatever its name."""
        return self._url(find=None)

    def fold(self, steps: StepStretch) -> FoldView:
        last = max(steps.first, steps.last - UNFOLDED + 1)
        return FoldView(steps, self._unfold(steps.first), self._unfold(last) if last > steps.first else "")

    def _unfold(self, seq: int) -> str:
        return f"{self._url(steps_from=seq)}#step-{seq}"
