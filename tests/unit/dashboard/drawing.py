"""Timelines and pages made of records, for tests that state only what they are about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stepwell.emulator.dashboard.instance.context import PageQuery, RunContext
from stepwell.emulator.dashboard.instance.links import RunLinks
from stepwell.emulator.dashboard.instance.outline import Choice, Outline
from stepwell.emulator.dashboard.instance.page import InstanceView, LiveFacts, read_page, read_page_steps
from stepwell.emulator.dashboard.instance.passes import PassView
from stepwell.emulator.dashboard.instance.steps import StepView
from stepwell.emulator.dashboard.instance.timeline import Timeline, TimelineInput, build_timeline, engine_time
from stepwell.emulator.dashboard.runs.saved_reader import SavedReader
from stepwell.emulator.histories.saved import SavedRun
from stepwell.emulator.storage.records import HistoryRow, InstanceRow, InstanceValues, StepRow, WorkflowRow
from stepwell.emulator.storage.view_records import StepOutline

WORKFLOW = WorkflowRow(1, "w1", "orders", "Orders", "worker", 0, 0, None, True)
NO_VALUES = InstanceValues(None, None, None, None, None)


def outline_of(views: Sequence[StepView]) -> Outline:
    return Outline(
        [
            StepOutline(
                view.seq,
                view.kind,
                view.name,
                view.count,
                view.parent,
                view.state,
                view.attempts,
                view.started_at,
                view.ended_at,
                view.due_at,
                view.has_rollback,
            )
            for view in views
        ]
    )


def context_of(
    row: InstanceRow,
    values: InstanceValues = NO_VALUES,
    steps: Sequence[StepRow] = (),
    history: Sequence[HistoryRow] = (),
    now: int = 99_000,
    query: PageQuery | None = None,
) -> RunContext:
    run = SavedRun(
        workflow=WORKFLOW,
        row=row,
        values=values,
        steps=tuple(steps),
        history=tuple(history),
        events=(),
        logs=(),
        saved_at=now,
    )
    return RunContext(WORKFLOW, row, SavedReader(run), now, query or PageQuery())


def page_of(*args: Any, **fields: Any) -> InstanceView:
    """The page of a run: see `context_of`."""
    context = context_of(*args, **fields)
    return read_page(context, read_page_steps(context), LiveFacts())


def timeline_of(
    row: InstanceRow,
    views: Sequence[StepView],
    history: Sequence[HistoryRow],
    now: int,
    *,
    choice: Choice | None = None,
    window: tuple[int, int] | None = None,
    times: Callable[[int], int] = engine_time,
    passes: Sequence[PassView] = (),
) -> Timeline:
    outline, choice = outline_of(views), choice or Choice(window=window)
    return build_timeline(
        TimelineInput(
            instance=row,
            outline=outline,
            places=outline.places(choice),
            steps={view.seq: view for view in views},
            history=history,
            now=now,
            links=RunLinks(context_of(row)),
            choice=choice,
            window=window,
            times=times,
            passes=passes,
        )
    )
