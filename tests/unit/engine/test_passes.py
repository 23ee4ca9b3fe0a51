"""What is kept of passes: each but the first, with why it began and the version that it ran."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.errors import HostCrashed
from stepwell.bindings.values import encode
from stepwell.emulator.clock import turns

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


def passes(world):
    return [(one.number, str(one.cause)) for one in world.store.passes(world.key(), 100)]


async def nap(params, step):
    await step.do("a", 1)
    await step.sleep("nap", "1 hour")


async def test_a_run_in_one_pass_leaves_nothing(world) -> None:
    async def flow(params, step):
        for n in range(10):
            await step.do(f"{n}", n)
        await step.sleep("in memory", "5 seconds")

    await world.start(flow)
    await world.create()
    await world.advance(5_000)

    assert world.status() == "complete"
    assert passes(world) == []


async def test_a_wake_after_a_long_wait_is_a_pass(world) -> None:
    await world.start(nap)
    await world.create()
    began = world.clock.now()
    await world.advance(HOUR)

    (kept,) = world.store.passes(world.key(), 100)
    assert (kept.number, str(kept.cause), kept.at) == (2, "wake", began + HOUR)


async def test_an_event_that_wakes_is_told_apart_from_time(world) -> None:
    async def flow(params, step):
        await step.wait("approval", "go")

    await world.start(flow)
    await world.create()
    await world.send("go")

    assert passes(world) == [(2, "event")]


async def test_a_restart_of_the_process_is_a_pass_of_what_was_running(world) -> None:
    async def flow(params, step):
        await step.do("a", lambda ctx: asyncio.Event().wait() if ctx.attempt == 1 else ctx.attempt)

    await world.start(flow)
    await world.begin()
    await world.restart()

    assert passes(world) == [(2, "process")]


async def test_new_code_is_a_pass_with_its_version(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)
        await step.do("b", 2)

    await world.start(flow)
    await world.begin()
    world.define(flow, version="v2")
    release.set()
    await world.idle()

    (kept,) = world.store.passes(world.key(), 100)
    assert str(kept.cause) == "reload"
    assert world.store.version(kept.version).id == "flow-v2"


async def test_a_crash_of_the_runtime_is_a_pass(world) -> None:
    async def flow(params, step):
        world.note("run")
        if len(world.journal) == 1:
            raise HostCrashed("gone")

    await world.start(flow)
    await world.create()

    assert passes(world) == [(2, "crash")]


async def test_a_resume_is_a_pass_where_the_pause_ended_one(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)
        await step.do("b", 2)

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    release.set()
    await world.idle()
    await world.flow.resume("one")
    await world.idle()

    assert passes(world) == [(2, "resume")]


async def test_following_run_for_its_rollback_handlers_is_a_pass(world) -> None:
    async def flow(params, step):
        async def undo():
            world.note("undone")

        await step.do("a", 1, rollback=undo)
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one", {"rollback": True})
    await world.idle()

    assert world.journal == ["undone"]
    assert passes(world) == [(2, "rollback")]


async def test_a_restart_from_a_step_goes_on_counting_and_one_from_the_top_begins_anew(world) -> None:
    await world.start(nap)
    await world.create()
    await world.advance(HOUR)
    await world.flow.restart("one", {"from": {"name": "a"}})
    await world.idle()
    assert passes(world) == [(2, "wake"), (3, "restart")]

    await world.flow.restart("one")
    await world.idle()

    assert passes(world) == []


async def test_a_pass_takes_no_id_of_the_history(world) -> None:
    await world.start(nap)
    await world.create()
    await world.advance(HOUR)

    ids = [row.event_id for row in world.history()]
    assert ids == list(range(1, len(ids) + 1))
    assert passes(world) == [(2, "wake")]


async def test_deleting_an_instance_deletes_its_passes(world) -> None:
    await world.start(nap)
    await world.create()
    await world.advance(HOUR)
    key = world.key()
    await world.flow.delete("one")
    await turns(3)

    assert world.store.passes(key, 100) == []


async def test_always_replaying_is_a_pass_for_each_wait(world) -> None:
    world.configure(replay_always=True)

    async def flow(params, step):
        await step.sleep("nap", "1 second")
        await step.wait("approval", "go")

    await world.start(flow)
    await world.create(params={"n": 1})
    await world.advance(1_000)
    await world.flow.send_event("one", {"type": "go", "payload": encode(1)})
    await world.idle()

    assert passes(world) == [(2, "wake"), (3, "event")]
