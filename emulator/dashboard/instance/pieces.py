"""What is drawn in the row of a timeline: attempts, delays, sleeps and waits, and what is yet to come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from stepwell.emulator.dashboard.instance.attempts import AttemptView
from stepwell.emulator.dashboard.instance.passes import PassView
from stepwell.emulator.dashboard.instance.scale import Scale
from stepwell.emulator.dashboard.instance.steps import StepView
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS
from stepwell.emulator.dashboard.parts.text import duration
from stepwell.emulator.storage.records import EventType, HistoryRow, InstanceRow, Status, StepKind, StepState
from stepwell.emulator.storage.view_records import StepOutline

_T = EventType

#: How a piece is drawn: "bar" solid, "thin" pale and low, "wait" pale with an outline, "rest" a dotted line,
#: "edge" the end of one, "column" one of the thin bars of a group, "replay" a mark.
Shape: TypeAlias = Literal["bar", "thin", "wait", "rest", "edge", "column", "replay"]
#: What a piece means: the key of its line in the legend.
Meaning: TypeAlias = Literal[
    "succeeded", "failed", "running", "abandoned", "delay", "wait", "ahead", "parent", "run", "queued", "paused",
    "rollback", "retried", "replay",
]  # fmt: skip

Times: TypeAlias = Callable[[int], int]

#: A piece is never drawn narrower than this, or it could not be seen.
LEAST_WIDTH: Final = 0.4
#: Columns of a large group, over the whole axis.
COLUMNS: Final = 96
#: A smaller group shows each of its steps.
_EACH_SHOWN: Final = 60
#: Steps that the columns of a very long run are drawn from.
_SAMPLED: Final = 2_000
_LOWEST_COLUMN: Final = 4
_HIGHEST_COLUMN: Final = 12


@dataclass(frozen=True, slots=True)
class Piece:
    """`left` and `width` are percent of the track; `height` is that of a column, in pixels."""

    shape: Shape
    meaning: Meaning
    tone: str
    left: float
    width: float
    title: str = ""
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class Axis:
    """Where times of the engine are drawn; `now` is one of them, None once the run has ended.

    `is_frozen`: the run is paused, so that nothing is due at a known time.
    """

    scale: Scale
    times: Times
    now: int
    is_over: bool = False
    is_frozen: bool = False

    def place(self, start: int, end: int) -> tuple[float, float] | None:
        """(left, width) in percent; None for what is not in view."""
        first, last = self.times(start), self.times(max(start, end))
        if last < self.scale.start or first > self.scale.end:
            return None
        left, right = self.scale.position(first), self.scale.position(last)
        width = max(right - left, LEAST_WIDTH)
        return round(min(left, 100 - width), 3), round(width, 3)


def _piece(
    axis: Axis, shape: Shape, meaning: Meaning, tone: str, start: int, end: int, title: str
) -> Iterable[Piece]:
    place = axis.place(start, end)
    if place is not None:
        length = axis.times(max(start, end)) - axis.times(start)
        yield Piece(shape, meaning, tone, *place, f"{title}, {duration(length)}")


def _ahead(axis: Axis, tone: str, due_at: int | None, title: str) -> Iterable[Piece]:
    """What remains until `due_at`, and a mark where it ends."""
    if due_at is None or due_at <= axis.now or axis.is_over or axis.is_frozen:
        return
    for piece in _piece(axis, "rest", "ahead", tone, axis.now, due_at, title):
        yield piece
        if axis.times(due_at) <= axis.scale.end:
            yield Piece("edge", "ahead", tone, round(piece.left + piece.width, 3), 0, title)


# -- a step
def step_pieces(step: StepView, axis: Axis, *, contains_steps: bool = False) -> list[Piece]:
    if step.kind is not StepKind.DO:
        return list(_waiting(step, axis))
    if contains_steps:
        start, end = step.span
        tone = "good" if step.look.tone == "good" else step.look.tone
        pieces = list(_piece(axis, "thin", "parent", tone, start, _end(end, axis), "contains steps"))
    else:
        pieces = [piece for attempt in step.tries.attempts for piece in _attempt(attempt, axis, "attempt")]
        pieces += _delays(step.tries.attempts, step.due_at, axis)
    pieces += [piece for attempt in step.tries.rollback for piece in _attempt(attempt, axis, "rollback attempt")]
    pieces += _delays(step.tries.rollback, None, axis)
    return sorted(pieces, key=lambda piece: piece.left)


def _end(at: int | None, axis: Axis) -> int:
    return at if at is not None else axis.now


def _waiting(step: StepView, axis: Axis) -> Iterable[Piece]:
    is_sleep = step.kind is StepKind.SLEEP
    title = "sleeping" if is_sleep else f"waiting for {step.waits_for}"
    tone = "bad" if step.look.tone == "bad" else "wait"
    yield from _piece(axis, "wait", "wait", tone, step.started_at, _end(step.ended_at, axis), title)
    if step.is_open:
        yield from _ahead(axis, "wait", step.due_at, "until it wakes" if is_sleep else "until it times out")


_MEANING_OF_TONE: Final[dict[str, Meaning]] = {"good": "succeeded", "bad": "failed", "run": "running"}


def _attempt(attempt: AttemptView, axis: Axis, word: str) -> Iterable[Piece]:
    is_rollback = word != "attempt"
    tone = "undo" if is_rollback and not attempt.failed else attempt.look.tone
    meaning: Meaning = "rollback" if tone == "undo" else _MEANING_OF_TONE.get(tone, "abandoned")
    title = f"{word} {attempt.number}: {attempt.look.word.lower()}"
    yield from _piece(axis, "bar", meaning, tone, attempt.started_at, _end(attempt.ended_at, axis), title)


def _delays(attempts: Sequence[AttemptView], due_at: int | None, axis: Axis) -> Iterable[Piece]:
    for index, attempt in enumerate(attempts):
        if not attempt.failed or attempt.ended_at is None:
            continue
        title = f"delay before attempt {attempt.number + 1}"
        if index + 1 < len(attempts):
            following = attempts[index + 1].started_at
            yield from _piece(axis, "rest", "delay", "hold", attempt.ended_at, following, title)
        elif due_at is not None and not axis.is_over:
            yield from _piece(axis, "rest", "delay", "hold", attempt.ended_at, axis.now, title)
            yield from _ahead(axis, "hold", due_at, title)


# -- the instance
_OWN: Final[dict[EventType, Meaning]] = {
    _T.WORKFLOW_QUEUED: "queued",
    _T.WORKFLOW_STARTED: "run",
    _T.WORKFLOW_RUNNING: "run",
    _T.WORKFLOW_WAITING: "wait",
    _T.WORKFLOW_PAUSED: "paused",
    _T.WORKFLOW_WAITING_FOR_PAUSE: "run",
    _T.ROLLBACK_STARTED: "rollback",
}
_ENDS: Final = {_T.WORKFLOW_COMPLETED, _T.WORKFLOW_ERRORED, _T.WORKFLOW_TERMINATED}
_WORDS: Final[dict[Meaning, str]] = {
    "queued": "queued",
    "run": "running",
    "wait": "waiting",
    "paused": "paused",
    "rollback": "rolling back",
}


def run_pieces(
    instance: InstanceRow, history: Iterable[HistoryRow], passes: Iterable[PassView], axis: Axis
) -> list[Piece]:
    """What the instance as a whole was doing. Once it has ended, its whole run has the colour of its status."""
    pieces: list[Piece] = []
    for meaning, start, end in _own_spans(instance, history):
        tone = _own_tone(meaning, instance, is_current=end is None)
        if axis.is_over and meaning == "wait":
            meaning = "run"
        shape: Shape = {"queued": "rest", "paused": "wait"}.get(meaning, "thin")  # type: ignore[assignment]
        pieces += _piece(axis, shape, meaning, tone, start, _end(end, axis), _WORDS[meaning])
    return [*_merged(pieces), *_marks(passes, axis)]


def _own_tone(meaning: Meaning, instance: InstanceRow, *, is_current: bool) -> str:
    fixed = {"queued": "calm", "paused": "hold", "rollback": "undo"}.get(meaning)
    if fixed is not None:
        return fixed
    if instance.ended_at is not None:
        return STATUS_LOOKS[instance.status].tone
    if meaning == "wait":
        return "wait"
    return STATUS_LOOKS[Status.RUNNING].tone if is_current else "good"


def _own_spans(instance: InstanceRow, history: Iterable[HistoryRow]) -> list[tuple[Meaning, int, int | None]]:
    spans: list[tuple[Meaning, int, int | None]] = []
    current: tuple[Meaning, int] | None = None
    for entry in history:
        if entry.step is not None or (entry.type not in _OWN and entry.type not in _ENDS):
            continue
        if current is not None and entry.at > current[1]:
            spans.append((*current, entry.at))
        current = (_OWN[entry.type], entry.at) if entry.type in _OWN else None
    if current is not None:
        spans.append((*current, instance.ended_at))
    return spans


def _merged(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of one look as one piece: a long run has thousands of passes."""
    merged: list[Piece] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if last is not None and (last.shape, last.tone) == (piece.shape, piece.tone):
            right = max(last.left + last.width, piece.left + piece.width)
            if piece.left - last.left - last.width < LEAST_WIDTH:
                merged[-1] = Piece(
                    last.shape, last.meaning, last.tone, last.left, round(right - last.left, 3), last.title
                )
                continue
        merged.append(piece)
    return merged


