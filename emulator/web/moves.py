"""Requested clock moves. Logged in the terminal, since its timestamps jump."""

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
    """Why the clock can't be moved by `ms`, or an empty string."""
    if now + ms <= END_OF_TIME:
        return ""
    return f"Can't move the clock by {ms} ms from {iso(now)}: the latest supported date is {iso(END_OF_TIME)[:10]}."


async def advance(engine: Engine, ms: int) -> None:
    """Runs on the engine's thread, like all functions here."""
    with _told(engine):
        await engine.advance(ms)


async def advance_to_next(engine: Engine) -> int | None:
    with _told(engine):
        return await engine.advance_to_next()


async def stop(engine: Engine) -> None:
    """Stop the running move."""
    engine.stop_clock()


def skew_of(engine: Engine) -> int:
    """How far the clock is ahead of real time."""
    return engine.clock.skew_ms if isinstance(engine.clock, SystemClock) else 0


@contextmanager
def _told(engine: Engine) -> Iterator[None]:
    before = skew_of(engine)
    yield
    moved_ms = skew_of(engine) - before
    if moved_ms > 0:
        now = moment(engine.clock.now())
        _log.info("The clock was moved by %s: it is now %s.", describe_ms(moved_ms), now)
