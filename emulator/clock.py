"""Time. The only module that reads or waits on the machine's clock; everything else is handed a `Clock`."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from itertools import count
from typing import Protocol


class Timer(Protocol):
    """A callback that is due at some time."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Where the engine takes its time from. Times are ms since the epoch."""

    #: How many times faster than real time it runs.
    scale: float

    def now(self) -> int: ...

    def call_at(self, at: int, callback: Callable[[], None]) -> Timer:
        """Calls back on the running loop, once, when `now()` has reached `at`; at once if it has already."""
        ...

    def watch(self) -> LoopWatch:
        """Notices how long the loop stood still while this clock went on."""
        ...

    def slice(self) -> Slice:
        """A share of the loop for a long piece of work, beginning now."""
        ...


class LoopWatch:
    """Notices how long the running loop stood still: in a debugger, or while the machine was asleep.

    It takes a timer of its own; so it is on only while `needed` says so. `now_ms` is the time that goes on
    meanwhile; None for a clock that does not.
    """

    EVERY_MS = 500
    #: A busy loop may be this late without counting as one that stood still.
    TOLERATED_MS = 1_000

    def __init__(self, now_ms: Callable[[], int] | None) -> None:
        self._now_ms = now_ms
        self._handle: asyncio.TimerHandle | None = None
        self._needed: Callable[[], bool] = lambda: False
        self._seen_at = 0
        #: In all, since the watch was made.
        self.stood_ms = 0

    def begin(self, needed: Callable[[], bool]) -> None:
        if self._handle is None and self._now_ms is not None:
            self._needed = needed
            self._seen_at = self._now_ms()
            self._arm()

    def _arm(self) -> None:
        self._handle = asyncio.get_running_loop().call_later(self.EVERY_MS / 1000, self.beat)

    @property
    def is_on(self) -> bool:
        return self._handle is not None

    def beat(self) -> None:
        """One turn of the watch."""
        self.look()
        if self._needed():
            self._arm()
        else:
            self._handle = None

    def look(self) -> None:
        """Counts what has been missed up to now."""
        if self._handle is None or self._now_ms is None:
            return
        now = self._now_ms()
        late_ms = now - self._seen_at - self.EVERY_MS
        if late_ms > self.TOLERATED_MS:
            self.stood_ms += late_ms
        self._seen_at = now

    def end(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def monotonic_ns() -> int:
    """Nanoseconds for measuring how long something took; moved by no skew."""
    return time.perf_counter_ns()


class Slice:
    """A share of the loop's time for a long piece of work: when it is over, others go first."""

    LENGTH_NS = 2_000_000

    def __init__(self, length_ns: int = LENGTH_NS) -> None:
        self._until = monotonic_ns() + length_ns

    @property
    def over(self) -> bool:
        return monotonic_ns() > self._until


class CountedSlice(Slice):
    """A share that is over when it was looked at so often: however fast the machine, work goes the same way."""

    LOOKS = 64

    def __init__(self) -> None:
        super().__init__()
        self._left = self.LOOKS

    @property
    def over(self) -> bool:
        self._left -= 1
        return self._left < 0


def _steady_ns() -> int:
    """Nanoseconds of a clock that nobody sets, and that goes on while the machine sleeps."""
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):  # on macOS the second one goes on, too
        if hasattr(time, name):
            return time.clock_gettime_ns(getattr(time, name))
    return time.monotonic_ns()


class SteadyTime:
    """Milliseconds since the epoch that never jump: set by the machine's clock at start and after it slept.

    A machine's clock can be set back by an hour, and a sleep of a second would then take an hour and a second.
    """

    #: A gap between the clocks that stand still and that go on in sleep, from which on the machine has slept.
    ASLEEP_NS = 1_000_000_000

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = _steady_ns,
        awake_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall_ns, self._steady_ns, self._awake_ns = wall_ns, steady_ns, awake_ns
        self._offset_ns = wall_ns() - steady_ns()
        self._slept_ns = steady_ns() - awake_ns()

    def now_ms(self) -> int:
        steady_ns = self._steady_ns()
        slept_ns = steady_ns - self._awake_ns()
        if slept_ns - self._slept_ns > self.ASLEEP_NS:
            self._slept_ns = slept_ns
            self._offset_ns = max(self._offset_ns, self._wall_ns() - steady_ns)  # time never goes back
        return (steady_ns + self._offset_ns) // 1_000_000


