"""Errors of SQLite at any statement: the outcome is the same, or the engine stops and the next one goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import apsw
import pytest

from stepwell.bindings.values import encode
from stepwell.emulator.clock import breathe, in_next_turn, turns
from stepwell.emulator.engine import durability
from stepwell.emulator.storage import turn
from stepwell.emulator.storage.records import FINITE, StepKind, StepState
from tests.conftest import World
from tests.property.invariants import check_store, shown
from tests.property.programs import Do, Parallel, Player, Program, Sleep, Wait

pytestmark = pytest.mark.anyio

ERRORS = {
    "BUSY": apsw.BusyError,
    "LOCKED": apsw.LockedError,
    "IOERR": apsw.IOError,
    "FULL": apsw.FullError,
    "NOMEM": apsw.NoMemError,
    "CORRUPT": apsw.CorruptError,
}

PROGRAM: Program = (
    Do("a", failures=1, delay_ms=10),
    Parallel(
        (
            (Do("0a", turns=2), Sleep("0z", 1_000), Do("0s", streams=True)),
            (Wait("1w"), Do("1a", fails_for_good=True)),
            (Wait("2w", times_out=True),),
        )
    ),
    Do("outer", inner=(Do("inner"),)),
    Sleep("long", 100_000),
    Do("b"),
)


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


class Trial:
    """One program, from its creation to its end, through the faults."""

    def __init__(self) -> None:
        self.world = World()
        self.player = Player(PROGRAM)
        self.completed: set[tuple[str, str]] = set()

    async def run(self, faults: Faults | None) -> dict[str, object]:
        world = self.world
        await world.start(self.player.flow)
        world.store.commit()
        self.faults = faults or Faults(Exception, 0, 0)
        world.store._db.set_exec_trace(self.faults)
        await asyncio.gather(world.flow.create({"id": "one"}), return_exceptions=True)
        for _ in range(200):
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
        world.store._db.set_exec_trace(None)
        world.store._turn._broken = None  # as a new process would find it
        await world.restart(until_idle=False)
        if world.store.find(1, "one") is None:
            await world.flow.create({"id": "one"})

    async def _go_on(self) -> bool:
        """Sends an event that is waited for, or lets time pass; False when the instance has ended."""
        world, self.faults.is_off = self.world, True
        if world.store.status(world.key()) in FINITE:
            return False
        waiting = [
            step
            for step in world.store.steps(world.key())
            if step.kind is StepKind.WAIT_FOR_EVENT and step.state is StepState.PENDING and step.name == "1w"
        ]
        at = world.engine.next_at()
        self.faults.is_off = False
        if waiting:
            sending = world.flow.send_event("one", {"type": "for-1w", "payload": encode("here")})
            await asyncio.gather(sending, return_exceptions=True)
        elif at is not None:
            world.engine.move_clock(at)
        await turns(5)
        return True


def statements() -> Iterator[int]:
    """The program makes about 170 statements: the first dozen, then every fifth."""
    yield from range(1, 12)
    yield from range(12, 200, 5)


async def expected() -> Any:
    return await Trial().run(None)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried at once."""
    monkeypatch.setattr(durability, "in_a_moment", in_next_turn)
    monkeypatch.setattr(turn, "_MOMENT_S", 0)


@pytest.mark.parametrize("count", [1, 3], ids=["once", "three-times"])
@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_at_any_statement_changes_no_outcome(name: str, count: int) -> None:
    whole = await expected()
    for first in statements():
        faults = Faults(ERRORS[name], first, count)
        trial = Trial()
        try:
            result = await trial.run(faults)
        except BaseException as error:
            error.add_note(f"{name} at statement {first}")
            raise

        assert result == whole, f"{name} at statement {first}"
        if faults.seen < first:
            break
