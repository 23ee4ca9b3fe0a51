"""The lines below the head of an instance: when it was, how long it took, what made it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.instance.inputs import InstanceInputs
from stepwell.emulator.dashboard.parts.text import duration
from stepwell.emulator.storage.records import EventType, InstanceRef, InstanceRow

#: A shorter time in the queue is none.
_WORTH_TELLING_MS: Final = 50


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the header: a text, a time, or a span, which ticks while it has no end."""

    name: str
    text: str = ""
    at: int | None = None
    span: tuple[int, int | None] | None = None


def facts(given: InstanceInputs) -> list[Fact]:
    """In the order in which they are shown."""
    row = given.row
    facts = []
    if row.started_at is None or row.started_at - row.created_at >= _WORTH_TELLING_MS:
        facts.append(Fact("Created", at=row.created_at))
    if row.started_at is not None:
        facts.append(Fact("Started", at=row.started_at))
        facts.append(Fact("Duration", span=(row.started_at, row.ended_at)))
        facts.extend(_real_duration(given, row.started_at))
        facts.extend(_queued(given, row.started_at))
    if row.ended_at is not None:
        facts.append(Fact("Ended", at=row.ended_at))
    facts.append(Fact("Steps", str(row.step_count)))
    facts.append(Fact("Trigger", _trigger(row)))
    if (source := InstanceRef.from_json(row.copied_from)) is not None:
        facts.append(Fact("Copied from", f"{source.workflow}/{source.id}"))
    if row.restarted_at is not None:
        facts.append(Fact("Restarted", at=row.restarted_at))
    if given.version is not None:
        facts.append(Fact("Version", f"{given.version.id[:12]} ({given.version.language})"))
    if row.expires_at is not None:
        facts.append(Fact("Kept until", at=row.expires_at))
    return facts


def _queued(given: InstanceInputs, started_at: int) -> Iterable[Fact]:
    """How long it stood in the queue before this start: a restarted one was created long before."""
    queued = [entry.at for entry in given.history if entry.type is EventType.WORKFLOW_QUEUED]
    since = max((at for at in queued if at <= started_at), default=started_at)
    if started_at - since >= _WORTH_TELLING_MS:
        yield Fact("Queued", span=(since, started_at))


def _real_duration(given: InstanceInputs, started_at: int) -> Iterable[Fact]:
    """How long it took on the wall, where the clock was moved meanwhile."""
    end = given.row.ended_at if given.row.ended_at is not None else given.now
    if given.real_time.moved_within(started_at, end):
        yield Fact("In real time", duration(given.real_time.span(started_at, end)))


def _trigger(row: InstanceRow) -> str:
    creator = InstanceRef.from_json(row.created_by)
    return row.trigger + (f" {creator.workflow}/{creator.id}" if creator is not None else _schedule(row))


def _schedule(row: InstanceRow) -> str:
    return f" ({json.loads(row.schedule).get('cron')})" if row.schedule else ""
