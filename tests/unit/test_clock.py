"""The clocks: virtual time for tests, and the machine's time with a skew."""

from __future__ import annotations

import asyncio
import time

import pytest

from stepwell.emulator.clock import (
    Slice,
    SteadyTime,
    SystemClock,
    VirtualClock,
    after_turns,
    monotonic_ns,
    resolve,
    turns,
)
from stepwell.emulator.engine.time.timers import Deadlines

pytestmark = pytest.mark.anyio


# -- virtual time


async def test_virtual_time_stands_still() -> None:
    clock = VirtualClock()
    await asyncio.sleep(0)

    assert clock.now() == VirtualClock.START_AT


async def test_it_starts_in_a_year_that_cannot_be_today() -> None:
    assert abs(VirtualClock().now() - SystemClock().now()) > 365 * 86_400_000


async def test_timers_fire_in_the_order_of_their_deadlines() -> None:
    clock, fired = VirtualClock(0), []
    for at in (30, 10, 20):
        clock.call_at(at, lambda at=at: fired.append((at, clock.now())))
    clock.move_to(25)

    assert fired == [(10, 25), (20, 25)]
    assert clock.next_at() == 30


async def test_of_one_moment_the_first_asked_for_fires_first() -> None:
    clock, fired = VirtualClock(0), []
    for name in "abc":
        clock.call_at(5, lambda name=name: fired.append(name))
    clock.move_to(5)

    assert fired == ["a", "b", "c"]


async def test_a_timer_that_is_due_already_fires_in_the_next_turn_not_at_once() -> None:
    clock, fired = VirtualClock(100), []
    clock.call_at(100, lambda: fired.append(1))
    assert fired == []
    await asyncio.sleep(0)

    assert fired == [1]


async def test_a_cancelled_timer_does_not_fire() -> None:
    clock, fired = VirtualClock(0), []
    later = clock.call_at(5, lambda: fired.append(1))
    soon = clock.call_at(0, lambda: fired.append(2))
    later.cancel()
    soon.cancel()
    clock.move_to(10)
    await asyncio.sleep(0)

    assert fired == []
    assert clock.next_at() is None


async def test_a_timer_set_by_a_timer_fires_in_the_same_move_when_it_is_due() -> None:
    clock, fired = VirtualClock(0), []
    clock.call_at(5, lambda: clock.call_at(7, lambda: fired.append("second")))
    clock.move_to(7)
    await asyncio.sleep(0)

    assert fired == ["second"]


async def test_virtual_time_does_not_go_back() -> None:
    clock = VirtualClock(100)
    clock.move_to(50)

    assert clock.now() == 100


async def test_a_callback_is_called_once() -> None:
    clock, fired = VirtualClock(0), []
    clock.call_at(5, lambda: fired.append(1))
    clock.move_to(5)
    clock.move_to(50)

    assert fired == [1]


# -- the machine's time


