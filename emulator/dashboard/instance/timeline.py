"""The timeline of an instance: a row for run(), for each step and for each group of steps with one name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final, Literal, Protocol

from stepwell.emulator.dashboard.instance.outline import Choice, Fold, Outline, Place, StepGroup, StepPlace
from stepwell.emulator.dashboard.instance.passes import PassView
from stepwell.emulator.dashboard.instance.pieces import (
    Axis,
    Meaning,
    Piece,
    Times,
    columns,
    group_pieces,
    run_pieces,
    step_pieces,
)
from stepwell.emulator.dashboard.instance.scale import AxisLabel, Scale, Stretch, Tick, folded_scale
from stepwell.emulator.dashboard.instance.steps import StepView
from stepwell.emulator.dashboard.parts.figures import instance_span, queue_span
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, STEP_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import duration
from stepwell.emulator.storage.records import HistoryRow, InstanceRow, Status, StepKind, StepState
from stepwell.emulator.storage.view_records import StepOutline

#: Pixels of the axis in a wide window, and beside a drawer or on a phone; see 6-timeline.css.
_WIDE_AXIS: Final = 560
_NARROW_AXIS: Final = 250
#: Pixels of the tag of the Now line, and of a letter beside it.
_NOW_TAG: Final = 40
_LETTER: Final = 6.4
#: From so many steps on a map of the whole run is above the rows.
_MAP_FROM: Final = 50
_MAP_HEIGHT: Final = 24

RowKind = Literal["run", "step", "group", "fold"]


class RowLinks(Protocol):
    """Addresses of the page with something else unfolded."""

    def step(self, seq: int) -> str: ...

    def unfold(self, group: StepGroup, seq: int | None, only: str = "") -> str:
        """The group open from the step `seq` on; closed for None."""
        ...

    def unfold_fold(self, seq: int) -> str: ...


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """What the line below an unfolded group says; addresses are empty where there is nothing to filter."""

    count: int
    shown: int
    members: int
    median: str
    slowest: str
    slowest_url: str
    retried: int
    retried_url: str
    failed: int
    failed_url: str
    all_url: str
    previous_url: str
    next_url: str


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """`hint` is the small print behind the name; `outside` says when a row ran that is not in the range shown.

    `toggle_url` unfolds or folds a group. `key` tells rows apart over time.
    """

    kind: RowKind
    key: str
    label: str
    look: Look
    pieces: tuple[Piece, ...]
    span: tuple[int, int | None] | None
    url: str = ""
    step: StepView | None = None
    depth: int = 0
    is_last: bool = False
    has_line: bool = False
    hint: str = ""
    outside: str = ""
    is_later: bool = False
    error: str = ""
    group: GroupFigures | None = None
    toggle_url: str = ""
    is_unfolded: bool = False


@dataclass(frozen=True, slots=True)
class RunMap:
    """The whole run as thin columns; `window` is what the rows show of it, as (left, width) in percent."""

    pieces: tuple[Piece, ...]
    window: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """From `start` to `end`, of the `whole` run. `few_labels` are for a narrow axis, `now_at` is the Now line.

    `real`: drawn in real time.
    """

    rows: tuple[TimelineRow, ...]
    folds: tuple[Stretch, ...]
    ticks: tuple[Tick, ...]
    labels: tuple[AxisLabel, ...]
    few_labels: tuple[AxisLabel, ...]
    legend: tuple[tuple[Meaning | Literal["folded"], str], ...]
    start: int
    end: int
    whole: tuple[int, int]
    origin: int
    zoomed: bool
    now_at: float | None = None
    map: RunMap | None = None
    real: bool = False


def engine_time(at: int) -> int:
    """Times as the engine has them."""
    return at


@dataclass(frozen=True)
class TimelineInput:
    """What a timeline is drawn from. `steps` are those with rows of their own, by seq.

    `window` is in the times of the axis, which are the engine's unless `times` says otherwise.
    """

    instance: InstanceRow
    outline: Outline
    places: Sequence[Place]
    steps: Mapping[int, StepView]
    history: Sequence[HistoryRow]
    now: int
    links: RowLinks
    choice: Choice = field(default_factory=Choice)
    window: tuple[int, int] | None = None
    times: Times = engine_time
    passes: Sequence[PassView] = ()
    real: bool = False

    @property
    def is_over(self) -> bool:
        return self.instance.ended_at is not None

    @property
    def is_frozen(self) -> bool:
        return self.instance.status in (Status.PAUSED, Status.QUEUED)

    def axis(self, scale: Scale) -> Axis:
        return Axis(scale, self.times, self.now, is_over=self.is_over, is_frozen=self.is_frozen)


def timeline_scale(given: TimelineInput, window: tuple[int, int] | None = None) -> Scale:
    """The axis of the whole run, up to the end of open sleeps and waits; or of the part of it that is shown."""
    instance, times = given.instance, given.times
    end = instance.ended_at if instance.ended_at is not None else given.now
    due = _due(given)
    last = max([end, *(step.ended_at for step in given.outline.steps if step.ended_at is not None), *due])
    start = times(axis_start(given))
    shown = window or (start, times(last))
    marks = [] if given.is_over else [times(given.now), *map(times, due)]
    return folded_scale(*shown, _busy(given), origin=start, marks=marks)


def axis_start(given: TimelineInput) -> int:
    """When the instance was created; when it started, where it was not queued for long. Kept steps are older."""
    instance = given.instance
    if queue_span(instance, given.history) is not None or instance.started_at is None:
        return instance.created_at
    return min([instance.started_at, *(step.started_at for step in given.outline.steps[:1])])


def _due(given: TimelineInput) -> list[int]:
    if given.is_over or given.is_frozen:
        return []
    return [
        step.due_at
        for step in given.outline.steps
        if step.is_open
        and step.due_at is not None
        and step.due_at > given.now
        and step.state is not StepState.IN_FLIGHT
    ]


def _busy(given: TimelineInput) -> list[tuple[int, int]]:
    """When attempts ran. Of steps without rows only their starts and ends are known."""
    times, busy = given.times, []
    for step in given.outline.steps:
        if step.kind is not StepKind.DO:
            continue
        view = given.steps.get(step.seq)
        if view is None:
            end = step.ended_at if step.ended_at is not None else step.started_at
            busy.append((times(step.started_at), times(end)))
            continue
        for attempt in (*view.tries.attempts, *view.tries.rollback):
            end = attempt.ended_at if attempt.ended_at is not None else given.now
            busy.append((times(attempt.started_at), times(end)))
    return busy


def build_timeline(given: TimelineInput) -> Timeline:
    whole = timeline_scale(given)
    scale = whole if given.window is None else timeline_scale(given, given.window)
    axis = given.axis(scale)
    rows = [_run_row(given, axis)]
    rows += [_row(given, place, axis) for place in given.places]
    now = given.times(given.now)
    now_at = None if given.is_over or not scale.start <= now <= scale.end else scale.position(now)
    return Timeline(
        rows=tuple(rows),
        folds=scale.folds,
        ticks=scale.ticks(),
        labels=_beside_now(scale.labels(_WIDE_AXIS), now_at, _WIDE_AXIS),
        few_labels=_beside_now(scale.labels(_NARROW_AXIS), now_at, _NARROW_AXIS),
        legend=_legend(rows, has_folds=bool(scale.folds)),
        start=scale.start,
        end=scale.end,
        origin=given.times(axis_start(given)),
        zoomed=given.window is not None,
        now_at=now_at,
        map=_map(given, whole),
        whole=(whole.start, whole.end),
        real=given.real,
    )


def _beside_now(labels: Iterable[AxisLabel], now_at: float | None, pixels: int) -> tuple[AxisLabel, ...]:
    """Labels that do not run into the tag of the Now line."""
    if now_at is None:
        return tuple(labels)
    tag = _NOW_TAG / 2 / pixels * 100
    beside = []
    for label in labels:
        width = len(label.text) * _LETTER / pixels * 100
        left = label.at - width / 2 if label.full else label.at
        if left > now_at + tag or left + width < now_at - tag:
            beside.append(label)
    return tuple(beside)


def _map(given: TimelineInput, whole: Scale) -> RunMap | None:
    if given.window is None and len(given.outline.steps) < _MAP_FROM:
        return None
    pieces = columns(given.outline.steps, given.axis(whole), _MAP_HEIGHT)
    if given.window is None:
        return RunMap(tuple(pieces), None)
    left, right = (whole.position(at) for at in given.window)
    return RunMap(tuple(pieces), (left, round(max(right - left, 0.5), 3)))


# -- rows
def _shown_span(given: TimelineInput, span: tuple[int, int | None]) -> tuple[int, int | None]:
    """A span as the page says it: durations on the page tick by the engine's clock, whatever the axis shows."""
    ahead = given.now - given.times(given.now)
    start, end = span
    return given.times(start) + ahead, given.times(end) + ahead if end is not None else None


