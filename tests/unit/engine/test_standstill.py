"""Timeouts of attempts while the process is held: by a debugger, or because the machine was asleep."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.emulator.clock import CountedSlice, LoopWatch, SystemClock, VirtualClock, turns
from stepwell.emulator.engine.time.timers import Deadlines

pytestmark = pytest.mark.anyio

MINUTE = 60_000


class HeldClock(VirtualClock):
    """A clock that goes on while the loop stands still; the test says by how much, and when the loop turns."""

    def __init__(self) -> None:
        super().__init__()
        self.loop_watch = LoopWatch(self.now)

    def watch(self) -> LoopWatch:
        return self.loop_watch

    def hold(self, ms: int) -> None:
        """The process is stopped for so long; then all timers find out at once."""
        self.move_to(self.now() + ms)

    def run(self, ms: int) -> None:
        """The loop turns while time passes."""
        end = self.now() + ms
        while self.now() < end:
            self.move_to(min(self.now() + LoopWatch.EVERY_MS, end))
            self.loop_watch.look()


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture
def fired() -> list[str]:
    return []


async def test_an_attempt_keeps_the_time_in_which_a_debugger_held_it(clock, fired) -> None:
    deadlines = Deadlines(clock)
    deadlines.after(MINUTE, lambda: fired.append("timeout"))

    clock.run(20_000)
    clock.hold(10 * MINUTE)

    assert fired == []
    assert 39_000 <= deadlines.next_at() - clock.now() <= 40_000


async def test_an_attempt_times_out_when_its_own_time_is_over(clock, fired) -> None:
    deadlines = Deadlines(clock)
    deadlines.after(MINUTE, lambda: fired.append("timeout"))

    clock.run(20_000)
    clock.hold(10 * MINUTE)
    clock.run(41_000)

    assert fired == ["timeout"]


async def test_a_loop_that_is_only_busy_moves_no_timeout(clock, fired) -> None:
    deadlines = Deadlines(clock)
    deadlines.after(5_000, lambda: fired.append("timeout"))

    for _ in range(5):
        clock.hold(1_000)
        clock.loop_watch.look()

    assert fired == ["timeout"]


async def test_a_deadline_set_after_a_standstill_counts_from_then(clock, fired) -> None:
    deadlines = Deadlines(clock)
    deadlines.after(MINUTE, lambda: fired.append("first"))
    clock.hold(10 * MINUTE)

    deadlines.after(1_000, lambda: fired.append("second"))
    clock.run(1_000)

    assert fired == ["second"]


async def test_a_moved_clock_is_no_standstill() -> None:
    clock, fired = SystemClock(), []
    deadlines = Deadlines(clock)
    deadlines.after(MINUTE, lambda: fired.append("timeout"))

    clock.move(2 * MINUTE)
    await asyncio.sleep(0.001)
    await turns(2)

    assert fired == ["timeout"]


async def test_nothing_is_watched_without_an_attempt_in_flight(clock) -> None:
    deadlines = Deadlines(clock)
    deadline = deadlines.after(MINUTE, lambda: None)
    assert clock.loop_watch.is_on

    deadline.cancel()
    clock.loop_watch.beat()

    assert not clock.loop_watch.is_on


async def test_the_end_of_the_engine_ends_the_watch(clock) -> None:
    deadlines = Deadlines(clock)
    deadlines.after(MINUTE, lambda: None)

    deadlines.stop()

    assert not clock.loop_watch.is_on


def test_a_share_of_the_loop_is_counted_under_a_clock_of_tests() -> None:
    first, second = VirtualClock().slice(), VirtualClock().slice()

    looks = [[share.over for _ in range(100)] for share in (first, second)]

    assert looks[0] == looks[1]
    assert looks[0].count(False) == CountedSlice.CHECKS
