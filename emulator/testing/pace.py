"""Letting the instances of a test go on, and moving its clock; a test never waits in real time for either."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from stepwell.emulator.clock import breathe, monotonic_ns, turns
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.storage.records import FINITE, StepKind, StepState
from stepwell.emulator.testing.errors import StillRunning
from stepwell.emulator.testing.explain import explained, explained_running

if TYPE_CHECKING:
    from stepwell.emulator.testing.emulation import Emulation

#: Turns of the loop that code gets to go on by itself before the machine is given time.
_TURNS: Final = 20
#: The most that one look at the machine's clock counts: a debugger that holds the process costs no patience.
_LONGEST_LOOK_MS: Final = 50
#: How long others of the test's tasks may take to do something, before a wait fails. Only a failing test waits.
_OTHERS_MS: Final = 250
#: Moves of the clock that one wait may make.
_MOST_MOVES: Final = 20_000
_DUE_AT_ONCE: Final = 50


class Pace:
    """Goes on with the instances of an emulation."""

    def __init__(self, emulation: Emulation) -> None:
        self._emulation = emulation

    # -- without time
    async def settle(self, reached: Callable[[], bool] = lambda: False) -> None:
        """Returns when nothing goes on any more by itself, or `reached` holds, or the engine has crashed.

        Raises `StillRunning` when user code goes on for longer than the test's patience.
        """
        emulation = self._emulation
        if emulation.crashed is not None:
            return
        engine = await emulation.started()
        patience = _Patience(emulation)
        quiet, looked = 0, -1
        while emulation.runs and not engine.is_idle:
            if looked != emulation.commits and not engine.store.dirty:  # what is not durable has not happened
                looked = emulation.commits
                if reached():
                    return
            quiet += 1
            if quiet <= _TURNS:
                await turns(1)
                continue
            await breathe()
            quiet = 0 if patience.commits != emulation.commits else quiet
            if patience.is_over():
                raise StillRunning(explained_running(emulation))

    async def until(self, reached: Callable[[], bool], wanted: str, key: int | None) -> None:
        """Returns when `reached` holds; `wanted` says what that is. Never waits for what cannot come.

        Moves the clock if the test has `auto_advance`. Raises `WouldWait` or one of its kinds.
        """
        __tracebackhide__ = True
        emulation = self._emulation
        moves = 0
        while True:
            await self.settle(reached)
            if reached():
                return
            emulation.engine  # noqa: B018 - says so when it has crashed
            if emulation.auto_advance and moves < _MOST_MOVES and self.move_to_next():
                moves += 1
            elif not await self._others_act(reached):
                raise explained(emulation, wanted, key, moves, may_move=self.next_at() is not None)

    async def _others_act(self, reached: Callable[[], bool]) -> bool:
        """Whether time that passes by itself, or another task of the test, lets the engine go on."""
        engine, scaled = self._emulation.engine, self._emulation.options.time_scale is not None
        patience = _Patience(self._emulation, None if scaled else _OTHERS_MS)
        while engine.is_idle and not reached():
            comes = _other_tasks() or (scaled and self.next_at() is not None)
            if not comes or patience.is_over():
                return False
            await breathe()
        return True

    # -- with time
    async def advance(self, ms: int) -> None:
        """Move the clock. Due work runs in order; each instance runs until it waits again."""
        await self._emulation.started()
        end = self._emulation.clock.now() + ms
        await self.settle()
        while (at := self._emulation.engine.next_at()) is not None and at <= end:
            self._emulation.engine.move_clock(at)
            await self.settle()
        self._emulation.engine.move_clock(end)
        await self.settle()

    async def run_until_idle(self) -> None:
        """Moves the clock until it has nothing more to bring but the timeouts of event waits, and schedules."""
        await self.settle()
        moves = 0
        while self.move_to_next():
            moves += 1
            await self.settle()
            if moves >= _MOST_MOVES:
                raise explained(self._emulation, "idle", None, moves, may_move=True)

    def move_to_next(self) -> bool:
        """Moves the clock to what time brings next; False when it brings nothing."""
        at = self.next_at()
        if at is None:
            return False
        self._emulation.engine.move_clock(at)
        return True

    def next_at(self) -> int | None:
        """When something is due, if time alone can bring anything: a sleep, a retry, an attempt's timeout.

        Timeouts of event waits happen on the way to those, but are nothing to move the clock for.
        """
        engine = self._emulation.engine
        at, wake, firing = engine.next_at(), engine.store.next_wake(), engine.schedules.next_at()
        if at is not None and at not in (wake, firing):
            return at
        return at if wake is not None and self._brings_more(engine, wake) else None

    def _brings_more(self, engine: Engine, wake: int) -> bool:
        """Whether any instance waits for time itself; those that are due first are asked first."""
        store = engine.store
        if any(not store.pending_waits(key) for key, _, _ in store.due(wake, _DUE_AT_ONCE)):
            return True
        unfinished = [row.key for row, _ in self._emulation.instances() if row.status not in FINITE]
        return any(self._waits_for_time(key) for key in unfinished)

    def _waits_for_time(self, key: int) -> bool:
        rows = self._emulation.store.steps(key, with_outputs=False)
        sleeping = any(row.kind is StepKind.SLEEP and row.state is StepState.PENDING for row in rows)
        return sleeping or any(row.state is StepState.RETRYING for row in rows)


class _Patience:
    """How long something may take in real time without a sign of life."""

    def __init__(self, emulation: Emulation, most_ms: int | None = None) -> None:
        self._emulation = emulation
        self._most_ms = emulation.options.patience_ms if most_ms is None else most_ms
        self._spent_ms = 0.0
        self._looked_ns = monotonic_ns()
        self.commits = emulation.commits

    def is_over(self) -> bool:
        now = monotonic_ns()
        passed_ms = min((now - self._looked_ns) / 1e6, _LONGEST_LOOK_MS)
        self._looked_ns = now
        if self.commits != self._emulation.commits:
            self.commits, self._spent_ms = self._emulation.commits, 0.0
        self._spent_ms += passed_ms
        return self._spent_ms > self._most_ms


def _other_tasks() -> bool:
    """Whether tasks are there that belong neither to the engine nor to whoever waits here."""
    current = asyncio.current_task()
    return any(task is not current and not _is_engines(task) for task in asyncio.all_tasks())


def _is_engines(task: asyncio.Task[object]) -> bool:
    name = getattr(task.get_coro(), "__qualname__", "")
    return name.startswith(("Run.", "_Driver.", "VirtualClock.")) or task.get_name() == "step callback"
