"""Time. The only module that reads or waits on the machine's clock; all other code receives a `Clock`."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Final, Protocol


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """The engine's source of time. Times are ms since the epoch."""

    #: Factor by which it is faster than real time.
    scale: float

    def now(self) -> int: ...

    def call_at(self, at: int, callback: Callable[[], None]) -> Timer:
        """Call back once on the running loop when `now()` reaches `at`, or immediately if it has."""
        ...

    def watch(self) -> LoopWatch:
        """Measures how long the loop was blocked."""
        ...

    def slice(self) -> Slice:
        """A time slice of the loop for long work, starting now."""
        ...


class LoopWatch:
    """Measures how long the running loop was paused: in a debugger, or while the machine was asleep.

    It needs a timer, so it runs only while `needed` returns True. `now_ms` is a time that continues during the
    pause; None for a clock that has none.
    """

    EVERY_MS = 500
    #: A beat of a busy loop may be this late without counting as a pause.
    TOLERATED_MS = 1_000

    def __init__(self, now_ms: Callable[[], int] | None) -> None:
        self._now_ms = now_ms
        self._handle: asyncio.TimerHandle | None = None
        self._needed: Callable[[], bool] = lambda: False
        self._seen_at = 0
        #: Total since the watch was created.
        self.paused_ms = 0

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
        """One beat of the watch."""
        self.look()
        if self._needed():
            self._arm()
        else:
            self._handle = None

    def look(self) -> None:
        """Add the pause since the last beat, if there was one."""
        if self._handle is None or self._now_ms is None:
            return
        now = self._now_ms()
        late_ms = now - self._seen_at - self.EVERY_MS
        if late_ms > self.TOLERATED_MS:
            self.paused_ms += late_ms
        self._seen_at = now

    def end(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def monotonic_ns() -> int:
    """Nanoseconds of real time, for measuring durations."""
    return time.perf_counter_ns()


class Slice:
    """A time slice of the loop for long work: when it is over, the work lets others run."""

    LENGTH_NS = 2_000_000

    def __init__(self, length_ns: int = LENGTH_NS) -> None:
        self._until = monotonic_ns() + length_ns

    @property
    def over(self) -> bool:
        return monotonic_ns() > self._until


class CountedSlice(Slice):
    """A slice that ends after a number of checks, so work runs in the same order on every machine."""

    CHECKS = 64

    def __init__(self) -> None:
        super().__init__()
        self._left = self.CHECKS

    @property
    def over(self) -> bool:
        self._left -= 1
        return self._left < 0


def _steady_clock() -> Callable[[], int]:
    """Nanoseconds of a clock that is never set and that includes the machine's sleep."""
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):  # on macOS, CLOCK_MONOTONIC includes sleep
        if hasattr(time, name):
            return partial(time.clock_gettime_ns, getattr(time, name))
    return time.monotonic_ns


_STEADY_NS: Final = _steady_clock()


class SteadyTime:
    """Milliseconds since the epoch that never jump: set from the machine's clock at start and after a sleep.

    A machine's clock can be set back by an hour, and a sleep of a second would then take an hour and a second.
    """

    #: The machine has slept if the clock with sleep and the one without differ by more than this.
    ASLEEP_NS = 1_000_000_000

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = _STEADY_NS,
        awake_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall_ns, self._steady_ns, self._awake_ns = wall_ns, steady_ns, awake_ns
        self._offset_ns = wall_ns() - steady_ns()
        self._slept_ns = steady_ns() - awake_ns()
        self._look_at_ns = 0

    def now_ms(self) -> int:
        steady_ns = self._steady_ns()
        if steady_ns >= self._look_at_ns:  # several calls a step: only the first one of a while looks
            self._note_sleep(steady_ns)
        return (steady_ns + self._offset_ns) // 1_000_000

    def _note_sleep(self, steady_ns: int) -> None:
        self._look_at_ns = steady_ns + self.ASLEEP_NS
        slept_ns = steady_ns - self._awake_ns()
        if slept_ns - self._slept_ns > self.ASLEEP_NS:
            self._slept_ns = slept_ns
            self._offset_ns = max(self._offset_ns, self._wall_ns() - steady_ns)  # time never goes back


class SystemClock:
    """Real time, `scale` times as fast, plus a skew that can be moved forward but never back."""

    #: Longer waits are split, so a sleep of the machine is noticed.
    LONGEST_WAIT_S = 60.0

    def __init__(self, skew_ms: int = 0, scale: float = 1.0, time: SteadyTime | None = None) -> None:
        self._time = time or SteadyTime()
        self._skew_ms = skew_ms
        self._began_ms = self._time.now_ms()
        self.scale = scale
        self._timers: set[_RealTimer] = set()

    @property
    def skew_ms(self) -> int:
        """Offset to the machine's clock."""
        gained_ms = (self._time.now_ms() - self._began_ms) * (self.scale - 1)
        return self._skew_ms + int(gained_ms)

    def now(self) -> int:
        real_ms = self._time.now_ms()
        if self.scale == 1.0:
            return real_ms + self._skew_ms
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
        """Move the clock; timers that are due now fire in the next turns of the loop."""
        if by_ms < 0:
            raise ValueError(f"the clock cannot go back ({by_ms} ms); expected 0 or more")
        self._skew_ms += by_ms
        for timer in list(self._timers):
            timer.arm()

    def forget(self, timer: _RealTimer) -> None:
        self._timers.discard(timer)


class _RealTimer:
    """A wait on the loop's own timers, rearmed when the skew moves."""

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
    """Time that moves only when a test moves it.

    Starts in 2001, so code that mixes it with real time fails immediately.
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
        """Advance the clock automatically, `scale` times as fast as real time, until the task is cancelled."""
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
        """Set the time and fire the timers due by then, in order of their deadlines."""
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
    """Call back after a number of turns of the running loop, so ready work and what it wakes run first."""
    loop = asyncio.get_running_loop()
    if turns <= 1:
        loop.call_soon(callback)
    else:
        loop.call_soon(after_turns, turns - 1, callback)


def in_next_turn(callback: Callable[[], None]) -> asyncio.Handle:
    """Call back in the next turn of the running loop. Unlike with call_soon, a cancelled handle costs no turn."""
    return asyncio.get_running_loop().call_later(0, callback)


def in_a_moment(callback: Callable[[], None]) -> asyncio.Handle:
    """Call back after 0.1 s of real time, to retry work that depends on something outside this process."""
    return asyncio.get_running_loop().call_later(0.1, callback)


async def turns(count: int) -> None:
    """Let the running loop turn `count` times.

    The task is resumed once, at the end: resuming a run costs as much as its chain of coroutines is long.
    """
    if count > 1:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        after_turns(count - 1, partial(resolve, done))
        await done
    elif count == 1:
        await asyncio.sleep(0)


async def breathe() -> None:
    """Yield real time to other threads and sockets without advancing the emulated clock."""
    await asyncio.sleep(0.0005)


def breathe_in_thread() -> None:
    """Like `breathe`, for code without a loop that waits for another process."""
    time.sleep(0.05)


def resolve(future: asyncio.Future[None]) -> None:
    """Complete a future, unless it is done or cancelled."""
    if not future.done():
        future.set_result(None)