def _run_row(given: TimelineInput, axis: Axis) -> TimelineRow:
    span = instance_span(given.instance)
    return TimelineRow(
        kind="run",
        key="run",
        label="run()",
        look=STATUS_LOOKS[given.instance.status],
        pieces=tuple(run_pieces(given.instance, given.history, given.passes, axis)),
        span=_shown_span(given, span) if span is not None else None,
    )


def _row(given: TimelineInput, place: Place, axis: Axis) -> TimelineRow:
    if isinstance(place, StepGroup):
        return _group_row(given, place, axis)
    if isinstance(place, Fold):
        return _fold_row(given, place, axis)
    return _step_row(given, place, axis)


def _step_row(given: TimelineInput, place: StepPlace, axis: Axis) -> TimelineRow:
    step = given.steps[place.step.seq]
    contains = bool(given.outline.children.get(step.seq))
    pieces = step_pieces(step, axis, contains_steps=contains)
    outside, is_later = ("", False) if pieces else _outside(given, step.started_at)
    return TimelineRow(
        kind="step",
        key=f"s{step.seq}",
        label=step.label,
        look=step.look,
        pieces=tuple(pieces),
        span=_shown_span(given, step.span),
        url=given.links.step(step.seq),
        step=step,
        depth=min(place.depth, 4),
        is_last=place.last,
        has_line=place.depth > 0,
        hint=_hint(step),
        outside=outside,
        is_later=is_later,
        error=step.error_line if step.state is StepState.FAILED else "",
    )


