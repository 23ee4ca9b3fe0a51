"""What the fixtures `clock` and `engine` give."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from stepwell.bindings.durations import duration_ms
from stepwell.bindings.values.times import ms_datetime
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.engine.introspection import Point
from stepwell.emulator.testing.crash_plan import CrashPlan
from stepwell.emulator.testing.emulation import Emulation
from stepwell.emulator.testing.errors import NotCrashed
from stepwell.emulator.testing.explain import summary
from stepwell.emulator.testing.pace import Pace


class ClockControl:
    """The time of the test's engine. It stands still unless it is moved; waiting costs no real time."""

    def __init__(self, emulation: Emulation) -> None:
        self._emulation = emulation

    def now(self) -> datetime:
        """In UTC."""
        return ms_datetime(self._emulation.clock.now()).replace(tzinfo=UTC)

    @property
    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return self._emulation.clock.now()

    async def advance(self, duration: str | int | timedelta) -> None:
        """Moves the clock by "1 day", milliseconds or a timedelta; what becomes due happens in order."""
        __tracebackhide__ = True
        ms = duration // timedelta(milliseconds=1) if isinstance(duration, timedelta) else duration_ms(duration)
        if ms < 0:
            raise ValueError(f"the clock cannot go back ({duration}); expected a positive duration")
        await Pace(self._emulation).advance(ms)

    async def advance_to(self, moment: datetime) -> None:
        """Moves the clock to a moment; a naive one counts as UTC."""
        __tracebackhide__ = True
        at = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        await self.advance(at - self.now())

    async def run_until_idle(self) -> None:
        """Moves the clock until it brings nothing any more: everything has finished, or waits for a call.

        Event waits are left waiting, and schedules are not followed to the end of time.
        """
        __tracebackhide__ = True
        await Pace(self._emulation).run_until_idle()

    @property
    def auto_advance(self) -> bool:
        """Whether the clock advances automatically when everything waits for it."""
        return self._emulation.auto_advance

    @auto_advance.setter
    def auto_advance(self, moves: bool) -> None:
        self._emulation.auto_advance = moves


class EngineControl:
    """The engine of the test: to crash it and to start it again."""

    def __init__(self, emulation: Emulation) -> None:
        self._emulation = emulation
        self._plan: CrashPlan | None = None

    @property
    def raw(self) -> Engine:
        """The engine itself, for what this class does not offer."""
        return self._emulation.engine

    async def idle(self) -> None:
        """Returns when nothing goes on any more without time or a call."""
        __tracebackhide__ = True
        await Pace(self._emulation).settle()

    def crash(self) -> None:
        """Ends the engine as if its process had been killed: what was not committed is lost."""
        self._emulation.crash()

    async def restart(self) -> None:
        """Starts a new engine on what was stored, with the code loaded anew; crashes the old one if it runs."""
        await self._emulation.restart()

    def crash_at(self, point: Point | str, step: str | None = None, attempt: int | None = None) -> None:
        """Crashes when a run reaches the point: "before result", "sleeping" ... (see `Point`).

        `step` is a step's name, with or without its count; `attempt` a number. Both narrow it down.
        """
        plan = CrashPlan(self._emulation.crash, Point(point), step, attempt)
        self._emulation.at_point(plan.reached)
        self._plan = plan

    async def crashed(self) -> None:
        """Wait until the engine has crashed as planned. Raises `NotCrashed` if it never reaches the point."""
        __tracebackhide__ = True
        pace = Pace(self._emulation)
        while self._emulation.crashed is None:
            await pace.settle()
            if self._emulation.crashed is None and not (self._emulation.auto_advance and pace.move_to_next()):
                raise NotCrashed(
                    f"{self._plan or 'The planned crash'} did not happen.\n\n{summary(self._emulation)}"
                )

    @property
    def has_crashed(self) -> bool:
        return self._emulation.crashed is not None
