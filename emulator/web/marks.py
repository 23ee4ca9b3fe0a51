"""What a list says of an instance beyond its row."""

from __future__ import annotations

from collections.abc import Iterable

from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.real_time import RealTime
from stepwell.emulator.storage.records import InstanceRow
from stepwell.emulator.web.moves import skew_of


def real_durations(engine: Engine, rows: Iterable[InstanceRow]) -> dict[int, int]:
    """How long instances really ran, in ms by their keys: only those during which the clock was moved."""
    real_time, now = RealTime(engine.clock_moves.all, skew_of(engine)), engine.clock.now()
    durations = {}
    for row in rows:
        end = now if row.ended_at is None else row.ended_at
        if row.started_at is not None and real_time.moved_within(row.started_at, end):
            durations[row.key] = real_time.span(row.started_at, end)
    return durations


def unreadable(engine: Engine, rows: Iterable[InstanceRow]) -> frozenset[int]:
    """Keys of the instances whose data is damaged, so that they do not continue."""
    damaged = engine.damaged
    return frozenset(row.key for row in rows if row.damaged or row.key in damaged)