class SystemClock:
    """Real time, `scale` times as fast, plus a skew that can be moved forward but never back."""

    #: Waits are cut into pieces, so that a sleep of the machine is noticed.
    LONGEST_WAIT_S = 60.0

    def __init__(self, skew_ms: int = 0, scale: float = 1.0, time: SteadyTime | None = None) -> None:
        self._time = time or SteadyTime()
        self._skew_ms = skew_ms
        self._began_ms = self._time.now_ms()
        self.scale = scale
        self._timers: set[_RealTimer] = set()

    @property
    def skew_ms(self) -> int:
        """How far it is ahead of the machine's clock."""
        gained_ms = (self._time.now_ms() - self._began_ms) * (self.scale - 1)
        return self._skew_ms + int(gained_ms)

    def now(self) -> int:
        real_ms = self._time.now_ms()
        return self._began_ms + int((real_ms - self._began_ms) * self.scale) + self._skew_ms

    def watch(self) -> LoopWatch:
        return LoopWatch(self._time.now_ms)

    def slice(self) -> Slice:
        return Slice()

    def call_at(self, at: int, callback: Callable[[], None]) -> Timer:
        timer = _RealTimer(self, at, callback)
        self._timers.add(timer)
        timer.arm()
        return timer

    def move(self, by_ms: int) -> None:
        """Moves the skew; timers that are due now fire in the next turns of the loop."""
        if by_ms < 0:
            raise ValueError(f"the clock cannot go back ({by_ms} ms); expected 0 or more")
        self._skew_ms += by_ms
        for timer in list(self._timers):
            timer.arm()

    def forget(self, timer: _RealTimer) -> None:
        self._timers.discard(timer)


class _RealTimer:
    """A wait on the loop's own timers, armed anew when the skew moves."""

    def __init__(self, clock: SystemClock, at: int, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._at = at
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None

    def arm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        left_s = min((self._at - self._clock.now()) / 1000 / self._clock.scale, SystemClock.LONGEST_WAIT_S)
        self._handle = asyncio.get_running_loop().call_later(max(left_s, 0), self._due)

    def _due(self) -> None:
        if self._clock.now() < self._at:
            self.arm()
            return
        self._clock.forget(self)
        self._callback()

    def cancel(self) -> None:
        self._clock.forget(self)
        if self._handle is not None:
            self._handle.cancel()


class VirtualClock:
    """Time that moves only when it is told to; for tests.

    Starts in a year that cannot be today, so that code that mixes two clocks fails at once.
    """

    #: 2001-09-09T01:46:40Z
    START_AT = 1_000_000_000_000

    scale: float = 1.0

    def __init__(self, start_at: int = START_AT) -> None:
        self._now = start_at
        self._heap: list[tuple[int, int, _VirtualTimer]] = []
        self._order = count()

    def now(self) -> int:
        return self._now

    def watch(self) -> LoopWatch:
        return LoopWatch(None)

    def slice(self) -> Slice:
        return CountedSlice()

    def call_at(self, at: int, callback: Callable[[], None]) -> Timer:
        timer = _VirtualTimer(callback)
        if at <= self._now:
            asyncio.get_running_loop().call_soon(timer.fire)
        else:
            heapq.heappush(self._heap, (at, next(self._order), timer))
        return timer

    def run(self, scale: float) -> asyncio.Task[None]:
        """Has it pass by itself, `scale` times as fast as real time, until the task is cancelled."""
        self.scale = scale
        return asyncio.get_running_loop().create_task(self._pass(scale))

    async def _pass(self, scale: float) -> None:
        start, began_ns = self._now, monotonic_ns()
        while True:
            await asyncio.sleep(0.005)
            self.move_to(start + int((monotonic_ns() - began_ns) / 1_000_000 * scale))

    def next_at(self) -> int | None:
        """When the earliest timer is due."""
        while self._heap and self._heap[0][2].cancelled:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def move_to(self, at: int) -> None:
        """Sets the time and fires what is due by then, in order of the deadlines."""
        self._now = max(self._now, at)
        while (due := self.next_at()) is not None and due <= self._now:
            heapq.heappop(self._heap)[2].fire()


class _VirtualTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self.cancelled = False

    def fire(self) -> None:
        if not self.cancelled:
            self.cancelled = True
            self._callback()

    def cancel(self) -> None:
        self.cancelled = True


def after_turns(turns: int, callback: Callable[[], None]) -> None:
    """Calls back when the running loop has turned that often: what is ready now, and what it wakes, goes first."""
    loop = asyncio.get_running_loop()
    if turns <= 1:
        loop.call_soon(callback)
    else:
        loop.call_soon(after_turns, turns - 1, callback)


def in_next_turn(callback: Callable[[], None]) -> asyncio.Handle:
    """Calls back in the next turn of the running loop. Unlike call_soon's handle, one cancelled costs no turn."""
    return asyncio.get_running_loop().call_later(0, callback)


def in_a_moment(callback: Callable[[], None]) -> asyncio.Handle:
    """Calls back after 0.1 s of real time: to try again what depends on something outside of this process."""
    return asyncio.get_running_loop().call_later(0.1, callback)


async def turns(count: int) -> None:
    """Lets the running loop turn that often."""
    for _ in range(count):
        await asyncio.sleep(0)


async def breathe() -> None:
    """Gives other threads and sockets a moment of real time; no time of the product passes by it."""
    await asyncio.sleep(0.0005)


def breathe_in_thread() -> None:
    """As `breathe`, for code without a loop that waits for another process."""
    time.sleep(0.05)


def resolve(future: asyncio.Future[None]) -> None:
    """Ends a future that may have ended already, been cancelled included."""
    if not future.done():
        future.set_result(None)
