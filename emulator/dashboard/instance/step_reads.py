"""Steps of a run with their attempts, as far as the page shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stepwell.emulator.dashboard.instance.attempts import tries_by_step
from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.instance.links import RunLinks
from stepwell.emulator.dashboard.instance.steps import StepView, step_views
from stepwell.emulator.storage.records import HistoryRow, StepRow


@dataclass(frozen=True, slots=True)
class ReadSteps:
    """`history` has the entries of these steps and of the instance itself."""

    rows: Sequence[StepRow]
    views: tuple[StepView, ...]
    history: Sequence[HistoryRow]


def read_steps(context: RunContext, seqs: Iterable[int]) -> ReadSteps:
    wanted = sorted(set(seqs))
    reader, key, links = context.reader, context.key, RunLinks(context)
    rows, history = reader.steps_of(key, wanted), reader.history_of(key, wanted)
    views = step_views(
        rows,
        tries_by_step(history),
        reader.sizes_of(key, wanted),
        {row.seq: links.step(row.seq) for row in rows},
        over_at=context.row.ended_at,
        instance=context.row,
        labels={row.seq: context.label(row.seq) for row in rows},
    )
    return ReadSteps(rows, views, history)
