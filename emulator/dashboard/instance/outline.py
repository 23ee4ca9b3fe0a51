"""The order of a timeline: steps under their parents, repeated names as groups, and what of it all is shown.

A run of 25,000 steps has a few dozen rows: steps that share a name are one group, which unfolds 100 at a time.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, TypeAlias

from stepwell.emulator.storage.records import StepKind, StepState
from stepwell.emulator.storage.view_records import StepOutline

#: Fewer steps with one name are rows of their own: of a run that fits a screen, and of a longer one.
GROUP_FROM: Final = 8
GROUP_FROM_LONG: Final = 4
_FITS: Final = 40
#: Members of a group that unfold at a time.
UNFOLDED: Final = 100
#: Open and failed members that are shown while their group is folded.
_NOTABLE_SHOWN: Final = 10
#: Steps that a filter shows.
FOUND_SHOWN: Final = 200
#: Rows of steps that are open or have failed, however many there are.
_NOTABLE_ROWS: Final = 60
#: Rows beside those of groups: of more, the first and the last are shown.
_ROWS_SHOWN: Final = 160
_FIRST: Final = 60
_LAST: Final = 60
_NUMBER: Final = re.compile(r"\d+")

Only: TypeAlias = Literal["", "retried", "failed"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What the address asks for: `unfold` are steps whose groups are open from there on, `only` filters the members
    of groups, `window` (in the engine's time) those that ran then; with `find` steps are shown by name.
    """

    unfold: frozenset[int] = frozenset()
    selected: int | None = None
    only: Only = ""
    find: str = ""
    window: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class StepPlace:
    """A step in the order: `depth` counts the steps it is inside of; `last`: no sibling follows."""

    step: StepOutline
    depth: int = 0
    in_group: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class StepGroup:
    """Steps of one name, or of names that differ only in their numbers; `shown` are the first and last position of
    those that are unfolded (from 0), out of `members` that fit the choice.
    """

    name: str
    steps: tuple[StepOutline, ...]
    depth: int = 0
    members: tuple[StepOutline, ...] = ()
    shown: tuple[int, int] | None = None

    @property
    def key(self) -> int:
        return self.steps[0].seq


@dataclass(frozen=True, slots=True)
class Fold:
    """Rows that are left out, by the steps they stand for."""

    steps: tuple[StepOutline, ...]


Place: TypeAlias = StepPlace | StepGroup | Fold


@dataclass(frozen=True)
class Outline:
    """Every step of a run."""

    steps: Sequence[StepOutline]
    children: Mapping[int | None, list[StepOutline]] = field(init=False)

    def __post_init__(self) -> None:
        children: defaultdict[int | None, list[StepOutline]] = defaultdict(list)
        known = {step.seq for step in self.steps}
        for step in self.steps:
            children[step.parent if step.parent in known else None].append(step)
        object.__setattr__(self, "children", children)

    @cached_property
    def repeated(self) -> frozenset[tuple[StepKind, str]]:
        """The names that need an ordinal to tell their steps apart."""
        counts = Counter((step.kind, step.name) for step in self.steps)
        return frozenset(name for name, count in counts.items() if count > 1)

    @cached_property
    def by_seq(self) -> dict[int, StepOutline]:
        return {step.seq: step for step in self.steps}

    @property
    def has_rollback(self) -> bool:
        return any(step.has_rollback for step in self.steps)

    def ordinal(self, step: StepOutline) -> str:
        return f"#{step.ordinal:,}" if (step.kind, step.name) in self.repeated else ""

    def label(self, step: StepOutline) -> str:
        """The name, with the ordinal where it is needed."""
        return f"{step.name} {ordinal}" if (ordinal := self.ordinal(step)) else step.name

    def named(self, text: str) -> list[StepOutline]:
        """Steps whose name, kind or state contains the text."""
        wanted = text.lower()
        return [step for step in self.steps if wanted in _words(step)]

    def places(self, choice: Choice) -> list[Place]:
        """The rows, in order."""
        if choice.find:
            return [StepPlace(step) for step in self.named(choice.find)[:FOUND_SHOWN]]
        return _bounded(list(self._below(None, 0, choice)), choice)

    def _below(self, parent: int | None, depth: int, choice: Choice) -> Iterator[Place]:
        siblings = self.children.get(parent, [])
        groups = _groups(siblings, GROUP_FROM if len(self.steps) <= _FITS else GROUP_FROM_LONG)
        seen: set[int] = set()
        for index, step in enumerate(siblings):
            name, steps = groups.get(step.seq, ("", ()))
            if not steps:
                yield StepPlace(step, depth, last=index == len(siblings) - 1)
                yield from self._below(step.seq, depth + 1, choice)
            elif steps[0].seq not in seen:
                seen.add(steps[0].seq)
                yield from self._group(name, steps, depth, choice)

    def _group(self, name: str, steps: tuple[StepOutline, ...], depth: int, choice: Choice) -> Iterator[Place]:
        group, shown = _unfolded(StepGroup(name, steps, depth), choice)
        yield group
        for index, step in enumerate(shown):
            yield StepPlace(step, depth + 1, in_group=True, last=index == len(shown) - 1)
            yield from self._below(step.seq, depth + 2, choice)


