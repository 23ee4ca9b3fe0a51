"""The figures of a run, each defined once: what every page means by a duration.

Duration of an instance: from its last start, when it left the queue, to its end or to now. Time in the queue is a
figure of its own. Duration of a step: from its start to its end, with all its attempts and the delays between them.
Duration of an attempt: from the call of the code to its result. Working time: how long at least one attempt ran.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from stepwell.emulator.storage.records import EventType, HistoryRow, InstanceRow

#: A shorter time in the queue is not worth a figure.
_QUEUED_FROM_MS = 50


class Interval(Protocol):
    @property
    def started_at(self) -> int: ...

    @property
    def ended_at(self) -> int | None: ...


def instance_span(row: InstanceRow) -> tuple[int, int | None] | None:
    """None before the first start."""
    return (row.started_at, row.ended_at) if row.started_at is not None else None


def queue_span(row: InstanceRow, history: Iterable[HistoryRow]) -> tuple[int, int] | None:
    """How long it was queued before its last start: a restarted instance was created long before."""
    if row.started_at is None:
        return None
    queued = (entry.at for entry in history if entry.type is EventType.WORKFLOW_QUEUED)
    since = max((at for at in queued if at <= row.started_at), default=row.started_at)
    return (since, row.started_at) if row.started_at - since >= _QUEUED_FROM_MS else None


def step_span(started_at: int, ended_at: int | None, attempts: Sequence[Interval]) -> tuple[int, int | None]:
    """Never shorter than one of its attempts: the two are written at different moments."""
    start = min([started_at, *(attempt.started_at for attempt in attempts)])
    if ended_at is None:
        return start, None
    return start, max([ended_at, *(attempt.ended_at for attempt in attempts if attempt.ended_at is not None)])


def working_ms(intervals: Iterable[tuple[int, int]]) -> int:
    """How long at least one of the intervals lasted."""
    total, until = 0, None
    for start, end in sorted(intervals):
        if until is None or start > until:
            total, until = total + max(0, end - start), end
        elif end > until:
            total, until = total + end - until, end
    return total
