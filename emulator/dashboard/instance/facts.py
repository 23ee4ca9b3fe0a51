"""The facts below the header of an instance: when it ran and for how long, what created it, which code ran."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.parts.figures import instance_span, queue_span, working_ms
from stepwell.emulator.dashboard.parts.text import duration, number
from stepwell.emulator.storage.records import (
    HistoryRow,
    InstanceRef,
    InstanceRow,
    StepKind,
    StepState,
    Trigger,
    VersionRow,
)

_WORTH_TELLING_MS = 50
_LANGUAGES = {"python": "Python", "javascript": "JavaScript"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A text, a time, or a span, which ticks while it has no end. `lesser` facts are left out in narrow windows."""

    name: str
    text: str = ""
    at: int | None = None
    span: tuple[int, int | None] | None = None
    title: str = ""
    lesser: bool = False


def facts(context: RunContext, history: Sequence[HistoryRow], version: VersionRow | None) -> list[Fact]:
    """In the order in which they are shown."""
    row = context.row
    found = [*_times(context, history), Fact("Steps", _steps(context)), Fact("Trigger", _trigger(row), lesser=True)]
    if (source := InstanceRef.from_json(row.copied_from)) is not None:
        found.append(Fact("Copied from", f"{source.workflow}/{source.id}"))
    if row.restarted_at is not None:
        found.append(Fact("Restarted", at=row.restarted_at, lesser=True))
    if version is not None:
        language = _LANGUAGES.get(version.language, version.language)
        found.append(Fact("Code", f"{language}, {version.id[:8]}", title=version.id, lesser=True))
    if row.expires_at is not None:
        found.append(Fact("Kept until", at=row.expires_at, lesser=True))
    return found


def _times(context: RunContext, history: Sequence[HistoryRow]) -> Iterable[Fact]:
    row, span = context.row, instance_span(context.row)
    if span is None:
        yield Fact("Created", at=row.created_at)
        return
    if span[0] - row.created_at >= _WORTH_TELLING_MS:
        yield Fact("Created", at=row.created_at, lesser=True)
    yield Fact("Started", at=span[0])
    yield Fact("Duration", span=span)
    yield from _working(context, span)
    end = row.ended_at if row.ended_at is not None else context.now
    if context.real_time.moved_within(span[0], end):
        yield Fact("In real time", duration(context.real_time.span(span[0], end)))
    if (queued := queue_span(row, history)) is not None:
        yield Fact("Queued", span=queued)


def _working(context: RunContext, span: tuple[int, int | None]) -> Iterable[Fact]:
    """Only where sleeps and waits took most of the time, and steps are not so many that it is guesswork."""
    steps = [step for step in context.outline.steps if step.kind is StepKind.DO and step.started_at >= span[0]]
    if any(step.ended_at is None or step.attempts > 1 for step in steps):
        return  # how long each attempt took is not in the outline
    intervals = [(step.started_at, step.ended_at or step.started_at) for step in steps]
    end = span[1] if span[1] is not None else context.now
    working = working_ms(intervals)
    if intervals and end - span[0] > 2 * working + 1_000:
        title = "Time in attempts, without sleeps, waits and retry delays"
        yield Fact("Working time", duration(working), title=title)


def _steps(context: RunContext) -> str:
    """ "12", or "3 of 4 done" while or where some have not succeeded."""
    steps = context.outline.steps
    done = sum(step.state is StepState.COMPLETED for step in steps)
    return number(len(steps)) if done == len(steps) else f"{number(done)} of {number(len(steps))} done"


def _trigger(row: InstanceRow) -> str:
    creator = InstanceRef.from_json(row.created_by)
    word = "API" if row.trigger is Trigger.API else row.trigger.capitalize()
    return word + (f" {creator.workflow}/{creator.id}" if creator is not None else _schedule(row))


def _schedule(row: InstanceRow) -> str:
    return f" ({json.loads(row.schedule).get('cron')})" if row.schedule else ""