def _hint(step: StepView) -> str:
    words = []
    if step.kind is StepKind.SLEEP:
        words.append("sleep")
    elif step.kind is StepKind.WAIT_FOR_EVENT:
        words.append("event")
    elif step.attempts > 1:
        words.append(f"{step.attempts} attempts")
    elif step.attempts == 0 and not step.is_open:
        words.append("reused")
    if step.kept:
        words.append("kept")
    if step.tries.rollback_word:
        words.append(step.tries.rollback_word)
    return ", ".join(words)


def _outside(given: TimelineInput, started_at: int) -> tuple[str, bool]:
    """When a row ran that is not in the range shown, and whether that was later."""
    origin = given.times(axis_start(given))
    at = given.times(started_at)
    is_later = given.window is not None and at > given.window[1]
    text = f"at {duration(max(0, at - origin))}"
    return (f"{text} ›" if is_later else f"‹ {text}"), is_later


def _group_row(given: TimelineInput, group: StepGroup, axis: Axis) -> TimelineRow:
    pieces = group_pieces(group.steps, axis)
    outside, is_later = ("", False) if pieces else _outside(given, group.steps[0].started_at)
    is_open = any(step.is_open for step in group.steps) and not given.is_over
    ends = [step.ended_at for step in group.steps if step.ended_at is not None]
    start, end = group.steps[0].started_at, None if is_open or not ends else max(ends)
    if end is None and given.is_over:
        end = given.instance.ended_at
    is_unfolded = group.shown is not None
    return TimelineRow(
        kind="group",
        key=f"g{group.key}",
        label=group.name,
        look=_group_look(group, is_over=given.is_over),
        pieces=tuple(pieces),
        span=_shown_span(given, (start, end)),
        depth=min(group.depth, 4),
        has_line=group.depth > 0,
        hint=f"×{len(group.steps):,}",
        outside=outside,
        is_later=is_later,
        group=_figures(given, group),
        toggle_url=given.links.unfold(group, None if is_unfolded else group.key),
        is_unfolded=is_unfolded,
    )