def _marks(passes: Iterable[PassView], axis: Axis) -> Iterable[Piece]:
    """Where run() began at the top again: moments, without a length."""
    for one in passes:
        at = axis.times(one.at)
        if axis.scale.start <= at <= axis.scale.end:
            yield Piece("replay", "replay", "calm", min(axis.scale.position(at), 99.6), LEAST_WIDTH, one.title)


# -- groups
def group_pieces(steps: Sequence[StepOutline], axis: Axis) -> list[Piece]:
    """Each step of a small group; of a large one how many began when, as thin columns."""
    if len(steps) > _EACH_SHOWN:
        return columns(steps, axis)
    pieces: list[Piece] = []
    for step in steps:
        tone = outline_tone(step, is_over=axis.is_over)
        shape: Shape = "bar" if step.kind is StepKind.DO else "wait"
        meaning: Meaning = "wait" if shape == "wait" else _MEANING_OF_TONE.get(tone, "retried")
        if shape == "wait" and tone != "bad":
            tone = "wait"
        pieces += _piece(
            axis, shape, meaning, tone, step.started_at, _end(step.ended_at, axis), f"{step.name} #{step.ordinal}"
        )
    return pieces


#: From what asks for attention most to what asks for it least.
_WORST_FIRST: Final = ("bad", "run", "wait", "hold", "calm", "good")


