"""Moving the clock: what becomes due happens in its order, and what goes on then gets real time for it.

A step that works takes real time, which a moved clock does not give it. So before the clock comes to anything that
is due it waits for what goes on: as long as anything changes, and some seconds longer. What has changed nothing by
then may hang, and its own timeout counts as anything else that is due (case timeout-default).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from stepwell.bindings.errors import EngineError
from stepwell.bindings.values.times import iso
from stepwell.emulator.clock import Slice, SystemClock, VirtualClock, breathe, turns
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.time.clock_moves import ClockMoves
from stepwell.emulator.engine.time.timers import Alarm, Deadline

#: Where the clock's skew is kept across restarts.
SKEW_SETTING: Final = "clock_skew_ms"
#: Real time in which something must change, so that what goes on is waited for: before something that is due...
_PATIENCE_NS: Final = 5_000_000_000
#: Turns of the loop without a pause while it waits for that.
_TURNS_WITHOUT_PAUSE: Final = 200
#: ...where nothing is...
_MOMENT_NS: Final = 100_000_000
#: ...but in all no longer than this: a Workflow may go on for ever.
_LONGEST_NS: Final = 120_000_000_000
#: How often a faster clock's time is kept, in real time: a crash loses no more.
_KEPT_EVERY_MS: Final = 1_000
#: 9000-01-01: the clock is not moved to times that cannot be written as a date.
LATEST: Final = 221_845_392_000_000


@dataclass(frozen=True, slots=True)
class Move:
    """A move of the clock that goes on: `woken` counts the instances that it has woken so far."""

    start: int
    end: int
    woken: int

    def share(self, now: int) -> float:
        """How much of the way is behind, from 0 to 1."""
        return min(1.0, max(0.0, (now - self.start) / max(1, self.end - self.start)))


@dataclass(frozen=True, slots=True)
class EngineState:
    """What the engine says of itself. `is_quiet`: no code is about to be called, nothing is to be stored.

    `woken`: how many instances it has woken in all.
    """

    is_quiet: Callable[[], bool]
    next_at: Callable[[], int | None]
    next_wake: Callable[[], int | None]
    wake_due: Callable[[], None]
    woken: Callable[[], int]


class TimeTravel:
    """Moves one engine's clock."""

    def __init__(self, core: Core, moves: ClockMoves, outlook: EngineState) -> None:
        self._core = core
        self._moves = moves
        self._outlook = outlook
        #: Attempts that were waited for in vain.
        self._hanging: frozenset[Deadline] = frozenset()
        #: Where the move that goes on leads to; None between moves.
        self.bound_for: int | None = None
        self._moving = self._stopped = False
        self._kept = Alarm(core.clock, self.keep_scaled)
        self._began_at = self._woken_before = 0

    @property
    def under_way(self) -> Move | None:
        """The move that goes on; None between moves."""
        if self.bound_for is None:
            return None
        return Move(self._began_at, self.bound_for, self._outlook.woken() - self._woken_before)

    def _begin(self, end: int | None) -> None:
        """Raises `EngineError` while another move goes on: two would overwrite each other's end."""
        if self._moving:
            heading = "" if self.bound_for is None else f" to {iso(self.bound_for)}"
            raise EngineError(
                f"The clock is already moving{heading}. Wait until it has arrived, or stop that move."
            )
        self.bound_for, self._moving, self._stopped = end, True, False
        self._moves.gather()
        self._began_at, self._woken_before = self._core.clock.now(), self._outlook.woken()

    @property
    def is_idle(self) -> bool:
        """Whether nothing goes on without time or a call: every instance waits, is paused, queued or finished."""
        return self._going_on() <= 0 and self._outlook.is_quiet()

    def _going_on(self) -> int:
        """Instances whose code goes on by itself."""
        return self._core.slots.total - self._core.parked

    async def idle(self) -> None:
        """Returns when nothing goes on any more by itself.

        Code of users that awaits something of its own (a request, a timer) counts as going on.
        """
        while not self.is_idle:
            await turns(2)
            if not self.is_idle and not self._core.store.dirty and not len(self._core.settling):
                await breathe()

    async def advance(self, ms: int) -> None:
        """Moves the clock; what becomes due happens in order, each instance going on until it waits again.

        It comes less far when it is stopped. Raises `EngineError` while another move goes on.
        """
        end = self._core.clock.now() + ms
        _check(end)
        self._begin(end)
        try:
            await self._advance(end, self._skew_ms() + ms)
        finally:
            self._end_move()

    def stop(self) -> None:
        """Ends a move that goes on: the clock stands where it has come to."""
        self._stopped = True

    async def _advance(self, end: int, skew_ms: int) -> None:
        await self._gone_on(_MOMENT_NS)
        while (at := self._due_by(end)) is not None:
            if not self.is_idle:
                await self._gone_on(_PATIENCE_NS)
                at = self._due_by(end)
            if self._stopped:
                return
            if at is not None:
                self.move(at)
                await self._gone_on(_MOMENT_NS)
        if isinstance(self._core.clock, SystemClock):
            # Real time has passed meanwhile; the clock is moved by all of `ms` nevertheless.
            self._skew_by(self._core.clock, skew_ms - self._core.clock.skew_ms)
        self.move(end)
        await self._gone_on(_MOMENT_NS)

    def _due_by(self, end: int) -> int | None:
        """When the first thing is due, if that is no later than `end`."""
        at = self._outlook.next_at()
        return at if at is not None and at <= end else None

    async def advance_to_next(self) -> int | None:
        """Moves the clock to what is due next, unless it is stopped; gives that time, or None when nothing is."""
        self._begin(self._next_at())
        try:
            await self._gone_on(_PATIENCE_NS)
            at = self._next_at()
            if at is not None and not self._stopped:
                _check(at)
                self.move(at)
                await self._gone_on(_MOMENT_NS)
            return at
        finally:
            self._end_move()

    def _end_move(self) -> None:
        self.bound_for, self._moving = None, False
        self._moves.keep()

    def _next_at(self) -> int | None:
        """What `advance_to_next` goes to: no timeout of a step that works, unless time is injected."""
        real = isinstance(self._core.clock, SystemClock) and not self._core.parked
        return self._outlook.next_wake() if real else self._outlook.next_at()

    def move(self, at: int) -> None:
        """Sets the time and wakes what is due by then; `idle` returns when that has gone on as far as it can."""
        clock = self._core.clock
        if isinstance(clock, VirtualClock):
            clock.move_to(at)
        elif isinstance(clock, SystemClock):
            self._skew_by(clock, at - clock.now())
        else:
            raise EngineError(f"This clock cannot be moved: {type(clock).__name__}")
        self._outlook.wake_due()

    async def _gone_on(self, patience_ns: int) -> None:
        """Everything has gone on as far as it can without more time, or has not for that long."""
        if isinstance(self._core.clock, VirtualClock):
            await self.idle()
            return
        longest = Slice(_LONGEST_NS)
        while not longest.over:
            seen = self._core.changes.published
            if await self._rests_within(patience_ns, longest):
                return
            if self._core.changes.published == seen:
                break
        if patience_ns == _PATIENCE_NS:
            self._hanging = self._core.callbacks.deadlines.pending()

    async def _rests_within(self, patience_ns: int, longest: Slice) -> bool:
        patience, turned = Slice(patience_ns), 0
        # Patience is for user code. What the engine itself has begun is waited for, however slow the machine is.
        while not longest.over and not (patience.over and self._outlook.is_quiet()):
            if self._stopped or self.is_idle or self._only_hangs():
                return True
            # Most wakes need some turns of the loop and no real time: to wait for that takes longer than the wake.
            await (turns(1) if turned < _TURNS_WITHOUT_PAUSE else breathe())
            turned += 1
        return False

    def _only_hangs(self) -> bool:
        """Whether all that goes on was waited for already."""
        if not self._hanging or not self._outlook.is_quiet():
            return False
        pending = self._core.callbacks.deadlines.pending()
        return pending <= self._hanging and self._going_on() <= len(pending)

    def _skew_ms(self) -> int:
        clock = self._core.clock
        return clock.skew_ms if isinstance(clock, SystemClock) else 0

    def keep_scaled(self) -> None:
        """Of a clock that runs faster than real time: keeps how far ahead it is, so that it never goes back."""
        clock = self._core.clock
        if isinstance(clock, SystemClock) and clock.scale != 1:
            self._core.store.put_setting(SKEW_SETTING, str(clock.skew_ms))
            self._kept.by(clock.now() + round(_KEPT_EVERY_MS * clock.scale))

    def end(self) -> None:
        """The engine stops."""
        self.keep_scaled()
        self._kept.cancel()

    def halt(self) -> None:
        """The engine ends at once, and stores nothing."""
        self._kept.cancel()

    def _skew_by(self, clock: SystemClock, ms: int) -> None:
        """Moves real time forward; what the move comes to is kept for the next process."""
        start = clock.now()
        clock.move(max(ms, 0))
        self._moves.note(start, start + ms)
        self._core.store.put_setting(SKEW_SETTING, str(clock.skew_ms))


def _check(at: int) -> None:
    if at > LATEST:
        raise EngineError("Can't move the clock past the year 8999.")
