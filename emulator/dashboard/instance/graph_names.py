"""Reduces the names of a graph: names that differ only in numbers are merged, and a maximum applies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from stepwell.emulator.storage.records import StepKind
from stepwell.emulator.storage.view_records import StepBrief

#: Up to so many names nothing is folded.
FOLD_FROM: Final = 40
#: So many of one pattern become one.
_ALIKE: Final = 3
_NUMBER: Final = re.compile(r"\d+")

Name = tuple[StepKind, str]


@dataclass(frozen=True, slots=True)
class FewerNames:
    """`alike` says how many names a folded one stands for, `left_out` how many are not in `runs` any more."""

    runs: Sequence[StepBrief]
    alike: dict[Name, int]
    left_out: int


def name_of(step: StepBrief) -> Name:
    return step.kind, step.name


def fewer_names(runs: Sequence[StepBrief], instance: int, most: int) -> FewerNames:
    """At most `most` names: those that `instance` took first come first."""
    names = {name_of(step) for step in runs}
    alike: dict[Name, int] = {}
    if len(names) > FOLD_FROM:
        patterns = _patterns(names)
        alike = {pattern: len(own) for pattern, own in patterns.items()}
        folded = {name: pattern for pattern, own in patterns.items() for name in own}
        runs = [replace(step, name=folded.get(name_of(step), name_of(step))[1]) for step in runs]
    in_order = list(dict.fromkeys(map(name_of, sorted(runs, key=lambda step: step.instance != instance))))
    if len(in_order) > most:
        kept = set(in_order[:most])
        runs = [step for step in runs if name_of(step) in kept]
    return FewerNames(runs, alike, max(0, len(in_order) - most))


def _patterns(names: Iterable[Name]) -> dict[Name, set[Name]]:
    """ "page #" with "page 1", "page 2" and so on."""
    found: dict[Name, set[Name]] = {}
    for kind, text in names:
        pattern = _NUMBER.sub("#", text)
        if pattern != text:
            found.setdefault((kind, pattern), set()).add((kind, text))
    return {pattern: own for pattern, own in found.items() if len(own) >= _ALIKE}
