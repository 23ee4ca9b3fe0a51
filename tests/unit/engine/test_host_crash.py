"""The runtime of the user code dies while the engine lives on."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.errors import HostCrashed
from stepwell.emulator.clock import turns

pytestmark = pytest.mark.anyio


async def test_the_attempt_in_flight_fails_like_after_a_crash_and_the_run_goes_on_from_the_top(world) -> None:
    async def flow(params, step):
        world.note("run")
        first = await step.do("a", lambda: world.note("a") or 1)

        def dies_once(ctx):
            if ctx.attempt == 1:
                raise HostCrashed("out of memory")
            return ctx.attempt

        return [first, await step.do("b", dies_once)]

    await world.start(flow)
    await world.create()

    assert await world.output() == [1, 2]
    assert world.journal == ["run", "a", "run"]
    assert world.trace().count("attempt_errored b-1 1") == 1


async def test_a_death_between_steps_costs_no_attempt(world) -> None:
    async def flow(params, step):
        world.note("run")
        await step.do("a", 1)
        if len(world.journal) == 1:
            raise HostCrashed("gone")
        return await step.do("b", 2)

    await world.start(flow)
    await world.create()

    assert await world.output() == 2
    assert [row.attempts for row in world.steps().values()] == [1, 1]


async def test_a_runtime_that_dies_at_once_every_time_is_tried_again_more_and_more_slowly(world) -> None:
    async def flow(params, step):
        world.note(world.clock.now() - world.clock.START_AT)
        raise HostCrashed("cannot be started")

    await world.start(flow)
    await world.create()
    await world.advance(60_000)

    gaps = [later - earlier for earlier, later in zip(world.journal, world.journal[1:], strict=False)]
    assert gaps[:5] == [0, 100, 200, 400, 800] or gaps[:4] == [100, 200, 400, 800]
    assert len(world.journal) < 20
    assert max(gaps) <= 30_000


async def test_an_instance_whose_runtime_keeps_dying_can_be_terminated(world) -> None:
    async def flow(params, step):
        raise HostCrashed("cannot be started")

    await world.start(flow)
    await world.create()
    await world.advance(1_000)
    await world.flow.terminate("one")
    await world.advance(60_000)

    assert world.status() == "terminated"
    assert world.engine._core.parked == 0


async def test_progress_between_two_deaths_starts_the_count_anew(world) -> None:
    async def flow(params, step):
        for n in range(5):
            await step.do("a", n)
            if len(world.journal) == n:
                world.note(n)
                raise HostCrashed("now and then")
        return "end"

    await world.start(flow)
    await world.create()

    assert await world.output() == "end"


async def test_the_death_of_one_pass_does_not_disturb_other_instances(world) -> None:
    async def flow(event, step):
        if event.instance_id == "dies" and not world.journal:
            world.note("died")
            raise HostCrashed("gone")
        return await step.do("a", lambda: turns(3))

    await world.start(flow)
    await asyncio.gather(world.flow.create({"id": "dies"}), world.flow.create({"id": "lives"}))
    await world.idle()

    assert (world.status("dies"), world.status("lives")) == ("complete", "complete")
