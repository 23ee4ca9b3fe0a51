"""Alarm and Deadlines: what must happen later, on the injected clock."""

from __future__ import annotations

import contextlib

import pytest

from stepwell.emulator.clock import VirtualClock, turns
from stepwell.emulator.engine.passes.settling import Settling
from stepwell.emulator.engine.time.timers import END_OF_TIME, Alarm, Deadlines, due_in

pytestmark = pytest.mark.anyio


class CountingClock(VirtualClock):
    """A clock that counts the timers that were asked of it."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked = 0

    def call_at(self, at, callback):
        self.asked += 1
        return super().call_at(at, callback)


# -- Alarm


async def test_an_alarm_rings_at_the_earliest_time_it_was_asked_for() -> None:
    clock, rang = VirtualClock(0), []
    alarm = Alarm(clock, lambda: rang.append(clock.now()))
    for at in (50, 30, 40):
        alarm.by(at)
    clock.move_to(30)
    clock.move_to(100)

    assert rang == [30]
    assert alarm.at is None


async def test_asking_for_a_later_time_or_none_changes_nothing() -> None:
    clock = CountingClock()
    alarm = Alarm(clock, lambda: None)
    alarm.by(10)
    alarm.by(20)
    alarm.by(10)
    alarm.by(None)

    assert (alarm.at, clock.asked) == (10, 1)


async def test_it_can_be_set_again_by_its_own_callback() -> None:
    clock, rang = VirtualClock(0), []

    def ring():
        rang.append(clock.now())
        alarm.by(clock.now() + 10 if len(rang) < 3 else None)

    alarm = Alarm(clock, ring)
    alarm.by(10)
    for at in (10, 20, 30, 40):
        clock.move_to(at)

    assert rang == [10, 20, 30]


async def test_a_cancelled_alarm_is_silent() -> None:
    clock, rang = VirtualClock(0), []
    alarm = Alarm(clock, lambda: rang.append(1))
    alarm.by(10)
    alarm.cancel()
    clock.move_to(20)

    assert rang == []
    assert not alarm.is_due


async def test_it_knows_that_it_is_due_before_it_rings() -> None:
    clock = VirtualClock(100)
    alarm = Alarm(clock, lambda: None)
    alarm.by(50)
    assert alarm.is_due
    await turns(2)

    assert not alarm.is_due


# -- Deadlines


async def test_many_deadlines_share_one_timer() -> None:
    clock = CountingClock()
    deadlines = Deadlines(clock)
    for n in range(1000):
        deadlines.after(1000 + n, lambda: None)

    assert clock.asked == 1


async def test_they_fire_in_order_and_only_when_due() -> None:
    clock, fired = VirtualClock(0), []
    deadlines = Deadlines(clock)
    for ms in (30, 10, 20):
        deadlines.after(ms, lambda ms=ms: fired.append(ms))
    clock.move_to(20)
    assert fired == [10, 20]
    clock.move_to(30)

    assert fired == [10, 20, 30]


async def test_a_cancelled_deadline_does_not_fire_and_is_not_the_next() -> None:
    clock, fired = VirtualClock(0), []
    deadlines = Deadlines(clock)
    first = deadlines.after(10, lambda: fired.append(10))
    deadlines.after(20, lambda: fired.append(20))
    first.cancel()
    assert first.is_over
    assert deadlines.next_at() == 20
    clock.move_to(30)

    assert fired == [20]


async def test_cancelling_twice_or_after_the_firing_is_harmless() -> None:
    clock = VirtualClock(0)
    deadlines = Deadlines(clock)
    deadline = deadlines.after(10, lambda: None)
    clock.move_to(10)
    assert deadline.is_over
    deadline.cancel()
    deadline.cancel()

    assert deadlines._cancelled == 0


async def test_cancelled_ones_do_not_pile_up() -> None:
    deadlines = Deadlines(VirtualClock(0))
    kept = [deadlines.after(600_000, lambda: None) for _ in range(100)]
    for _ in range(100_000):
        deadlines.after(600_000, lambda: None).cancel()

    assert len(deadlines._heap) < 5_000
    assert sum(not entry[2].is_over for entry in deadlines._heap) == len(kept)


async def test_the_sweep_keeps_every_live_deadline() -> None:
    clock, fired = VirtualClock(0), []
    deadlines = Deadlines(clock)
    for n in range(5_000):
        deadline = deadlines.after(n + 1, lambda n=n: fired.append(n))
        if n % 5:
            deadline.cancel()
    clock.move_to(10_000)

    assert fired == list(range(0, 5_000, 5))
    assert deadlines._heap == []


async def test_a_deadline_set_by_a_deadline_fires_in_time() -> None:
    clock, fired = VirtualClock(0), []
    deadlines = Deadlines(clock)
    deadlines.after(10, lambda: deadlines.after(5, lambda: fired.append(clock.now())))
    clock.move_to(10)
    clock.move_to(15)

    assert fired == [15]


async def test_one_that_raises_does_not_stop_the_others() -> None:
    clock, fired = VirtualClock(0), []
    deadlines = Deadlines(clock)
    deadlines.after(10, lambda: 1 / 0)
    deadlines.after(10, lambda: fired.append(1))
    with contextlib.suppress(ZeroDivisionError):
        clock.move_to(10)
    await turns(3)

    assert fired == [1]


async def test_after_stop_nothing_fires() -> None:
    clock, fired = VirtualClock(0), []
    deadlines = Deadlines(clock)
    deadlines.after(10, lambda: fired.append(1))
    deadlines.stop()
    clock.move_to(20)

    assert fired == []
    assert deadlines.next_at() is None


def test_no_time_is_later_than_the_end_of_time() -> None:
    clock = VirtualClock(5)

    assert due_in(clock, 10) == 15
    assert due_in(clock, 10**40) == END_OF_TIME


# -- Settling


async def test_each_is_called_once_some_turns_later() -> None:
    settling, called = Settling(), []
    for n in range(3):
        settling.add(lambda n=n: called.append(n))
    assert called == []
    assert len(settling) == 3
    await turns(12)

    assert called == [0, 1, 2]
    assert len(settling) == 0


async def test_what_is_added_while_others_settle_is_not_forgotten() -> None:
    settling, called = Settling(), []
    settling.add(lambda: settling.add(lambda: called.append("second")))
    await turns(2)
    settling.add(lambda: called.append("third"))
    await turns(30)

    assert sorted(called) == ["second", "third"]


async def test_many_share_their_turns() -> None:
    settling, called = Settling(), []

    async def keep_adding():
        for n in range(50):
            settling.add(lambda n=n: called.append(n))
            await turns(1)

    await keep_adding()
    await turns(20)

    assert sorted(called) == list(range(50))
