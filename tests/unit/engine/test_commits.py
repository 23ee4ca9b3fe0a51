"""Group commit, stopping, and what happens when the database cannot be written."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys

import pytest

from stepwell.emulator.clock import Slice, turns
from stepwell.emulator.engine.durability import Commits
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.storage.sqlite import SqliteStore

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


class CountingStore(SqliteStore):
    """A store that counts its commits, and fails those it is told to."""

    def __init__(self, path=":memory:"):
        super().__init__(path)
        self.commits = 0
        self.fails = False

    def commit(self):
        if self.dirty:
            if self.fails:
                raise OSError("no space left on device")
            self.commits += 1
        super().commit()


def commits_of(store, busy):
    return Commits(store, lambda: busy, lambda: None)


async def test_alone_a_run_commits_at_once() -> None:
    store = CountingStore()
    commits = commits_of(store, busy=1)
    store.put_setting("a", "1")
    await commits.durable()

    assert (store.commits, store.dirty) == (1, False)


async def test_the_writes_of_one_turn_share_one_commit_among_many() -> None:
    store = CountingStore()
    commits = commits_of(store, busy=100)

    async def write(n):
        store.put_setting(f"s{n}", "x")
        await commits.durable()
        assert not store.dirty

    await asyncio.gather(*(write(n) for n in range(100)))

    assert store.commits == 1


async def test_nothing_to_write_needs_no_commit() -> None:
    store = CountingStore()
    await commits_of(store, busy=5).durable()

    assert store.commits == 0


async def test_a_write_that_nobody_waits_for_is_committed_in_its_turn() -> None:
    store = CountingStore()
    commits_of(store, busy=5)
    store.put_setting("a", "1")
    await turns(2)

    assert (store.commits, store.dirty) == (1, False)


async def test_a_cancelled_waiter_does_not_disturb_the_others() -> None:
    store = CountingStore()
    commits = commits_of(store, busy=5)
    store.put_setting("a", "1")
    waiters = [asyncio.ensure_future(commits.durable()) for _ in range(3)]
    await asyncio.sleep(0)
    waiters[1].cancel()
    results = await asyncio.gather(*waiters, return_exceptions=True)

    assert [type(one) for one in results] in (
        [type(None), asyncio.CancelledError, type(None)],
        [type(None), type(None), type(None)],
    )
    assert store.commits == 1


async def test_a_cancelled_waiter_hears_of_its_cancellation() -> None:
    store = CountingStore()
    commits = commits_of(store, busy=5)
    heard = []

    async def wait():
        store.put_setting("a", "1")
        try:
            await commits.durable()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append(True)
            raise

    waiter = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.wait([waiter], timeout=1)

    assert heard == [True]


async def test_those_who_follow_along_are_told_after_the_commit() -> None:
    store = CountingStore()
    told = []
    commits = Commits(store, lambda: 1, lambda: told.append(store.dirty))
    store.put_setting("a", "1")
    await commits.durable()

    assert told == [False]


async def counting(worlds):
    world = worlds()
    world.store = CountingStore()
    world.engine = Engine(world.store, world.clock)
    return world


async def test_a_hundred_instances_at_once_share_their_commits(worlds) -> None:
    world = await counting(worlds)

    async def flow(params, step):
        for n in range(10):
            await step.do("a", n)

    await world.start(flow)
    await world.flow.create_batch({"count": 100})
    await world.idle()

    # 100 instances of 10 steps have 2,000 moments that must be durable.
    assert world.store.commits < 100
    world.engine.crash()


async def test_one_instance_needs_two_commits_a_step(worlds) -> None:
    world = await counting(worlds)

    async def flow(params, step):
        for n in range(50):
            await step.do("a", n)

    await world.start(flow)
    await world.create()

    assert world.store.commits <= 2 * 50 + 5
    world.engine.crash()


async def test_a_commit_that_fails_stops_the_engine_and_no_callback_runs_unrecorded(worlds, caught, caplog) -> None:
    world = await counting(worlds)

    async def flow(params, step):
        await step.do("a", lambda: world.note("a"))
        world.store.fails = True
        await step.do("b", lambda: world.note("b"))

    await world.start(flow)
    with caplog.at_level(logging.CRITICAL):
        await world.begin()

    assert world.journal == ["a"]
    assert "no space left on device" in caplog.text
    name, message = await caught(world.flow.create({"id": "two"}))
    assert name == "WorkflowInternalError"
    assert "no space left on device" in message


async def test_after_a_failed_commit_nobody_waits_for_ever(worlds, caught) -> None:
    world = await counting(worlds)
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)
        await step.do("b", 1)

    await world.start(flow)
    for n in range(3):
        await world.begin(f"i{n}")
    world.store.fails = True
    async with asyncio.timeout(2):
        name, _ = await caught(world.flow.create({"id": "more"}))
        assert name == "WorkflowInternalError"
        name, _ = await caught(world.flow.terminate("i1"))
    assert name == "WorkflowInternalError"


async def test_what_was_committed_before_the_failure_goes_on_in_the_next_process(worlds) -> None:
    world = await counting(worlds)

    async def flow(params, step):
        a = await step.do("a", lambda: world.note("a") or 1)
        world.store.fails = not world.journal.count("again")
        return [a, await step.do("b", lambda: world.note("b") or 2)]

    await world.start(flow)
    await world.begin()
    world.store.fails = False
    world.note("again")
    await world.restart()

    assert await world.output() == [1, 2]
    assert world.journal == ["a", "again", "b"]
    world.engine.crash()


# -- stopping


async def test_stop_lets_callbacks_end_within_the_grace_and_records_them(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)
        world.note("never in this process" if len(world.journal) == 0 else "later")

    await world.start(flow)
    await world.begin()
    stopping = asyncio.ensure_future(world.engine.stop(60_000))
    await turns(5)
    release.set()
    await stopping

    assert world.steps()["a-1"].output == "true"


async def test_stop_without_grace_leaves_the_attempt_to_the_next_process(world) -> None:
    async def flow(params, step):
        return await step.do("a", lambda ctx: asyncio.Event().wait() if ctx.attempt == 1 else ctx.attempt)

    await world.start(flow)
    await world.begin()
    await world.engine.stop()
    assert world.status() == "running"
    await world.restart()

    assert await world.output() == 2


async def test_a_stopped_engine_wakes_nobody(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)
        world.note("woke")

    await world.start(flow)
    await world.create()
    await world.engine.stop()
    world.clock.move_to(world.clock.now() + HOUR)
    await turns(20)

    assert world.journal == []
    assert world.status() == "waiting"


async def test_the_end_of_the_loop_is_not_recorded_as_an_error_of_the_instance(in_file) -> None:
    world = in_file()

    async def flow(params, step):
        await step.do("a", asyncio.Event().wait)

    async def process():
        await world.start(flow)
        await world.begin()

    def run():
        asyncio.run(process())

    await asyncio.get_running_loop().run_in_executor(None, run)
    world.store.rollback()

    assert world.status() == "running"


async def test_a_step_that_is_dropped_with_its_loop_raises_nothing(in_file, monkeypatch) -> None:
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda raised: unraisable.append(raised.exc_value))

    async def flow(params, step):
        await step.do("a", asyncio.Event().wait)

    async def process(world):
        await world.start(flow)
        await world.begin()

    def run():
        loop = asyncio.new_event_loop()
        loop.run_until_complete(process(in_file()))
        loop.close()
        del loop
        gc.collect()

    await asyncio.get_running_loop().run_in_executor(None, run)
    gc.collect()

    assert unraisable == []


async def test_a_run_whose_time_is_over_lets_others_go_on() -> None:
    commits, passed = Commits(CountingStore(), lambda: 1, lambda: None, lambda: Slice(0)), []
    commits.slice_is_over()
    asyncio.get_running_loop().call_soon(passed.append, True)

    assert commits.slice_is_over()
    await commits.give_way()

    assert passed == [True]


async def test_a_run_that_waited_for_another_process_has_let_others_go_on() -> None:
    commits = Commits(CountingStore(), lambda: 1, lambda: None, lambda: Slice(0))
    commits.slice_is_over()

    commits.others_go_on()

    assert not commits.slice_is_over()
