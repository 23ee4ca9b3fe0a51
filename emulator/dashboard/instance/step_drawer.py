"""The drawer: all there is about one step, and what it was given: `ctx`, in Python also results of other steps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.instance.attempts import AttemptView, tries_by_step
from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.instance.entries import LogView, log_views
from stepwell.emulator.dashboard.instance.links import RunLinks
from stepwell.emulator.dashboard.instance.steps import (
    Setting,
    StepView,
    settings_of,
    step_error,
    step_output,
    step_views,
)
from stepwell.emulator.dashboard.parts.errors import ErrorView, StackFrame, frame_at
from stepwell.emulator.dashboard.values.view import AMONG_OTHERS, ValueView, value_view
from stepwell.emulator.storage.records import StepKind, StepRow

_LOGS_SHOWN: Final = 200
#: Entries of the step's history, two for each attempt.
_ENTRIES_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Need:
    """A step whose result was given to another; `url` and `value` are missing where it is not recorded."""

    name: str
    url: str = ""
    value: ValueView | None = None


@dataclass(frozen=True, slots=True)
class StepInput:
    """`ctx` is that of the last attempt."""

    ctx: ValueView
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class StepDrawer:
    """Everything about one step. `site` is the line of user code that called it, None where that is not known.

    `history_urls` lead from an attempt, by its event, to the same moment in the history.
    """

    step: StepView
    step_count: int
    settings: tuple[Setting, ...]
    error: ErrorView | None
    given: StepInput | None
    output: ValueView
    attempts: tuple[AttemptView, ...]
    logs: tuple[LogView, ...]
    site: StackFrame | None
    history_urls: Mapping[int, str]
    close_url: str
    previous_url: str
    next_url: str
    restart: bool


def read_drawer(context: RunContext, seq: int, defaults: Mapping[str, object]) -> StepDrawer | None:
    """None for a step that there is not."""
    reader, key, links = context.reader, context.key, RunLinks(context)
    row = reader.step_shown(key, seq, AMONG_OTHERS.bytes)
    if row is None:
        return None
    step = _step(context, row)
    site = reader.call_site(key, seq)
    logs = reader.logs_shown(key, seq, _LOGS_SHOWN)
    attempts = (*step.tries.attempts, *step.tries.rollback)
    return StepDrawer(
        step=step,
        step_count=context.row.step_count,
        settings=settings_of(row, defaults, reader.given_config(key, seq)),
        error=step_error(row, context.read),
        given=_step_input(context, row, site.needs if site else ()),
        output=step_output(row, context.address.value(f"step-{seq}"), step.output_bytes),
        attempts=step.tries.attempts,
        logs=log_views(logs, {seq: step.label}, {}, context.address),
        site=frame_at(site.file, site.line, context.read) if site else None,
        history_urls={attempt.event_id: _moment(links, seq, attempt.event_id) for attempt in attempts},
        close_url=links.closed(),
        previous_url=links.step(seq - 1) if seq > 1 else "",
        next_url=links.step(seq + 1) if seq < context.row.step_count else "",
        restart=not context.read_only,
    )


def _step(context: RunContext, row: StepRow) -> StepView:
    reader, key, seq = context.reader, context.key, row.seq
    size = reader.output_sizes(key, seq, seq).get(seq)
    return step_views(
        [row],
        tries_by_step(reader.last_step_history(key, seq, _ENTRIES_SHOWN), context.read),
        {seq: size} if size is not None else {},
        {seq: RunLinks(context).step(seq)},
        over_at=context.row.ended_at,
        instance=context.row,
        labels={seq: context.label(seq)},
    )[0]


def _moment(links: RunLinks, seq: int, event_id: int) -> str:
    """The page of the history with an entry in its upper part."""
    return f"{links.tab('history', step=seq, after=max(0, event_id - 20))}#entry-{event_id}"


def _step_input(context: RunContext, row: StepRow, needs: tuple[str, ...]) -> StepInput | None:
    """None for waits, which run no code of the user's, and for what was carried over from another run."""
    if row.kind is not StepKind.DO or row.attempts == 0:
        return None
    ctx = {
        "step": {"name": row.name, "count": row.count},
        "attempt": row.attempts,
        "config": json.loads(row.config),
    }
    found = tuple(_need(context, row.seq, name) for name in needs)
    return StepInput(value_view("ctx", json.dumps(ctx, ensure_ascii=False)), found)


def _need(context: RunContext, seq: int, name: str) -> Need:
    """The step of this name whose result the step `seq` was given."""
    reader, key = context.reader, context.key
    at = reader.step_before(key, seq, name)
    row = reader.step_shown(key, at, AMONG_OTHERS.bytes) if at is not None else None
    if row is None:
        return Need(name)
    size = reader.output_sizes(key, row.seq, row.seq).get(row.seq)
    output = step_output(row, context.address.value(f"step-{row.seq}"), size)
    return Need(context.label(row.seq), RunLinks(context).step(row.seq), output)
