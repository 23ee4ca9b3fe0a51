"""Replay: a program that is killed at any commit ends as it would have ended, and does nothing twice.

The engine dies right before or right after a commit, as often as the example says, and a new one goes on with what
the database holds. In the end the output, the error and every step are those of the run that was never killed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st

from stepwell.bindings.values import encode
from stepwell.emulator.clock import turns
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.storage.records import FINITE, StepKind, StepState
from stepwell.emulator.storage.sqlite import SqliteStore
from tests.conftest import World
from tests.property.invariants import check_store, shown
from tests.property.programs import Do, Parallel, Player, Program, Sleep, Wait, nested, programs

FAST = settings(max_examples=40)
MANY_TURNS = 2_000

#: A program with everything in it, for the test that dies at each of its commits.
RICH: Program = (
    Do("a", failures=1, delay_ms=10),
    Do("s", streams=True, sensitive=True),
    Parallel(
        (
            (Do("0a", turns=2), Sleep("0z", 1_000), Do("0a", failures=1, turns=1)),
            (Wait("1w"), Do("1a", fails_for_good=True)),
            (Wait("2w", times_out=True), Sleep("2z", 0)),
        )
    ),
    Do("outer", inner=(Do("inner", failures=1), Do("inner", turns=1))),
    Sleep("long", 100_000),
    Do("a"),
)


#: A replay reaches the retry that woke it turns after the wait beside it.
LATE_RETRY: Program = (
    Parallel(
        (
            (Wait("0c", times_out=True),),
            (
                Parallel(((Sleep("20a", 0),), (Sleep("21a", 1_000), Sleep("21b", 0)))),
                Do("2a", failures=2, turns=3, delay_ms=10),
            ),
        )
    ),
)


@dataclass(frozen=True)
class Death:
    """Before or after the nth commit of an engine's life."""

    commit: int
    after: bool


