"""Moves of the clock that somebody asks for: the terminal tells of them, since its times jump with them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from stepwell.bindings.durations import describe_ms
from stepwell.bindings.values.times import iso
from stepwell.emulator.clock import SystemClock
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.local_time import moment

_log = logging.getLogger("stepwell.server")

#: Times need a date, of which 9999 is the last year: some of them are left for sleeps that begin then.
END_OF_TIME: Final = 221_845_392_000_000


def too_far(now: int, ms: int) -> str:
    """Why the clock cannot be moved by so many ms; empty where it can."""
    if now + ms <= END_OF_TIME:
        return ""
    return (
        f"The clock is at {iso(now)} and can be moved to {iso(END_OF_TIME)[:10]} at most, which is less than "
        f"{ms} ms away: dates end with the year 9999."
    )


async def advance(engine: Engine, ms: int) -> None:
    """On the engine's thread, as all here."""
    with _told(engine):
        await engine.advance(ms)


async def advance_to_next(engine: Engine) -> int | None:
    with _told(engine):
        return await engine.advance_to_next()


async def stop(engine: Engine) -> None:
    """Ends the move that goes on."""
    engine.stop_clock()


def skew_of(engine: Engine) -> int:
    """By how much the clock is ahead of real time."""
    return engine.clock.skew_ms if isinstance(engine.clock, SystemClock) else 0


@contextmanager
def _told(engine: Engine) -> Iterator[None]:
    before = skew_of(engine)
    yield
    moved_ms = skew_of(engine) - before
    if moved_ms > 0:
        now = moment(engine.clock.now())
        _log.info("The clock was moved by %s: it is now %s.", describe_ms(moved_ms), now)
