"""The steps that the page of an instance shows, with what belongs to them; of a long run not all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.dashboard.excerpt import NOTABLE, WHOLE, Excerpt, excerpt
from emulator.storage.records import HistoryRow, InstanceRow, StepRow
from emulator.storage.store import StoreReader
from emulator.storage.view_records import StepStretch

_FOUND: Final = 200


@dataclass(frozen=True, slots=True)
class ShownSteps:
    """`history` has the entries of the instance itself as well; `folded` are the steps that are not shown."""

    steps: Sequence[StepRow]
    output_sizes: Mapping[int, int]
    history: Sequence[HistoryRow]
    folded: Sequence[StepStretch]


def shown_steps(
    reader: StoreReader, row: InstanceRow, unfold: int | None, selected: int | None, find: str = ""
) -> ShownSteps:
    """`unfold` is the first of a stretch that was asked for, `selected` the step of the side panel.

    With `find` they are those whose names contain it, and what is open or has failed, which the page tells of too.
    """
    key = row.key
    if find:
        seqs = {*reader.steps_named(key, find, _FOUND), *reader.notable_steps(key, NOTABLE)}
        return _read(reader, key, Excerpt(tuple(sorted(seqs)), ()))
    notable = reader.notable_steps(key, NOTABLE) if row.step_count > WHOLE else ()
    return _read(reader, key, excerpt(row.step_count, notable, unfold=unfold, selected=selected))


def _read(reader: StoreReader, key: int, found: Excerpt) -> ShownSteps:
    return ShownSteps(
        steps=reader.steps_of(key, found.shown),
        output_sizes=reader.sizes_of(key, found.shown),
        history=reader.history_of(key, found.shown),
        folded=reader.step_stretches(key, found.folds) if found.folds else (),
    )
