"""Several steps at once: gather, wait, race."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from stepwell.emulator.clock import turns
from stepwell.emulator.storage.records import StepState

pytestmark = pytest.mark.anyio

HOUR = 3_600_000
ONCE = {"retries": {"limit": 0, "delay": 1}}


def boom():
    raise ValueError("boom")


async def test_all_of_three_steps(world) -> None:
    async def flow(params, step):
        return await asyncio.gather(*(step.do(name, name) for name in "abc"))

    await world.start(flow)
    await world.create()

    assert await world.output() == ["a", "b", "c"]


async def test_they_overlap(world) -> None:
    async def flow(params, step):
        async def callback(name):
            world.note(f"{name} begins")
            await turns(3)
            world.note(f"{name} ends")

        await asyncio.gather(*(step.do(name, partial(callback, name)) for name in "ab"))

    await world.start(flow)
    await world.create()

    assert world.journal == ["a begins", "b begins", "a ends", "b ends"]


async def test_callbacks_that_await_the_same_future_all_get_its_result(world) -> None:
    async def flow(params, step):
        shared = asyncio.get_running_loop().create_future()

        async def callback():
            asyncio.get_running_loop().call_later(0, lambda: shared.done() or shared.set_result(7))
            return await shared

        return await asyncio.gather(*(step.do(name, callback) for name in "abc"))

    await world.start(flow)
    await world.create()

    assert await world.output() == [7, 7, 7]


async def test_steps_inside_of_a_step_share_a_commit_with_instances_beside_it(world) -> None:
    async def flow(params, step):
        async def outer():
            return await step.do("inner", lambda: 42)

        return await asyncio.gather(step.do("outer", outer), step.do("beside", lambda: 1))

    await world.start(flow)
    instances = [f"i{n}" for n in range(20)]
    await asyncio.gather(*(world.create(id=instance) for instance in instances))

    assert [await world.output(instance) for instance in instances] == [[42, 1]] * 20


async def test_counts_of_one_name_go_by_the_order_of_the_calls(world) -> None:
    def counted(n, ctx):
        return [n, ctx.count]

    async def flow(params, step):
        return await asyncio.gather(*(step.do("same", partial(counted, n)) for n in range(4)))

    await world.start(flow)
    await world.create()

    assert await world.output() == [[0, 1], [1, 2], [2, 3], [3, 4]]


async def test_one_that_fails_ends_the_instance_without_waiting_for_the_others(world) -> None:
    async def flow(params, step):
        await asyncio.gather(step.do("bad", boom, ONCE), step.do("slow", asyncio.Event().wait))

    await world.start(flow)
    await world.begin()

    assert await world.error() == ("Error", "ValueError: boom")


async def test_w13_all_settled_goes_on_and_all_waits(world) -> None:
    async def flow(params, step):
        settled = await asyncio.gather(
            step.do("bad", boom, ONCE), step.sleep("z", 1000), step.do("good", 1), return_exceptions=True
        )
        return [str(settled[0]), settled[2]]

    await world.start(flow)
    await world.create()
    assert world.status() == "waiting"
    await world.advance(1000)

    assert await world.output() == ["boom", 1]


async def test_sleeps_in_parallel_take_as_long_as_the_longest(world) -> None:
    async def flow(params, step):
        await asyncio.gather(*(step.sleep(f"z{n}", n * 1000) for n in range(1, 4)))
        return world.clock.now() - world.clock.START_AT

    await world.start(flow)
    await world.create()
    await world.advance(HOUR)

    assert await world.output() == 3000


async def test_a_race_of_a_step_and_a_sleep(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        racing = [asyncio.ensure_future(step.do("a", release.wait)), asyncio.ensure_future(step.sleep("z", 2000))]
        done, pending = await asyncio.wait(racing, return_when=asyncio.FIRST_COMPLETED)
        for loser in pending:
            loser.cancel()
        return racing[0] in done

    await world.start(flow)
    await world.begin()
    release.set()
    await world.idle()

    assert await world.output() is True


async def test_a_retry_beside_another_step(world) -> None:
    async def flow(params, step):
        def fail_once(ctx):
            if ctx.attempt == 1:
                raise RuntimeError("no")
            return "a"

        async def brief():
            await turns(5)
            return "b"

        return await asyncio.gather(
            step.do("a", fail_once, {"retries": {"limit": 1, "delay": 600}}), step.do("b", brief)
        )

    await world.start(flow)
    await world.create()
    await world.advance(600)

    assert await world.output() == ["a", "b"]


@pytest.mark.parametrize("replay_always", [False, True])
async def test_branches_that_sleep_differently_keep_their_records_over_rests(world, replay_always) -> None:
    world.configure(replay_always=replay_always)

    async def branch(step, name, ms):
        first = await step.do("first", lambda: world.note(f"{name}1") or name)
        await step.sleep("z", ms)
        second = await step.do("second", lambda: world.note(f"{name}2") or name)
        return [first, second]

    async def flow(params, step):
        return await asyncio.gather(branch(step, "x", 3 * HOUR), branch(step, "y", HOUR))

    await world.start(flow)
    await world.create()
    await world.advance(5 * HOUR)

    assert sorted(world.journal) == ["x1", "x2", "y1", "y2"]
    assert world.status() == "complete"


@pytest.mark.parametrize("late", range(20))
async def test_a_retry_that_a_replay_reaches_late_beside_a_long_wait_is_not_late(world, late) -> None:
    world.configure(replay_always=True)

    def fail_twice(context):
        world.note((context.attempt, world.clock.now()))
        if context.attempt < 3:
            raise RuntimeError("no")
        return "b"

    async def behind_others(step):
        await turns(late)
        return await step.do("b", fail_twice, {"retries": {"limit": 2, "delay": 10, "backoff": "constant"}})

    async def flow(params, step):
        return await asyncio.gather(step.sleep("z", HOUR), behind_others(step))

    await world.start(flow)
    await world.create()
    begin = world.clock.now()
    await world.advance(2 * HOUR)

    assert world.journal == [(1, begin), (2, begin + 10), (3, begin + 20)]
    assert await world.output() == [None, "b"]


async def test_an_instance_is_waiting_only_when_no_callback_executes(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await asyncio.gather(step.do("a", release.wait), step.sleep("z", HOUR))

    await world.start(flow)
    await world.begin()
    assert world.status() == "running"
    release.set()
    await world.idle()

    assert world.status() == "waiting"


async def test_a_step_that_run_gives_up_on_does_not_block_the_instance(world) -> None:
    async def flow(params, step):
        giving_up = asyncio.ensure_future(step.do("a", asyncio.Event().wait))
        await turns(10)
        giving_up.cancel()
        await step.sleep("z", HOUR)
        return "end"

    await world.start(flow)
    await world.begin()
    await world.idle()
    assert world.status() == "waiting"
    await world.flow.pause("one")
    assert world.status() == "paused"
    await world.flow.resume("one")
    await world.idle()
    assert world.steps()["a-1"].state is StepState.IN_FLIGHT


async def test_wait_for_around_a_step_gives_up_on_it_and_the_run_goes_on(world) -> None:
    async def flow(params, step):
        try:
            await asyncio.wait_for(step.do("a", asyncio.Event().wait), 0.001)
        except TimeoutError:
            return await step.do("b", "instead")

    await world.start(flow)
    await world.create()

    assert await world.output() == "instead"


async def test_five_hundred_parallel_steps_share_few_commits(world) -> None:
    commits = []
    world.engine.observe(commits.append)

    async def flow(params, step):
        return sum(await asyncio.gather(*(step.do("n", n) for n in range(500))))

    await world.start(flow)
    await world.create()

    assert await world.output() == sum(range(500))


async def test_a_task_that_outlives_run_records_nothing(world) -> None:
    go_on = asyncio.Event()

    async def flow(params, step):
        async def later():
            await go_on.wait()
            await step.do("late", lambda: world.note("never"))

        world.task = asyncio.ensure_future(later())
        await step.do("a", 1)
        return "end"

    await world.start(flow)
    await world.create()
    go_on.set()
    await asyncio.wait([world.task])

    assert world.journal == []
    assert list(world.steps()) == ["a-1"]
