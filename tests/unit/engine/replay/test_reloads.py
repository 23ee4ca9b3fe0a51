"""Reloaded code is checked on the instances that have not finished, before they meet it."""

from __future__ import annotations

import asyncio

import pytest

from tests.conftest import runner_of

pytestmark = pytest.mark.anyio

DAY_MS = 86_400_000


def named(*names):
    """A Workflow of steps with these names, which waits a day after the first one."""

    async def flow(params, step):
        for number, name in enumerate(names):
            await step.do(name, name)
            if number == 0:
                await step.sleep("nap", "1 day")
        return list(names)

    return flow


async def reload(world, flow):
    """What a reload finds; then the code is replaced."""
    found = await world.engine.check_reload("flow", runner_of(flow))
    world.define(flow, version=str(id(flow)))
    await world.idle()
    return [str(one) for one in found]


async def test_an_instance_that_can_follow_goes_on(world) -> None:
    await world.start(named("a", "b"))
    await world.create()
    found = await reload(world, named("a", "c"))
    await world.advance(DAY_MS)

    assert found == []
    assert await world.output() == ["a", "c"]


async def test_an_instance_that_cannot_follow_is_paused_before_it_meets_the_code(world) -> None:
    await world.start(named("a", "b"))
    await world.create()
    found = await reload(world, named("x", "b"))
    await world.advance(2 * DAY_MS)

    assert found == [
        'flow/one: the code calls step "x-1", which the history does not have, where it has step "a-1"'
    ]
    assert (world.status(), world.journal) == ("paused", [])


async def test_it_goes_on_by_itself_when_a_later_reload_lets_it_follow(world) -> None:
    await world.start(named("a", "b"))
    await world.create()
    await reload(world, named("x", "b"))
    await reload(world, named("a", "b"))
    await world.advance(DAY_MS)

    assert await world.output() == ["a", "b"]


async def test_one_that_a_person_has_paused_stays_paused(world) -> None:
    await world.start(named("a", "b"))
    await world.create()
    await world.flow.pause("one")
    await reload(world, named("x", "b"))
    await reload(world, named("a", "b"))

    assert world.status() == "paused"


async def test_one_that_a_person_resumes_is_no_longer_named(world) -> None:
    await world.start(named("a", "b"))
    await world.create()
    await reload(world, named("x", "b"))
    await world.flow.resume("one")

    assert world.engine.reload_check.paused == []


async def test_an_instance_is_named_once(world) -> None:
    await world.start(named("a", "b"))
    await world.create()
    await reload(world, named("x", "b"))

    assert await reload(world, named("y", "b")) == []


async def test_finished_instances_are_not_checked(world) -> None:
    await world.start(named("a"))
    await world.create()
    await world.advance(DAY_MS)

    assert await reload(world, named("x")) == []


async def test_code_that_awaits_something_else_is_not_held_against_the_instance(world) -> None:
    async def slow(params, step):
        await asyncio.sleep(60)

    await world.start(named("a", "b"))
    await world.create()

    assert await reload(world, slow) == []
