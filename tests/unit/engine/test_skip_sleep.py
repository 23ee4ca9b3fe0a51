"""skipSleep: our extension, as on lopata."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.anyio

HOUR = 3_600_000
DAY = 24 * HOUR


@pytest.mark.parametrize("ms", [1000, DAY])
async def test_l1_the_sleep_ends_at_once_in_memory_or_not(world, ms) -> None:
    async def flow(params, step):
        await step.sleep("z", ms)
        return world.clock.now() - world.clock.START_AT

    await world.start(flow)
    await world.create()
    await world.flow.skip_sleep("one")
    await world.idle()

    assert await world.output() == 0


async def test_the_sleep_that_is_due_next_is_skipped(world) -> None:
    async def flow(params, step):
        async def nap(name, ms):
            await step.sleep(name, ms)
            world.note(name)

        await asyncio.gather(nap("long", 2 * HOUR), nap("short", HOUR))

    await world.start(flow)
    await world.create()
    await world.flow.skip_sleep("one")
    await world.idle()

    assert world.journal == ["short"]


@pytest.mark.parametrize("name", ["long", "long-1"])
async def test_a_sleep_may_be_named(world, name) -> None:
    async def flow(params, step):
        async def nap(name, ms):
            await step.sleep(name, ms)
            world.note(name)

        await asyncio.gather(nap("long", 2 * HOUR), nap("short", HOUR))

    await world.start(flow)
    await world.create()
    await world.flow.skip_sleep("one", name)
    await world.idle()

    assert world.journal == ["long"]


async def test_a_retry_delay_is_skipped_too(world) -> None:
    async def flow(params, step):
        def fail_once(ctx):
            if ctx.attempt == 1:
                raise RuntimeError("no")
            return ctx.attempt

        return await step.do("a", fail_once, {"retries": {"limit": 1, "delay": "1 hour"}})

    await world.start(flow)
    await world.create()
    await world.flow.skip_sleep("one")
    await world.idle()

    assert await world.output() == 2


async def test_while_paused_it_is_over_at_resume(world) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.pause("one")
    await world.advance(5000)
    await world.flow.skip_sleep("one")
    assert world.status() == "paused"
    await world.flow.resume("one")
    await world.idle()

    assert world.status() == "complete"


async def test_a_skipped_sleep_stays_skipped_after_a_crash(world) -> None:
    async def flow(params, step):
        await step.sleep("z", DAY)
        await step.sleep("y", DAY)

    await world.start(flow)
    await world.create()
    await world.flow.skip_sleep("one")
    await world.restart()

    assert [row.ended_at is not None for row in world.steps().values()] == [True, False]


@pytest.mark.parametrize("status", ["running", "waiting for an event", "complete", "queued"])
async def test_where_nothing_sleeps_it_is_refused(world, caught, status) -> None:
    async def flow(params, step):
        if status in ("running", "queued"):
            await step.do("a", asyncio.Event().wait)
        if status == "waiting for an event":
            await step.wait("w", "go")

    await world.start(flow, concurrency_limit=1)
    await world.begin("one")
    if status == "queued":
        await world.begin("two")
    name, message = await caught(world.flow.skip_sleep("two" if status == "queued" else "one"))

    assert name == "WorkflowError"
    assert message.startswith("(instance.not_sleeping) ")


async def test_a_name_that_does_not_sleep_is_refused(world, caught) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()

    assert (await caught(world.flow.skip_sleep("one", "other")))[1].startswith("(instance.not_sleeping) ")
    assert world.status() == "waiting"


async def test_an_event_wait_is_not_skipped(world) -> None:
    async def flow(params, step):
        await asyncio.gather(step.sleep("z", 2 * HOUR), step.wait("w", "go", "1 hour"))

    await world.start(flow)
    await world.create()
    await world.flow.skip_sleep("one")
    await world.idle()

    assert [(row.public_name, row.ended_at is not None) for row in world.steps().values()] == [
        ("z-1", True),
        ("w-1", False),
    ]


async def test_a_skip_while_no_slot_is_free_queues_the_instance(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        if params.get("busy"):
            await step.do("a", release.wait)
        else:
            await step.sleep("z", HOUR)

    await world.start(flow, concurrency_limit=1)
    await world.create()
    await world.begin("busy", {"busy": True})
    await world.flow.skip_sleep("one")
    assert world.status() == "queued"
    release.set()
    await world.idle()

    assert world.status() == "complete"