def columns(steps: Sequence[StepOutline], axis: Axis, highest: float = _HIGHEST_COLUMN) -> list[Piece]:
    """How many steps began when; each column has the tone of its worst step.

    Of very many plain successes a sample is counted: heights are relative.
    """
    stride = max(1, len(steps) // _SAMPLED)
    counts, tones = [0] * COLUMNS, [len(_WORST_FIRST) - 1] * COLUMNS
    times, position, start, end = axis.times, axis.scale.position, axis.scale.start, axis.scale.end
    for index, step in enumerate(steps):
        is_plain = step.state is StepState.COMPLETED and step.attempts <= 1
        if is_plain and index % stride:
            continue
        at = times(step.started_at)
        if start <= at <= end:
            place = min(int(position(at) * COLUMNS / 100), COLUMNS - 1)
            counts[place] += 1
            if not is_plain:
                tones[place] = min(tones[place], _WORST_FIRST.index(outline_tone(step, is_over=axis.is_over)))
    most = max(counts)
    return [
        _column(place, _WORST_FIRST[tones[place]], highest * count / most)
        for place, count in enumerate(counts)
        if count
    ]


def _column(place: int, tone: str, height: float) -> Piece:
    meaning: Meaning = "retried" if tone == "hold" else _MEANING_OF_TONE.get(tone, "succeeded")
    width = 100 / COLUMNS
    height = round(max(height, _LOWEST_COLUMN), 1)
    return Piece("column", meaning, tone, round(place * width, 3), round(width * 0.72, 3), "", height)


def outline_tone(step: StepOutline, *, is_over: bool) -> str:
    """The tone of a step in its group: amber for one that was retried."""
    if step.state is StepState.FAILED:
        return "bad"
    if step.state is StepState.COMPLETED:
        return "hold" if step.attempts > 1 else "good"
    if is_over:
        return "calm"
    return {StepState.IN_FLIGHT: "run", StepState.RETRYING: "hold"}.get(step.state, "wait")
