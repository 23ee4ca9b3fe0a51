"""The timeline of an instance: a row for each step, its attempts, delays, sleeps, waits and rollbacks as pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from stepwell.emulator.dashboard.instance.attempts import AttemptView
from stepwell.emulator.dashboard.instance.passes import PassView
from stepwell.emulator.dashboard.instance.scale import AxisLabel, Scale, Stretch, Tick, folded_scale
from stepwell.emulator.dashboard.instance.steps import StepView
from stepwell.emulator.dashboard.parts.text import duration, plural
from stepwell.emulator.real_time import RealTime
from stepwell.emulator.storage.records import EventType, HistoryRow, InstanceRow, StepKind
from stepwell.emulator.storage.view_records import StepStretch

_T = EventType

PieceKind: TypeAlias = Literal[
    "attempt", "delay", "sleep", "wait", "rollback", "queued", "paused", "run", "waiting", "replay", "folded"
]

#: The least pixels of the axis, alone and beside an open panel; see 6-timeline.css.
_AXIS: Final = 288
_NARROW_AXIS: Final = 166
#: A piece is never drawn narrower than this, or it could not be seen.
_LEAST_WIDTH: Final = 0.5


@dataclass(frozen=True, slots=True)
class Piece:
    kind: PieceKind
    tone: str
    left: float
    width: float
    title: str
    open: bool


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """`step` is None for the row of the instance itself, and for one that stands for `folded` steps."""

    step: StepView | None
    label: str
    pieces: tuple[Piece, ...]
    started_at: int
    ended_at: int | None
    folded: StepStretch | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """`few_labels` are for the axis beside an open panel; `real`: drawn in real time."""

    rows: tuple[TimelineRow, ...]
    folds: tuple[Stretch, ...]
    ticks: tuple[Tick, ...]
    labels: tuple[AxisLabel, ...]
    few_labels: tuple[AxisLabel, ...]
    start: int
    end: int
    zoomed: bool
    real: bool = False


@dataclass(frozen=True, slots=True)
class _Span:
    kind: PieceKind
    tone: str
    start: int
    end: int | None
    title: str


Times: TypeAlias = Callable[[int], int]


def engine_time(at: int) -> int:
    """Times as the engine has them."""
    return at


def timeline_scale(
    instance: InstanceRow,
    steps: Sequence[StepView],
    now: int,
    window: tuple[int, int] | None = None,
    times: Times = engine_time,
    folded: Sequence[StepStretch] = (),
) -> Scale:
    """The axis of an instance, or of a part of it; `window` is in the times of the axis."""
    end = instance.ended_at if instance.ended_at is not None else now
    last = max((span.end or now for step in steps for span in _spans(step)), default=end)
    begin = times(instance.created_at)
    start, end = window or (begin, times(max(end, last)))
    busy = [
        (times(span.start), times(span.end if span.end is not None else now))
        for step in steps
        for span in _spans(step)
        if span.kind in ("attempt", "rollback")
    ]
    busy += [(times(one.started_at), times(one.ended_at)) for one in folded]
    return folded_scale(start, end, busy, origin=begin)


def build_timeline(
    instance: InstanceRow,
    steps: Sequence[StepView],
    history: Sequence[HistoryRow],
    now: int,
    window: tuple[int, int] | None = None,
    real_time: RealTime | None = None,
    passes: Sequence[PassView] = (),
    folded: Sequence[StepStretch] = (),
) -> Timeline:
    """In the engine's time, or in `real_time`; each of `passes` is marked on the row of the instance.

    `folded` are the steps of the instance that are not among `steps`: a row each.
    """
    times: Times = engine_time if real_time is None else real_time
    scale = timeline_scale(instance, steps, now, window, times, folded)
    axis = _Axis(scale, times, now)
    own = _row(axis, None, "run()", _own_spans(instance, history), (instance.created_at, instance.ended_at))
    rows = [replace(own, pieces=(*own.pieces, *_marks(passes, axis)))]
    of_steps = [
        (step.seq, _row(axis, step, step.public_name, _spans(step), (step.started_at, step.ended_at)))
        for step in steps
    ]
    of_folds = [(one.first, _folded_row(axis, one)) for one in folded]
    in_order = sorted(of_steps + of_folds, key=lambda pair: pair[0])
    rows += [row for _, row in in_order if row.pieces or window is None]
    return Timeline(
        rows=tuple(rows),
        folds=scale.folds,
        ticks=scale.ticks(),
        labels=scale.labels(_AXIS),
        few_labels=scale.labels(_NARROW_AXIS),
        start=scale.start,
        end=scale.end,
        zoomed=window is not None,
        real=real_time is not None,
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """Where times of the engine are drawn; `now` is one of them."""

    scale: Scale
    times: Times
    now: int


def _row(
    axis: _Axis, step: StepView | None, label: str, spans: Iterable[_Span], life: tuple[int, int | None]
) -> TimelineRow:
    # The page's durations tick by the engine's clock: what is told in real time is put beside its "now".
    ahead = axis.now - axis.times(axis.now)
    start, end = life
    started_at = axis.times(start) + ahead
    ended_at = axis.times(end) + ahead if end is not None else None
    return TimelineRow(step, label, _pieces(spans, axis), started_at, ended_at)


def _folded_row(axis: _Axis, steps: StepStretch) -> TimelineRow:
    label = plural(steps.count, "step")
    span = _Span("folded", "bad" if steps.failed else "calm", steps.started_at, steps.ended_at, label)
    return replace(_row(axis, None, label, [span], (steps.started_at, steps.ended_at)), folded=steps)


def _pieces(spans: Iterable[_Span], axis: _Axis) -> tuple[Piece, ...]:
    pieces, scale = [], axis.scale
    for span in spans:
        start = axis.times(span.start)
        end = axis.times(span.end if span.end is not None else max(axis.now, span.start))
        if end < scale.start or start > scale.end:
            continue
        left, right = scale.position(start), scale.position(end)
        width = max(right - left, _LEAST_WIDTH)
        left = min(left, 100 - width)
        title = f"{span.title}, {duration(end - start)}"
        pieces.append(Piece(span.kind, span.tone, round(left, 3), round(width, 3), title, span.end is None))
    return tuple(pieces)


def _marks(passes: Sequence[PassView], axis: _Axis) -> Iterable[Piece]:
    """Where run() began at the top again: moments, so no length is told of them."""
    for one in passes:
        at = axis.times(one.at)
        if axis.scale.start <= at <= axis.scale.end:
            left = min(axis.scale.position(at), 100 - _LEAST_WIDTH)
            yield Piece("replay", "replay", left, _LEAST_WIDTH, one.title, open=False)


def _spans(step: StepView) -> list[_Span]:
    if step.kind is StepKind.SLEEP:
        return [_Span("sleep", "wait", step.started_at, step.ended_at, "sleeping")]
    if step.kind is StepKind.WAIT_FOR_EVENT:
        tone = "bad" if step.look.tone == "bad" else "wait"
        return [_Span("wait", tone, step.started_at, step.ended_at, f"waiting for “{step.waits_for}”")]
    spans = _attempt_spans(step.tries.attempts, step.due_at, "attempt")
    return spans + _attempt_spans(step.tries.rollback, None, "rollback")


def _attempt_spans(
    attempts: Sequence[AttemptView], due_at: int | None, kind: Literal["attempt", "rollback"]
) -> list[_Span]:
    spans: list[_Span] = []
    for index, one in enumerate(attempts):
        word = f"{'rollback, ' if kind == 'rollback' else ''}attempt {one.number}: {one.look.word.lower()}"
        tone = "undo" if kind == "rollback" and not one.failed else one.look.tone
        spans.append(_Span(kind, tone, one.started_at, one.ended_at, word))
        following = attempts[index + 1].started_at if index + 1 < len(attempts) else None
        if one.failed and one.ended_at is not None and (following is not None or due_at is not None):
            spans.append(_Span("delay", "hold", one.ended_at, following, f"delay before attempt {one.number + 1}"))
    return spans


_OWN: Final[dict[EventType, tuple[PieceKind, str, str]]] = {
    _T.WORKFLOW_QUEUED: ("queued", "calm", "queued"),
    _T.WORKFLOW_STARTED: ("run", "run", "running"),
    _T.WORKFLOW_RUNNING: ("run", "run", "running"),
    _T.WORKFLOW_WAITING: ("waiting", "wait", "waiting"),
    _T.WORKFLOW_PAUSED: ("paused", "hold", "paused"),
    _T.WORKFLOW_WAITING_FOR_PAUSE: ("run", "hold", "pausing"),
    _T.ROLLBACK_STARTED: ("rollback", "undo", "rolling back"),
}
_ENDS: Final = {_T.WORKFLOW_COMPLETED, _T.WORKFLOW_ERRORED, _T.WORKFLOW_TERMINATED}


def _own_spans(instance: InstanceRow, history: Sequence[HistoryRow]) -> list[_Span]:
    """What the instance as a whole was doing, from its own entries."""
    spans: list[_Span] = []
    current: tuple[PieceKind, str, str, int] | None = None
    for entry in history:
        if entry.type not in _OWN and entry.type not in _ENDS:
            continue
        if current is not None and entry.at >= current[3]:
            spans.append(_Span(current[0], current[1], current[3], entry.at, current[2]))
        current = (*_OWN[entry.type], entry.at) if entry.type in _OWN else None
    if current is not None:
        spans.append(_Span(current[0], current[1], current[3], instance.ended_at, current[2]))
    return spans
