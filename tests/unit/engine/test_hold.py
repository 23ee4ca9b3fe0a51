"""A database that cannot be written for a while: instances wait, and go on by themselves."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager

import apsw
import pytest

from stepwell.bindings.errors import EngineError
from stepwell.emulator.clock import breathe
from stepwell.emulator.engine import durability

pytestmark = pytest.mark.anyio

MINUTE = 60_000


@contextmanager
def locked(path):
    """Another program that holds the write lock, as a database browser does."""
    other = apsw.Connection(path)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


@pytest.fixture
def impatient(monkeypatch):
    """Everything is said at once, and callers from outside wait 0.2 s."""
    monkeypatch.setattr(durability, "TOLD_AFTER_MS", 0)
    monkeypatch.setattr(durability, "PATIENCE_MS", 200)


async def moments(count=20):
    for _ in range(count):
        await breathe()


async def test_steps_that_end_while_the_database_is_locked_are_recorded_afterwards(in_file) -> None:
    world, release = in_file(), asyncio.Event()

    async def flow(params, step):
        a = await step.do("a", lambda: _after(release, 1))
        return [a, await step.do("b", lambda: world.note("b") or 2)]

    await world.start(flow)
    await world.begin()
    with locked(world.path):
        release.set()
        await moments()
        assert world.journal == []
    await world.idle()

    assert await world.output() == [1, 2]
    assert world.journal == ["b"]
    world.engine.crash()


async def _after(event, value):
    await event.wait()
    return value


async def test_a_sleep_that_ends_while_the_database_is_locked_ends_afterwards(in_file) -> None:
    world = in_file()

    async def flow(params, step):
        await step.sleep("z", "10 minutes")
        return "woke"

    await world.start(flow)
    await world.create()
    with locked(world.path):
        world.clock.move_to(world.clock.now() + 11 * MINUTE)
        await moments()
        assert world.status() == "waiting"
    await world.idle()

    assert await world.output() == "woke"
    world.engine.crash()


async def test_other_code_runs_while_instances_wait_for_the_database(in_file) -> None:
    world, release = in_file(), asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)
        await step.sleep("z", 1)
        await step.do("b", 1)

    await world.start(flow)
    for n in range(5):
        await world.begin(f"i{n}")
    with locked(world.path):
        release.set()
        turns = 0
        async with asyncio.timeout(2):
            while turns < 100:
                await breathe()
                turns += 1
    await world.idle()

    assert {world.status(f"i{n}") for n in range(5)} == {"waiting"}
    world.engine.crash()


async def test_one_line_says_that_instances_wait_and_one_that_they_go_on(in_file, impatient, caplog) -> None:
    world, release, held = in_file(), asyncio.Event(), []

    async def flow(params, step):
        await step.do("a", release.wait)
        return 1

    await world.start(flow)
    world.engine.at_hold(lambda: held.append(world.engine.held is not None))
    await world.begin()
    with caplog.at_level(logging.WARNING), locked(world.path):
        release.set()
        await asyncio.sleep(0.5)
        assert "another program has locked it" in world.engine.held.reason
    await world.idle()

    assert [text.partition(":")[0] for text in caplog.messages] == [
        "Can't write to the database",
        "Writing to the database works again after 1 s. Instances continue.",
    ]
    assert held == [True, False]
    assert world.engine.held is None
    world.engine.crash()


async def test_a_create_waits_for_the_database(in_file) -> None:
    world = in_file()

    async def flow(params, step):
        return "done"

    await world.start(flow)
    with locked(world.path):
        creating = asyncio.ensure_future(world.flow.create({"id": "one"}))
        await moments()
        assert not creating.done()
    await creating
    await world.idle()

    assert await world.output() == "done"
    world.engine.crash()


async def test_a_call_from_outside_is_refused_with_the_reason_when_that_lasts(in_file, impatient) -> None:
    world = in_file()

    async def flow(params, step):
        return "done"

    await world.start(flow)
    with locked(world.path), pytest.raises(EngineError, match="another program has locked it") as refused:
        await world.flow.create({"id": "one"})
    await world.idle()

    assert refused.value.code == "engine.unavailable"
    assert world.store.find(1, "one") is None
    world.engine.crash()


class FullDisk:
    """Commits fail as on a full disk while `is_full`."""

    def __init__(self, store):
        self.is_full = False
        store._db.set_exec_trace(self._check)

    def _check(self, cursor, sql, bindings):
        if self.is_full and sql == "COMMIT":
            raise apsw.FullError("database or disk is full")
        return True


async def test_nothing_runs_while_the_disk_is_full_and_everything_goes_on_afterwards(in_file) -> None:
    world = in_file()
    disk = FullDisk(world.store)

    async def flow(params, step):
        a = await step.do("a", lambda: world.note("a") or 1)
        return [a, await step.do("b", lambda: world.note("b") or 2)]

    await world.start(flow)
    disk.is_full = True
    creating = asyncio.ensure_future(world.flow.create({"id": "one"}))
    await moments()
    assert world.journal == []
    assert not creating.done()
    disk.is_full = False
    await creating
    await world.idle()

    assert await world.output() == [1, 2]
    assert world.journal == ["a", "b"]
    world.engine.crash()


async def test_a_stop_while_the_disk_is_full_ends_and_the_next_start_goes_on(in_file) -> None:
    world, release = in_file(), asyncio.Event()

    async def flow(params, step):
        await step.do("a", lambda ctx: _after(release, ctx.attempt))
        return "done"

    await world.start(flow)
    await world.begin()
    disk = FullDisk(world.store)
    disk.is_full = True
    release.set()
    await moments()
    async with asyncio.timeout(2):
        await world.engine.stop()
    assert "disk is full" in str(world.engine.failure)
    await world.restart()

    assert await world.output() == "done"


async def test_a_database_that_is_damaged_stops_the_engine_with_the_reason(in_file) -> None:
    world = in_file()

    async def flow(params, step):
        await step.do("a", 1)
        return "done"

    await world.start(flow)

    def corrupt(cursor, sql, bindings):
        if sql.startswith("INSERT INTO step "):
            raise apsw.CorruptError("database disk image is malformed")
        return True

    world.store._db.set_exec_trace(corrupt)
    await world.begin()
    assert "is damaged" in str(world.engine.failure)
    await world.restart()

    assert await world.output() == "done"
    world.engine.crash()


async def test_an_instance_that_cannot_be_read_leaves_the_others_alone(in_file, caplog) -> None:
    world = in_file()

    async def flow(params, step):
        await step.do("a", "value")
        await step.sleep("z", "10 minutes")
        return "done"

    await world.start(flow)
    for name in ("one", "two", "three"):
        await world.create(name)
    world.store._db.execute(
        "UPDATE step SET output = CAST(x'22fffe22' AS TEXT) WHERE instance = ?", (world.key("two"),)
    )
    wake = world.store.instance(world.key("two")).wake_at
    await world.advance(11 * MINUTE)

    assert [world.status(name) for name in ("one", "two", "three")] == ["complete", "waiting", "complete"]
    assert world.store.instance(world.key("two")).wake_at == wake
    assert "is damaged" in caplog.text
    assert 'the step "a-1" of the instance "two"' in caplog.text
    await world.flow.restart("two")
    await world.idle()
    await world.advance(11 * MINUTE)
    assert world.status("two") == "complete"
    world.engine.crash()
