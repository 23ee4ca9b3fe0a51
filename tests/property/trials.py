"""One Workflow program from its creation to its end, while statements of SQLite fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import apsw

from stepwell.bindings.ports import RunEvent, StepPort
from stepwell.bindings.values import Encoded
from stepwell.emulator.clock import breathe, turns
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.storage.records import FINITE
from tests.conftest import World
from tests.property.invariants import check_store, shown

ERRORS = {
    "BUSY": apsw.BusyError,
    "LOCKED": apsw.LockedError,
    "IOERR": apsw.IOError,
    "FULL": apsw.FullError,
    "NOMEM": apsw.NoMemError,
    "CORRUPT": apsw.CorruptError,
}

Runner: TypeAlias = Callable[[RunEvent, StepPort], Awaitable[Encoded]]


class Faults:
    """Raises an error at the statements `first` to `first + count - 1` of a store, whatever they are."""

    def __init__(self, error: type[Exception], first: int, count: int) -> None:
        self._error, self._range = error, range(first, first + count)
        self.seen = 0
        self.is_off = False

    def __call__(self, cursor: object, sql: str, bindings: object) -> bool:
        if self.is_off:
            return True
        self.seen += 1
        if self.seen in self._range:
            raise self._error("injected")
        return True


def no_faults() -> Faults:
    return Faults(Exception, 0, 0)


class Trial:
    """Runs the code of `runner`. `act` gives what is to be done before time passes; it reads without faults."""

    def __init__(
        self,
        runner: Runner,
        params: Encoded | None = None,
        act: Callable[[World], Awaitable[object] | None] | None = None,
        **definition: Any,
    ) -> None:
        self.world = World()
        self._given = (WorkflowDefinition("flow", "Flow", **definition), runner, Version("flow-v1"))
        self._create: dict[str, object] = {"id": "one"} if params is None else {"id": "one", "params": params}
        self._act = act
        #: Engines that it took.
        self.processes = 1

    async def run(self, faults: Faults) -> dict[str, object]:
        """What the instance has come to."""
        world = self.world
        world._definitions["flow"] = self._given
        world.engine.define(*self._given)
        await world.start()
        world.store.commit()
        self.faults = faults
        world.store._db.set_exec_trace(faults)
        await asyncio.gather(world.flow.create(self._create), return_exceptions=True)
        for _ in range(300):
            await self._rest()
            if world.engine.failure is not None or world.engine.damaged:
                await self._next_process()
            elif not await self._go_on():
                break
        world.store._db.set_exec_trace(None)
        check_store(world.store)
        result = shown(world.store, world.key())
        world.engine.crash()
        await turns(3)
        return result

    async def _rest(self) -> None:
        async with asyncio.timeout(20):
            while self.world.engine.failure is None and not self.world.engine.is_idle:
                await breathe()

    async def _next_process(self) -> None:
        world = self.world
        self.processes += 1
        world.store._db.set_exec_trace(None)
        world.store._turn._broken = None  # as a new process would find it
        await world.restart(until_idle=False)
        if world.store.find(1, "one") is None:
            await world.flow.create(self._create)

    async def _go_on(self) -> bool:
        """Lets the test act, or time pass; False when the instance has ended or waits for nothing."""
        world, self.faults.is_off = self.world, True
        has_ended = world.store.status(world.key()) in FINITE
        at = world.engine.next_at()
        action = self._act(world) if self._act is not None and not has_ended else None
        self.faults.is_off = False
        if has_ended:
            return False
        if action is not None:
            await asyncio.gather(action, return_exceptions=True)
            await turns(5)
            return True
        if at is None:
            return False
        world.engine.move_clock(at)
        await turns(5)
        return True
