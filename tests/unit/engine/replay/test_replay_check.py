"""Replaying one stored run on its results: where does the code as it is now differ first?"""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.errors import NonRetryableError, WorkerError

pytestmark = pytest.mark.anyio


async def check(world, instance_id="one"):
    return await world.engine.check_replay(world.key(instance_id))


def named(*names):
    """A Workflow of steps with these names, each in its turn; a number is a sleep."""

    async def flow(params, step):
        for name in names:
            await step.sleep("nap", name) if isinstance(name, int) else await step.do(name, name)
        return len(names)

    return flow


async def changed(world, flow, version="v2"):
    world.define(flow, version=version)
    await world.idle()


async def test_code_that_does_the_same_has_no_difference(world) -> None:
    await world.start(named("a", 5, "b"))
    await world.create()
    await world.advance(10)
    found = await check(world)

    assert (found.difference, found.steps, found.reached_the_end) == ("", 3, True)


async def test_the_first_step_that_differs_is_named_with_the_one_it_took_the_place_of(world) -> None:
    await world.start(named("a", "b", "c"))
    await world.create()
    await changed(world, named("a", "x", "c"))

    assert (await check(world)).difference == 'replay called step "x-1", but the original run called step "b-1"'


async def test_a_step_that_is_no_longer_called_is_named(world) -> None:
    await world.start(named("a", "b"))
    await world.create()
    await changed(world, named("a"))

    assert (await check(world)).difference == 'replay never reached step "b-1", which the original run called'


async def test_a_step_more_than_the_run_had_is_named(world) -> None:
    await world.start(named("a"))
    await world.create()
    await changed(world, named("a", "b"))

    assert (await check(world)).difference == 'replay called step "b-1", but the original run had ended'


async def test_another_value_of_run_is_a_difference(world) -> None:
    async def flow(params, step):
        world.note("run")
        return len(world.journal)

    await world.start(flow)
    await world.create()

    assert (await check(world)).difference == "replay returned another value than the original run"


async def test_the_same_error_is_none_and_another_is_one(world) -> None:
    text = ["no"]

    async def flow(params, step):
        raise ValueError(text[0])

    await world.start(flow)
    await world.create()
    assert (await check(world)).difference == ""

    text[0] = "never"
    assert "replay raised Error: ValueError: never" in (await check(world)).difference


async def test_an_error_that_forbids_retries_is_the_same_in_a_replay(world) -> None:
    async def flow(params, step):
        def fail():
            raise NonRetryableError("out of stock")

        await step.do("a", fail)

    await world.start(flow)
    await world.create()
    assert (await world.error())[0] == "NonRetryableError"

    assert (await check(world)).difference == ""


async def test_an_instance_that_waits_is_compared_as_far_as_it_has_come(world) -> None:
    await world.start(named("a", 86_400_000, "b"))
    await world.create()
    found = await check(world)

    assert (found.difference, found.reached_the_end) == ("", False)
    assert world.status() == "waiting"


async def test_steps_side_by_side_may_change_their_order(world) -> None:
    order = ["a", "b"]

    async def flow(params, step):
        await asyncio.gather(*(step.sleep(name, 10) for name in order))

    await world.start(flow)
    await world.create()
    await world.advance(20)
    order.reverse()

    assert (await check(world)).difference == ""


async def test_nothing_runs_and_nothing_is_written(world) -> None:
    async def flow(params, step):
        await step.do("a", lambda: world.note("a"))
        try:
            await step.wait("w", "go", "1 hour")
        except WorkerError:
            await step.do("late", lambda: world.note("late"))

    await world.start(flow)
    await world.create()
    before = world.history(), world.steps()
    await check(world)
    await check(world)

    assert world.journal == ["a"]
    assert (world.history(), world.steps()) == before


async def test_code_that_awaits_something_else_for_ever_ends_the_check(world) -> None:
    await world.start(named("a"))
    await world.create()

    async def hangs(params, step):
        await asyncio.Event().wait()

    await changed(world, hangs)
    checking = asyncio.create_task(check(world))
    await world.pass_time(10_000)

    assert "did not finish within 10 s" in (await checking).difference
