"""What the engine says by default of results and steps that user code may not know to be lost."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.emulator.clock import turns

pytestmark = pytest.mark.anyio

ONCE = {"retries": {"limit": 0, "delay": 1}, "timeout": 500}


def logs(world):
    return [(row.step, row.attempt, row.level, row.text) for row in world.store.logs(world.key())]


async def test_the_end_of_a_callback_after_its_timeout_is_said_in_the_logs_of_its_step(
    world, caught, caplog
) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await caught(step.do("slow", release.wait, ONCE))
        return "over"

    await world.start(flow)
    await world.begin()
    await world.pass_time(500)
    assert logs(world) == []
    release.set()
    await turns(20)

    text = 'attempt 1 of step "slow-1" ended after its timeout: its result was ignored'
    assert logs(world) == [(1, 1, "warning", text)]
    assert text in caplog.text


async def test_a_callback_that_ends_in_time_is_not_called_late(world) -> None:
    async def flow(params, step):
        return await step.do("fast", lambda: turns(3), ONCE)

    await world.start(flow)
    await world.create()

    assert logs(world) == []


async def test_a_step_that_is_renamed_while_the_instance_sleeps_is_said(world, caplog) -> None:
    def flow_with(name):
        async def flow(params, step):
            await step.do(name, 1)
            await step.sleep("nap", "1 hour")
            return "end"

        return flow

    await world.start(flow_with("old"))
    await world.create()
    world.define(flow_with("new"), version="v2")
    await world.advance(3_600_000)

    assert world.status() == "complete"
    ((_, _, level, text),) = logs(world)
    assert level == "warning"
    assert 'has not called the recorded step "old-1", but "new-1"' in text
    assert text in caplog.text


async def test_a_renamed_step_is_said_while_it_runs(world) -> None:
    release = asyncio.Event()

    def flow_with(name, callback):
        async def flow(params, step):
            await step.do(name, callback)
            await step.sleep("nap", "1 hour")
            await step.do("last", 1)

        return flow

    await world.start(flow_with("old", 1))
    await world.create()
    world.define(flow_with("new", release.wait), version="v2")
    await world.pass_time(3_600_000)
    await world.pass_time(1_000)
    assert world.status() == "running"

    ((_, _, _, text),) = logs(world)
    assert '"old-1", but "new-1"' in text
    release.set()


async def test_branches_that_come_to_their_recorded_steps_late_are_not_called_renamed(world) -> None:
    async def flow(params, step):
        async def slow():
            await turns(5)
            await step.do("slow", 1)
            await step.sleep("slow nap", "2 hours")

        async def fast():
            await step.sleep("fast nap", "1 hour")
            await step.do("after", 1)

        await asyncio.gather(fast(), slow())

    await world.start(flow)
    await world.create()
    await world.advance(7_200_000)

    assert world.status() == "complete"
    assert logs(world) == []


@pytest.mark.parametrize("raises", [False, True])
async def test_a_step_that_the_end_of_run_leaves_unfinished_is_said(world, caplog, raises) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        task = asyncio.create_task(step.do("a", release.wait))
        await turns(3)
        world.note(task)
        if raises:
            raise ValueError("over")

    await world.start(flow)
    await world.create()

    assert logs(world) == [(1, None, "warning", 'step "a-1" was abandoned: run() ended without awaiting it')]
    assert 'step "a-1" was abandoned' in caplog.text


async def test_a_sleep_that_lost_a_race_is_not_called_abandoned(world) -> None:
    async def flow(params, step):
        nap = asyncio.create_task(step.sleep("nap", "1 hour"))
        await asyncio.wait([nap, asyncio.create_task(step.do("a", 1))], return_when=asyncio.FIRST_COMPLETED)

    await world.start(flow)
    await world.create()

    assert logs(world) == []