async def test_system_time_is_the_machines_plus_the_skew() -> None:
    clock = SystemClock(skew_ms=3_600_000)

    assert abs(clock.now() - (time.time_ns() // 1_000_000 + 3_600_000)) < 5_000


async def test_moving_it_adds_to_the_skew() -> None:
    clock = SystemClock(1_000)
    before = clock.now()
    clock.move(5_000)

    assert clock.skew_ms == 6_000
    assert clock.now() - before >= 5_000


async def test_it_cannot_go_back() -> None:
    clock = SystemClock()

    with pytest.raises(ValueError, match="cannot go back"):
        clock.move(-1)
    assert clock.skew_ms == 0


async def test_a_move_fires_what_is_due_then() -> None:
    clock = SystemClock()
    fired = asyncio.Event()
    clock.call_at(clock.now() + 3_600_000, fired.set)
    clock.move(3_600_000)
    async with asyncio.timeout(5):
        await fired.wait()


async def test_a_timer_that_is_due_fires_soon() -> None:
    clock = SystemClock()
    fired = asyncio.Event()
    clock.call_at(clock.now() - 10, fired.set)
    async with asyncio.timeout(5):
        await fired.wait()


async def test_a_cancelled_timer_of_the_machine_is_forgotten() -> None:
    clock = SystemClock()
    fired = asyncio.Event()
    timer = clock.call_at(clock.now() + 10_000, fired.set)
    timer.cancel()
    clock.move(20_000)
    await turns(5)

    assert not fired.is_set()
    assert clock._timers == set()


async def test_a_wait_of_years_is_cut_into_pieces_that_a_loop_can_wait() -> None:
    clock = SystemClock()
    clock.call_at(clock.now() + 10**15, lambda: None)
    timer = next(iter(clock._timers))

    assert timer._handle.when() - asyncio.get_running_loop().time() <= SystemClock.LONGEST_WAIT_S
    timer.cancel()


class Machine:
    """The clocks of a machine, in ns."""

    def __init__(self):
        self.wall, self.steady, self.awake = 10**18, 0, 0

    def time(self):
        return SteadyTime(lambda: self.wall, lambda: self.steady, lambda: self.awake)

    def passes(self, ms, *, asleep=False):
        self.wall += ms * 10**6
        self.steady += ms * 10**6
        self.awake += 0 if asleep else ms * 10**6


@pytest.mark.parametrize("jump_ms", [-3_600_000, 3_600_000])
def test_a_machine_clock_that_jumps_moves_no_deadline(jump_ms) -> None:
    machine = Machine()
    clock = SystemClock(time=machine.time())
    before = clock.now()
    machine.passes(900)
    machine.wall += jump_ms * 10**6

    assert clock.now() - before == 900


def test_time_goes_on_while_the_machine_sleeps_and_follows_its_clock_then() -> None:
    machine = Machine()
    clock = SystemClock(time=machine.time())
    before = clock.now()
    machine.passes(60_000, asleep=True)
    machine.wall += 2_000 * 10**6  # the steady clock was 2 s slow

    assert clock.now() - before == 62_000


def test_after_a_sleep_time_does_not_go_back() -> None:
    machine = Machine()
    clock = SystemClock(time=machine.time())
    before = clock.now()
    machine.passes(60_000, asleep=True)
    machine.wall -= 3_600_000 * 10**6

    assert clock.now() - before == 60_000


def test_a_scaled_clock_runs_faster_and_knows_how_far_it_is_ahead() -> None:
    machine = Machine()
    clock = SystemClock(1_000, scale=60, time=machine.time())
    before = clock.now()
    machine.passes(1_000)

    assert clock.now() - before == 60_000
    assert clock.skew_ms == 60_000


async def test_a_timer_of_a_scaled_clock_waits_for_less_real_time() -> None:
    clock = SystemClock(scale=1_000)
    fired = asyncio.Event()
    clock.call_at(clock.now() + 60_000, fired.set)
    async with asyncio.timeout(5):
        await fired.wait()


async def test_the_deadline_of_running_code_is_as_long_as_without_a_scale() -> None:
    machine = Machine()
    clock, fired = SystemClock(scale=60, time=machine.time()), []
    deadlines = Deadlines(clock)
    deadlines.after(1_000, lambda: fired.append(True))
    at = deadlines.next_at()
    machine.passes(999)
    assert clock.now() < at
    machine.passes(1)

    assert clock.now() >= at
    deadlines.stop()


# -- turns of the loop


async def test_after_turns_lets_what_is_ready_go_first() -> None:
    order = []
    after_turns(2, lambda: order.append("after two"))
    asyncio.get_running_loop().call_soon(lambda: order.append("one"))
    asyncio.get_running_loop().call_soon(lambda: asyncio.get_running_loop().call_soon(lambda: order.append("two")))
    await turns(4)

    assert order == ["one", "after two", "two"] or order == ["one", "two", "after two"]


async def test_resolve_ends_a_future_once_however_it_ended_before() -> None:
    loop = asyncio.get_running_loop()
    done, cancelled, pending = loop.create_future(), loop.create_future(), loop.create_future()
    done.set_result(None)
    cancelled.cancel()
    for future in (done, cancelled, pending):
        resolve(future)

    assert pending.done()


def test_a_slice_is_over_after_a_while_of_work() -> None:
    share = Slice()
    assert not share.over
    began = monotonic_ns()
    while monotonic_ns() - began <= Slice.LENGTH_NS:
        pass

    assert share.over
