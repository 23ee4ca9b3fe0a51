"""The steps that the page of an instance shows, with what belongs to them; of a long run not all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.instance.excerpt import NOTABLE, UNFOLDED, WHOLE, Excerpt, excerpt
from stepwell.emulator.dashboard.parts.selected_run import RunReader
from stepwell.emulator.storage.records import HistoryRow, InstanceRow, StepRow
from stepwell.emulator.storage.view_records import StepStretch

_FOUND: Final = 200


@dataclass(frozen=True, slots=True)
class ShownSteps:
    """`history` has the entries of the instance itself as well; `folded` are the steps that are not shown."""

    steps: Sequence[StepRow]
    output_sizes: Mapping[int, int]
    history: Sequence[HistoryRow]
    folded: Sequence[StepStretch]


@dataclass(frozen=True, slots=True)
class StepSelection:
    """What of a run was asked for: the stretch from the step `unfold` on, the `selected` step of the side panel, a
    `window` of the engine's time, or the steps whose names contain `find`."""

    unfold: int | None = None
    selected: int | None = None
    window: tuple[int, int] | None = None
    find: str = ""


def shown_steps(reader: RunReader, row: InstanceRow, asked: StepSelection) -> ShownSteps:
    """What is open or has failed is there whatever is asked for: the page tells of it in other places too."""
    key = row.key
    if asked.find:
        seqs = {*reader.steps_named(key, asked.find, _FOUND), *reader.notable_steps(key, NOTABLE)}
        return _read(reader, key, Excerpt(tuple(sorted(seqs)), ()))
    wanted = _wanted(reader, key, asked.window) if row.step_count > WHOLE else ()
    return _read(reader, key, excerpt(row.step_count, wanted, unfold=asked.unfold, selected=asked.selected))


def _wanted(reader: RunReader, key: int, window: tuple[int, int] | None) -> Sequence[int]:
    notable = reader.notable_steps(key, NOTABLE)
    return notable if window is None else [*notable, *reader.steps_within(key, *window, UNFOLDED)]


def _read(reader: RunReader, key: int, found: Excerpt) -> ShownSteps:
    return ShownSteps(
        steps=reader.steps_of(key, found.shown),
        output_sizes=reader.sizes_of(key, found.shown),
        history=reader.history_of(key, found.shown),
        folded=reader.step_stretches(key, found.folds) if found.folds else (),
    )
