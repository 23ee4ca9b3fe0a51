"""What must happen later, on the injected clock.

Two kinds of deadline. Those of waiting instances lie in storage (a million of them cost no memory); here only
the earliest is known. Those of attempts in flight (timeouts, delay functions) live in a heap, because they die
with the process anyway.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import Final

from stepwell.emulator.clock import Clock, Timer

#: Nothing is due later: the last time that JavaScript and a database both hold.
END_OF_TIME: Final = 2**53 - 1

#: The heap is swept when more than this many and over half of its entries are cancelled.
_SWEEP_ABOVE: Final = 1_000


def due_in(clock: Clock, ms: int) -> int:
    """The time that is so far away, as far as times go."""
    return min(clock.now() + ms, END_OF_TIME)


class Alarm:
    """Calls back at the earliest time it was asked for; asking for a later one changes nothing."""

    def __init__(self, clock: Clock, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._callback = callback
        self._at: int | None = None
        self._timer: Timer | None = None

    @property
    def at(self) -> int | None:
        return self._at

    @property
    def is_due(self) -> bool:
        """Whether it rings in the next turns, with no time passing."""
        return self._at is not None and self._at <= self._clock.now()

    def by(self, at: int | None) -> None:
        """Makes sure that the alarm rings no later than `at`."""
        if at is None or (self._at is not None and self._at <= at):
            return
        self.cancel()
        self._at = at
        self._timer = self._clock.call_at(at, self._ring)

    def _ring(self) -> None:
        self._at = self._timer = None
        self._callback()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._at = self._timer = None


class Deadline:
    """One entry of `Deadlines`; `cancel` is cheap and final."""

    __slots__ = ("_callback", "_owner")

    def __init__(self, owner: Deadlines, callback: Callable[[], None]) -> None:
        self._owner: Deadlines | None = owner
        self._callback = callback

    @property
    def is_over(self) -> bool:
        """Whether it was cancelled or has fired."""
        return self._owner is None

    def cancel(self) -> None:
        if self._owner is not None:
            owner, self._owner = self._owner, None
            owner.note_cancelled()

    def fire(self) -> None:
        self._owner = None
        self._callback()


class Deadlines:
    """Many short-lived deadlines behind one timer of the clock.

    They run on real time, however fast the clock goes: running code is no faster for it. The time in which the
    loop stood still does not count: while a debugger holds the process, no attempt can get on either. So the heap
    holds times less what had been missed when they were set.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._watch = clock.watch()
        self._alarm = Alarm(clock, self._fire_due)
        self._heap: list[tuple[int, int, Deadline]] = []
        self._order = count()
        self._cancelled = 0

    def after(self, ms: int, callback: Callable[[], None]) -> Deadline:
        deadline = Deadline(self, callback)
        at = self._clock.now() + round(ms * self._clock.scale)
        self._watch.begin(self._any_left)
        heapq.heappush(self._heap, (at - self._stood_ms(), next(self._order), deadline))
        self._alarm.by(at)
        return deadline

    def note_cancelled(self) -> None:
        self._cancelled += 1
        if self._cancelled > _SWEEP_ABOVE and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].is_over]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def next_at(self) -> int | None:
        """When the earliest deadline is due that nobody cancelled."""
        while self._heap and self._heap[0][2].is_over:
            heapq.heappop(self._heap)
            self._cancelled -= 1
        return self._heap[0][0] + self._stood_ms() if self._heap else None

    def _stood_ms(self) -> int:
        return round(self._watch.paused_ms * self._clock.scale)

    def pending(self) -> frozenset[Deadline]:
        """Those that are neither over nor cancelled."""
        return frozenset(deadline for _, _, deadline in self._heap if not deadline.is_over)

    def _any_left(self) -> bool:
        return self.next_at() is not None

    def _fire_due(self) -> None:
        self._watch.look()
        try:
            while (due := self.next_at()) is not None and due <= self._clock.now():
                heapq.heappop(self._heap)[2].fire()
        finally:
            self._alarm.by(self.next_at())  # also for the others when one raises

    def stop(self) -> None:
        self._watch.end()
        self._alarm.cancel()
        self._heap.clear()