def _group_look(group: StepGroup, *, is_over: bool) -> Look:
    """That of its worst step."""
    tones = {"bad": 4, "run": 3, "hold": 2, "wait": 1}
    worst = max(group.steps, key=lambda step: tones.get(STEP_LOOKS[step.state].tone, 0))
    if is_over and worst.is_open:
        worst = max(group.steps, key=lambda step: step.state is StepState.FAILED)
    return STEP_LOOKS[worst.state]


def _figures(given: TimelineInput, group: StepGroup) -> GroupFigures | None:
    """None for a group that is folded."""
    if group.shown is None:
        return None
    links, key = given.links, group.key
    first, last = group.shown
    ended = [step for step in group.steps if step.ended_at is not None]
    slowest = max(ended, key=_length, default=None)
    retried = sum(step.attempts > 1 for step in group.steps)
    failed = sum(step.state is StepState.FAILED for step in group.steps)
    only = given.choice.only
    before, after = group.members[max(0, first - 100) : first], group.members[last + 1 :]
    return GroupFigures(
        count=len(group.steps),
        shown=last - first + 1,
        members=len(group.members),
        median=duration(median(map(_length, ended))) if ended else "",
        slowest=duration(_length(slowest)) if slowest is not None else "",
        slowest_url=links.step(slowest.seq) if slowest is not None else "",
        retried=retried,
        retried_url=links.unfold(group, key, "retried") if retried and only != "retried" else "",
        failed=failed,
        failed_url=links.unfold(group, key, "failed") if failed and only != "failed" else "",
        all_url=links.unfold(group, key) if only else "",
        previous_url=links.unfold(group, before[0].seq, only) if before else "",
        next_url=links.unfold(group, after[0].seq, only) if after else "",
    )


def _length(step: StepOutline) -> int:
    return (step.ended_at or step.started_at) - step.started_at


def _fold_row(given: TimelineInput, fold: Fold, axis: Axis) -> TimelineRow:
    steps = fold.steps
    ends = [step.ended_at for step in steps if step.ended_at is not None]
    pieces = group_pieces(steps, axis)
    outside, is_later = ("", False) if pieces else _outside(given, steps[0].started_at)
    return TimelineRow(
        kind="fold",
        key=f"f{steps[0].seq}",
        label=f"{len(steps):,} more steps",
        look=STEP_LOOKS[StepState.COMPLETED],
        pieces=tuple(pieces),
        span=_shown_span(given, (steps[0].started_at, max(ends, default=steps[-1].started_at))),
        outside=outside,
        is_later=is_later,
        toggle_url=given.links.unfold_fold(steps[0].seq),
    )


_LEGEND: Final[dict[Meaning, str]] = {
    "succeeded": "Succeeded",
    "failed": "Failed attempt",
    "running": "Running",
    "abandoned": "Abandoned",
    "retried": "Retried",
    "delay": "Retry delay",
    "wait": "Sleeping or waiting",
    "ahead": "Time left",
    "parent": "Contains steps",
    "paused": "Paused",
    "queued": "Queued",
    "rollback": "Rollback",
    "replay": "Replay of run()",
}


def _legend(rows: Iterable[TimelineRow], *, has_folds: bool) -> tuple[tuple[Meaning | Literal["folded"], str], ...]:
    """Lines for what is drawn, and for nothing else."""
    drawn = {piece.meaning for row in rows for piece in row.pieces}
    lines: list[tuple[Meaning | Literal["folded"], str]] = [
        (meaning, word) for meaning, word in _LEGEND.items() if meaning in drawn
    ]
    return (*lines, ("folded", "Idle time, folded")) if has_folds else tuple(lines)
