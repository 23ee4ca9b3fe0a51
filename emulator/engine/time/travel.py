"""Moves the clock. Due work runs in order and gets real time to finish.

A running step needs real time, which moving the clock does not provide. So the clock waits for running code before
each due time: as long as anything changes, plus a few seconds. Code that has changed nothing by then may hang; its
own timeout is then treated like other due times (case timeout-default).
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

#: The setting in storage that holds the clock's skew across restarts.
SKEW_SETTING: Final = "clock_skew_ms"
#: The clock waits for running code while anything changes within this real time: before a due time...
_PATIENCE_NS: Final = 5_000_000_000
#: For this many turns, the loop is polled without pauses.
_TURNS_WITHOUT_PAUSE: Final = 200
#: ...if nothing is due...
_MOMENT_NS: Final = 100_000_000
#: ...and never longer than this in total, because a Workflow may run forever.
_LONGEST_NS: Final = 120_000_000_000
#: How often the skew of a faster clock is stored, in real time. A crash loses at most this much.
_KEPT_EVERY_MS: Final = 1_000
#: 9000-01-01. Python dates end with the year 9999, and deadlines lie after the clock's time.
LATEST: Final = 221_845_392_000_000


@dataclass(frozen=True, slots=True)
class Move:
    """A move of the clock in progress. `woken` counts the instances woken so far."""

    start: int
    end: int
    woken: int

    def share(self, now: int) -> float:
        """Progress from 0 to 1."""
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
        #: Attempts that did not finish while the clock waited for them.
        self._hanging: frozenset[Deadline] = frozenset()
        #: The target of the current move; None between moves.
        self.bound_for: int | None = None
        self._moving = self._stopped = False
        self._kept = Alarm(core.clock, self.keep_scaled)
        self._began_at = self._woken_before = 0

    @property
    def under_way(self) -> Move | None:
        """The current move; None between moves."""
        if self.bound_for is None:
            return None
        return Move(self._began_at, self.bound_for, self._outlook.woken() - self._woken_before)

    def _begin(self, end: int | None) -> None:
        """Raise `EngineError` during another move: the two would overwrite each other's target."""
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
        """True if nothing happens without time or a call: all instances wait, are paused, queued or finished."""
        return self._going_on() <= 0 and self._outlook.is_quiet()

    def _going_on(self) -> int:
        """Number of instances whose code is running."""
        return self._core.slots.total - self._core.parked

    async def idle(self) -> None:
        """Wait until the engine is idle.

        User code that awaits something other than a step (a request, a timer) is not idle.
        """
        while not self.is_idle:
            await turns(2)
            if not self.is_idle and not self._core.store.dirty and not len(self._core.settling):
                await breathe()

    async def advance(self, ms: int) -> None:
        """Move the clock. Due work runs in order; each instance runs until it waits again.

        `stop()` ends the move early. Raises `EngineError` during another move.
        """
        end = self._core.clock.now() + ms
        _check(end)
        self._begin(end)
        try:
            await self._advance(end, self._skew_ms() + ms)
        finally:
            self._end_move()

    def stop(self) -> None:
        """Stop the current move at the time that it has reached."""
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
            # Real time has passed during the move; the clock is still moved by the full `ms`.
            self._skew_by(self._core.clock, skew_ms - self._core.clock.skew_ms)
        self.move(end)
        await self._gone_on(_MOMENT_NS)

    def _due_by(self, end: int) -> int | None:
        """The earliest due time up to `end`, or None."""
        at = self._outlook.next_at()
        return at if at is not None and at <= end else None

    async def advance_to_next(self) -> int | None:
        """Move the clock to the next due time and return it. None if nothing is due, or the move was stopped."""
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
        """Set the time and wake everything due by then. Await `idle` for the work to finish."""
        clock = self._core.clock
        if isinstance(clock, VirtualClock):
            clock.move_to(at)
        elif isinstance(clock, SystemClock):
            self._skew_by(clock, at - clock.now())
        else:
            raise EngineError(f"This clock cannot be moved: {type(clock).__name__}")
        self._outlook.wake_due()

    async def _gone_on(self, patience_ns: int) -> None:
        """Wait until running code is idle, or has changed nothing for long enough."""
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
            # Most wakes need a few turns of the loop and no real time; a pause would take longer than the wake.
            await (turns(1) if turned < _TURNS_WITHOUT_PAUSE else breathe())
            turned += 1
        return False

    def _only_hangs(self) -> bool:
        """True if the clock has already waited for all code that is still running."""
        if not self._hanging or not self._outlook.is_quiet():
            return False
        pending = self._core.callbacks.deadlines.pending()
        return pending <= self._hanging and self._going_on() <= len(pending)

    def _skew_ms(self) -> int:
        clock = self._core.clock
        return clock.skew_ms if isinstance(clock, SystemClock) else 0

    def keep_scaled(self) -> None:
        """Store the skew of a clock that runs faster than real time, so it never goes back after a restart."""
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
        """Move the real clock forward, and store its skew for the next process."""
        start = clock.now()
        clock.move(max(ms, 0))
        self._moves.note(start, start + ms)
        self._core.store.put_setting(SKEW_SETTING, str(clock.skew_ms))


def _check(at: int) -> None:
    if at > LATEST:
        raise EngineError("Can't move the clock past the year 8999.")
