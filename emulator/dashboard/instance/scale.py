"""The time axis of a timeline: attempts are drawn to scale, long idle stretches fold to a fixed width.

Positions are percent of the width. Folding keeps a week of sleep from flattening the second of work around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from stepwell.emulator.dashboard.parts.text import about, duration

#: A folded stretch is this wide, but all of them together take no more than `_FOLDS_MOST`.
_FOLD_WIDTH: Final = 10.0
_FOLDS_MOST: Final = 50.0
#: Shorter stretches never fold.
_FOLD_FROM_MS: Final = 1_000
_TICKS: Final = 8
#: A letter of a label takes so many pixels.
_LETTER: Final = 6.4
_NICE: Final = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of the axis: from `start` to `end` in time, from `left` to `right` in percent."""

    start: int
    end: int
    left: float
    right: float
    folded: bool

    @property
    def width(self) -> float:
        return round(self.right - self.left, 3)

    @property
    def label(self) -> str:
        return duration(self.end - self.start)


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True, slots=True)
class AxisLabel:
    """Text at the axis: of a mark, to the right of `at`, or of a fold (`full` is its length), around `at`."""

    at: float
    text: str
    full: str = ""


class Scale:
    """Maps times to positions and back."""

    def __init__(self, stretches: Sequence[Stretch], origin: int) -> None:
        self.stretches = tuple(stretches)
        self._origin = origin

    @property
    def start(self) -> int:
        return self.stretches[0].start

    @property
    def end(self) -> int:
        return self.stretches[-1].end

    @property
    def folds(self) -> tuple[Stretch, ...]:
        return tuple(one for one in self.stretches if one.folded)

    def position(self, at: int) -> float:
        """Percent; times outside of the axis lie at its ends."""
        for one in self.stretches:
            if at <= one.end or one is self.stretches[-1]:
                span = one.end - one.start
                share = (min(max(at, one.start), one.end) - one.start) / span if span else 0.0
                return round(one.left + share * (one.right - one.left), 3)
        return 100.0

    def time(self, share: float) -> int:
        """The time at a share (0 to 1) of the width."""
        at = max(0.0, min(100.0, share * 100))
        for one in self.stretches:
            if at <= one.right:
                width = one.right - one.left
                return round(one.start + (at - one.left) / width * (one.end - one.start)) if width else one.start
        return self.end

    def labels(self, pixels: int) -> tuple[AxisLabel, ...]:
        """What is written at an axis of this width: no label runs into another, or out of the axis."""
        taken: list[tuple[float, float]] = []
        labels: list[AxisLabel] = []

        def write(label: AxisLabel, left: float, width: float) -> None:
            right = left + width
            if left >= 0 and right <= 100 and not any(left < to and right > at for at, to in taken):
                taken.append((left, right))
                labels.append(label)

        for fold in self.folds:
            text = fold.label if _room(fold.label, pixels) <= fold.width else about(fold.end - fold.start)
            width = _room(text, pixels)
            at = min(max((fold.left + fold.right) / 2, width / 2), 100 - width / 2)
            write(AxisLabel(round(at, 3), text, fold.label), at - width / 2, width)
        for mark in self.ticks():
            write(AxisLabel(mark.at, mark.label), mark.at, _room(mark.label, pixels))
        return tuple(labels)

    def ticks(self) -> tuple[Tick, ...]:
        """Marks at round times since the start of the instance, on what is drawn to scale."""
        shown = [one for one in self.stretches if not one.folded and one.end > one.start]
        total = sum(one.end - one.start for one in shown)
        if not total:
            return (Tick(0.0, "0"),)
        step = _nice_step(total / _TICKS)
        return tuple(_apart([tick for one in shown for tick in self._marks(one, step)]))

    def _marks(self, one: Stretch, step: int) -> Iterable[Tick]:
        first = -((self._origin - one.start) // step) * step if one.start > self._origin else 0
        offset = max(first, 0)
        while self._origin + offset <= one.end:
            if self._origin + offset >= one.start:
                yield Tick(self.position(self._origin + offset), f"+{duration(offset)}" if offset else "0")
            offset += step


def _apart(marks: Sequence[Tick], least: float = 6.0) -> Iterable[Tick]:
    """Those that do not crowd: the work between two folds may be as narrow as a hair."""
    last = -100.0
    for mark in marks:
        if mark.at - last >= least:
            last = mark.at
            yield mark


def _room(label: str, pixels: int) -> float:
    """Percent of an axis that a label takes, with the gap to the next one."""
    return (len(label) + 1) * _LETTER / pixels * 100


def _nice_step(about: float) -> int:
    """A round step of at least `about` ms: 1, 2, 5, 10, ... and of seconds, minutes, hours, days likewise."""
    for unit in (1, 1_000, 60_000, 3_600_000, 86_400_000):
        power = 1
        limit = {1: 1_000, 1_000: 60, 60_000: 60, 3_600_000: 24}.get(unit, 10_000)
        while power < limit:
            for nice in _NICE:
                if nice * power * unit >= about and nice * power < limit:
                    return nice * power * unit
            power *= 10
    return max(1, int(about))


def folded_scale(
    start: int,
    end: int,
    busy: Iterable[tuple[int, int]],
    *,
    origin: int | None = None,
    marks: Iterable[int] = (),
) -> Scale:
    """The axis from `start` to `end`; `busy` are the intervals that must not fold.

    An idle stretch folds when it is longer than all work together. `marks` are moments at which folds end: now, and
    when open waits end, so that these have places of their own.
    """
    end = max(end, start + 1)
    parts = _cut(_parts(start, end, busy), marks)
    working = sum(to - at for at, to, idle in parts if not idle) or 1
    folds = [idle and to - at > max(_FOLD_FROM_MS, working) for at, to, idle in parts]
    width = min(_FOLD_WIDTH, _FOLDS_MOST / max(sum(folds), 1))
    drawn = sum(to - at for (at, to, _), folded in zip(parts, folds, strict=True) if not folded)
    room = 100 - width * sum(folds) if drawn else 100
    if not drawn:
        width = 100 / len(parts)
    stretches: list[Stretch] = []
    left = 0.0
    for at, to, folded in _merged(parts, folds):
        right = left + (width if folded else room * (to - at) / drawn)
        stretches.append(Stretch(at, to, round(left, 3), round(right, 3), folded))
        left = right
    return Scale(stretches, start if origin is None else origin)


def _merged(parts: Iterable[tuple[int, int, bool]], folds: Iterable[bool]) -> list[tuple[int, int, bool]]:
    """What is drawn to scale, as few stretches: a long run has thousands of attempts."""
    merged: list[tuple[int, int, bool]] = []
    for (at, to, _), folded in zip(parts, folds, strict=True):
        if merged and not folded and not merged[-1][2]:
            merged[-1] = merged[-1][0], to, False
        else:
            merged.append((at, to, folded))
    return merged


def _parts(start: int, end: int, busy: Iterable[tuple[int, int]]) -> list[tuple[int, int, bool]]:
    """The axis cut into (start, end, idle)."""
    parts: list[tuple[int, int, bool]] = []
    at = start
    for begin, stop in _joined(busy, start, end):
        if begin > at:
            parts.append((at, begin, True))
        if stop > max(begin, at):
            parts.append((max(begin, at), stop, False))
        at = max(at, stop)
    if at < end:
        parts.append((at, end, True))
    return parts or [(start, end, False)]


def _cut(parts: Iterable[tuple[int, int, bool]], marks: Iterable[int]) -> list[tuple[int, int, bool]]:
    """The parts, idle ones cut at the marks inside of them."""
    in_order, cut = sorted(set(marks)), []
    for start, end, idle in parts:
        places = [start, *(mark for mark in in_order if idle and start < mark < end), end]
        cut += [(at, to, idle) for at, to in pairwise(places)]
    return cut


def _joined(busy: Iterable[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    inside = [(max(at, start), min(to, end)) for at, to in busy if to >= start and at <= end]
    joined: list[tuple[int, int]] = []
    for at, to in sorted(inside):
        if joined and at <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], to))
        else:
            joined.append((at, to))
    return joined