def is_notable(step: StepOutline) -> bool:
    return step.state is not StepState.COMPLETED


_STATES: Final = {
    StepState.IN_FLIGHT: "running",
    StepState.RETRYING: "retrying",
    StepState.PENDING: "waiting",
    StepState.COMPLETED: "succeeded done",
    StepState.FAILED: "failed",
}
_KINDS: Final = {StepKind.DO: "step", StepKind.SLEEP: "sleep", StepKind.WAIT_FOR_EVENT: "event"}


def _words(step: StepOutline) -> str:
    return f"{step.name}-{step.ordinal} #{step.ordinal} {_KINDS[step.kind]} {_STATES[step.state]}".lower()


def _groups(siblings: Sequence[StepOutline], least: int) -> dict[int, tuple[str, tuple[StepOutline, ...]]]:
    """The group of each step that is in one, by seq."""
    found: dict[int, tuple[str, tuple[StepOutline, ...]]] = {}
    if len(siblings) < least:
        return found
    by_name: defaultdict[tuple[StepKind, str], list[StepOutline]] = defaultdict(list)
    for step in siblings:
        by_name[step.kind, step.name].append(step)
    by_pattern: defaultdict[tuple[StepKind, str], list[StepOutline]] = defaultdict(list)
    for (kind, name), steps in by_name.items():
        if len(steps) >= least:
            found.update(dict.fromkeys((step.seq for step in steps), (name, tuple(steps))))
        elif (pattern := _NUMBER.sub("#", name)) != name:
            by_pattern[kind, pattern].extend(steps)
    for (_, pattern), steps in by_pattern.items():
        if len(steps) >= least:
            steps.sort()
            found.update(dict.fromkeys((step.seq for step in steps), (pattern, tuple(steps))))
    return found


def _unfolded(group: StepGroup, choice: Choice) -> tuple[StepGroup, list[StepOutline]]:
    """The group, and the members that are shown below it."""
    seqs = {step.seq for step in group.steps}
    asked = choice.unfold & seqs
    members = tuple(step for step in group.steps if _fits(step, choice))
    notable = [step for step in group.steps if is_notable(step)][-_NOTABLE_SHOWN:]
    if choice.selected in seqs:
        notable = sorted({*notable, *(step for step in group.steps if step.seq == choice.selected)})
    if not asked:
        return StepGroup(group.name, group.steps, group.depth, members), notable
    first = next((index for index, step in enumerate(members) if step.seq >= min(asked)), 0)
    shown = members[first : first + UNFOLDED]
    place = (first, first + len(shown) - 1) if shown else None
    rows = sorted({*shown, *notable})
    return StepGroup(group.name, group.steps, group.depth, members, place), rows


def _fits(step: StepOutline, choice: Choice) -> bool:
    if choice.only == "retried" and step.attempts < 2:
        return False
    if choice.only == "failed" and step.state is not StepState.FAILED:
        return False
    return choice.window is None or in_window(step, choice.window)


def in_window(step: StepOutline, window: tuple[int, int]) -> bool:
    """Whether it ran, slept or waited then."""
    return step.started_at <= window[1] and (step.ended_at is None or step.ended_at >= window[0])


def _bounded(places: list[Place], choice: Choice) -> list[Place]:
    """Of very many rows the first, the last, and those that are open, have failed, or are asked for."""
    if len(places) <= _ROWS_SHOWN:
        return places
    kept: set[int] = {*range(_FIRST), *range(len(places) - _LAST, len(places))}
    kept.update(_notable_rows(places))
    for index, place in enumerate(places):
        if isinstance(place, StepPlace):
            if place.step.seq in choice.unfold:
                kept.update(range(index, index + UNFOLDED))
            if place.in_group or place.step.seq == choice.selected:
                kept.add(index)
        else:
            kept.add(index)
    return list(_folded(places, kept))


def _notable_rows(places: Sequence[Place]) -> list[int]:
    rows = [index for index, place in enumerate(places) if isinstance(place, StepPlace) and is_notable(place.step)]
    return rows[-_NOTABLE_ROWS:]


def _folded(places: Sequence[Place], kept: set[int]) -> Iterator[Place]:
    left_out: list[StepOutline] = []
    for index, place in enumerate(places):
        if index in kept or not isinstance(place, StepPlace):
            if left_out:
                yield Fold(tuple(left_out))
                left_out = []
            yield place
        else:
            left_out.append(place.step)
    if left_out:
        yield Fold(tuple(left_out))


def shown_seqs(places: Iterable[Place]) -> list[int]:
    """The steps that have a row of their own."""
    return sorted(place.step.seq for place in places if isinstance(place, StepPlace))
