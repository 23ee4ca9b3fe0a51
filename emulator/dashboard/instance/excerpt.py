"""Which steps of a long run are shown: how it began, where it is now, what is open or failed, what was asked for.

What lies between is folded, with its count; a page of a run of 25,000 steps is no longer than one of 60.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: A run of up to so many steps is shown whole.
WHOLE: Final = 60
FIRST: Final = 10
NEWEST: Final = 25
#: So many steps unfold at a time.
UNFOLDED: Final = 100
#: So many open or failed ones are shown wherever they are.
NOTABLE: Final = 60
#: A fold of fewer steps would save nothing.
_LEAST: Final = 4


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Numbers of steps: those that are shown, and the folds as (first, last)."""

    shown: tuple[int, ...]
    folds: tuple[tuple[int, int], ...]


def excerpt(
    count: int, notable: Iterable[int] = (), *, unfold: int | None = None, selected: int | None = None
) -> Excerpt:
    """Of a run of `count` steps; `unfold` is the first of a stretch that was asked for."""
    if count <= WHOLE:
        return Excerpt(tuple(range(1, count + 1)), ())
    wanted = {*range(1, FIRST + 1), *range(count - NEWEST + 1, count + 1), *notable}
    if unfold is not None:
        wanted.update(range(unfold, unfold + UNFOLDED))
    if selected is not None:
        wanted.update(range(selected - 2, selected + 3))
    shown = sorted(seq for seq in wanted if 1 <= seq <= count)
    folds: list[tuple[int, int]] = []
    filled: list[int] = []
    for seq in shown:
        before = filled[-1] if filled else 0
        if seq - before - 1 >= _LEAST:
            folds.append((before + 1, seq - 1))
            filled.append(seq)
        else:
            filled.extend(range(before + 1, seq + 1))
    return Excerpt(tuple(filled), tuple(folds))