class MortalStore(SqliteStore):
    """A store whose engine dies at a commit; checks the invariants at every one."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.commits = 0
        self.death: Death | None = None
        self.engine: Engine | None = None
        self.is_dead = False

    def commit(self) -> None:
        if not self.dirty:
            return
        self.commits += 1
        dies = self.death is not None and self.commits == self.death.commit
        if dies and not self.death.after:
            self._die()
            return
        super().commit()
        check_store(self)
        if dies:
            self._die()

    def _die(self) -> None:
        self.death, self.is_dead = None, True
        if self.engine is not None:
            self.engine.crash()


class Trial:
    """One program on its way to its end, through the deaths that were ordered."""

    def __init__(self, program: Program, instances: int, deaths: list[Death], *, replay_always: bool) -> None:
        self.player = Player(program)
        self.world = World()
        self.store = self.world.store = MortalStore()
        self.world.configure(replay_always=replay_always)
        self.names = [f"i{n}" for n in range(instances)]
        self._deaths = list(deaths)
        self.completed_before: set[tuple[str, str]] = set()
        self.calls_before = 0

    async def run(self) -> dict[str, dict[str, object]]:
        self.world.define(self._flow)
        await self._begin_a_life(self.world.engine)
        for _ in range(1_000):
            if self.store.is_dead:
                await self._next_life()
            elif not await self._go_on():
                break
        check_store(self.store)
        results = {name: shown(self.store, self.world.key(name)) for name in self.names}
        self.world.engine.crash()
        await turns(5)
        return results

    async def _flow(self, event, step):
        return await self.player.flow(event, step)

    async def _begin_a_life(self, engine: Engine) -> None:
        self.store.engine, self.store.is_dead = engine, False
        self.store.commits = 0
        self.store.death = self._deaths.pop(0) if self._deaths else None
        await engine.start()

    async def _next_life(self) -> None:
        await turns(10)
        self._check_nothing_was_done_twice()
        world = self.world
        world.engine = Engine(self.store, world.clock, **world.options)
        for definition in world._definitions.values():
            world.engine.define(*definition)
        await self._begin_a_life(world.engine)

    def _check_nothing_was_done_twice(self) -> None:
        """No step that was complete in an earlier life has been called since."""
        since = {(instance, name) for instance, name, _ in self.player.calls[self.calls_before :]}
        assert not since & self.completed_before, since & self.completed_before
        self.calls_before = len(self.player.calls)
        state = self.world.engine.workflows()[0]
        for name in self.names:
            key = self.store.find(state.key, name)
            for row in [] if key is None else self.store.steps(key):
                if row.kind is StepKind.DO and row.state in (StepState.COMPLETED, StepState.FAILED):
                    self.completed_before.add((name, row.public_name))

    async def _go_on(self) -> bool:
        """Does what is needed next; False when every instance has finished."""
        if await self._settle():
            return True
        state = self.world.engine.workflows()[0]
        keys = {name: self.store.find(state.key, name) for name in self.names}
        for name, key in keys.items():
            if key is None:
                await self._create(name)
                return True
        if all(self.store.status(key) in FINITE for key in keys.values()):
            self._check_nothing_was_done_twice()
            return False
        if not await self._send_an_event(keys):
            at = self.world.engine.next_at()
            assert at is not None, f"nothing is due, and yet: {[self.store.status(key) for key in keys.values()]}"
            self.world.clock.move_to(at)
        return True

    async def _settle(self) -> bool:
        """Lets the engine go as far as it can; whether it has died."""
        for _ in range(MANY_TURNS):
            if self.store.is_dead or self.world.engine.is_idle:
                return self.store.is_dead
            await turns(2)
        raise AssertionError("the engine does not come to rest")

    async def _create(self, name: str) -> None:
        await asyncio.wait([asyncio.ensure_future(self.world.flow.create({"id": name}))])

    async def _send_an_event(self, keys) -> bool:
        """Sends the event of the first wait that is not to time out."""
        for name, key in keys.items():
            for row in self.store.steps(key):
                is_wait = row.kind is StepKind.WAIT_FOR_EVENT and row.state is StepState.PENDING
                if is_wait and '"timeoutMs":60000' not in row.config and self.store.status(key) not in FINITE:
                    event = {"type": f"for-{row.name}", "payload": encode(f"event of {row.public_name}")}
                    sending = self.world.flow.send_event(name, event)
                    await asyncio.wait([asyncio.ensure_future(sending)])
                    return True
        return False


def run(program: Program, instances: int = 1, deaths=(), *, replay_always: bool = False) -> Trial:
    trial = Trial(program, instances, list(deaths), replay_always=replay_always)
    trial.results = asyncio.run(trial.run())
    return trial


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    log = logging.getLogger("stepwell.engine")
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(logging.NOTSET)


DEATHS = st.lists(st.builds(Death, st.integers(1, 40), st.booleans()), min_size=1, max_size=6)


@FAST
@given(programs(), st.integers(1, 3), DEATHS, st.booleans())
@example(RICH, 2, [Death(5, True), Death(9, False), Death(3, True)], False)
def test_a_killed_program_ends_as_if_it_had_not_been_killed(program, instances, deaths, replay_always) -> None:
    note(f"{program} {deaths} {instances} {replay_always}")
    unharmed = run(program, instances)
    killed = run(program, instances, deaths, replay_always=replay_always)

    assert killed.results == unharmed.results
    attempts = killed.player.calls
    assert len(set(attempts)) == len(attempts), "an attempt was called twice under one number"


@settings(FAST, max_examples=15)
@given(nested(), DEATHS)
def test_steps_inside_steps_come_to_the_same(program, deaths) -> None:
    unharmed = run(program)
    killed = run(program, deaths=deaths)

    assert killed.results["i0"]["output"] == unharmed.results["i0"]["output"]
    assert len(set(killed.player.calls)) == len(killed.player.calls)


@settings(FAST, max_examples=25)
@given(programs(), st.integers(1, 3))
@example(LATE_RETRY, 1)
def test_a_program_that_is_replayed_at_every_wait_ends_as_one_that_stays_in_memory(program, instances) -> None:
    note(f"{program}")
    assert run(program, instances, replay_always=True).results == run(program, instances).results


def commits_of(program: Program) -> int:
    trial = run(program)
    return trial.store.commits


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_rich_program_survives_a_death_at_each_of_its_commits(after) -> None:
    program = tuple(op for op in RICH if not (isinstance(op, Do) and op.inner))
    unharmed = run(program)
    total = unharmed.store.commits
    assert total > 25

    for commit in range(1, total + 1):
        killed = run(program, deaths=[Death(commit, after)])
        assert killed.results == unharmed.results, f"killed at commit {commit} of {total}"


def test_a_program_survives_a_death_at_every_second_commit_of_every_life() -> None:
    program = (Do("a", failures=2), Sleep("z", 100_000), Wait("w"), Do("b", turns=2), Do("c", streams=True))
    unharmed = run(program)
    killed = run(program, deaths=[Death(2, True)] * 40)

    assert killed.results == unharmed.results


def test_v1_state_and_history_are_written_together_at_every_commit() -> None:
    # The store of a trial checks the invariants, which compare the two, after each of its commits.
    trial = run(RICH, instances=3)

    assert trial.store.commits > 30
