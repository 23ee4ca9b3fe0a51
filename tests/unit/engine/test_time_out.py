"""timeOut: has a wait for an event time out now; our extension, for the dashboard."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.errors import WorkerError

pytestmark = pytest.mark.anyio

HOUR = 3_600_000
DAY = 24 * HOUR


def waiting_for(*names, timeout="1 hour"):
    """A Workflow that waits for an event of each type at once, and says which have timed out."""

    async def flow(params, step):
        async def wait(name):
            try:
                return await step.wait(name, name, timeout)
            except WorkerError as error:
                return f"{name}: {type(error).__name__}: {error}"

        return await asyncio.gather(*(wait(name) for name in names))

    return flow


@pytest.mark.parametrize("timeout", ["30 seconds", "1 day"])
async def test_the_wait_fails_at_once_in_memory_or_not(world, timeout) -> None:
    async def flow(params, step):
        await step.wait("w", "go", timeout)

    await world.start(flow)
    await world.create()
    await world.flow.time_out("one")
    await world.idle()

    assert world.status() == "errored"
    assert [str(row.type) for row in world.history()].count("wait_timed_out") == 1


async def test_the_wait_that_is_named_times_out_and_the_other_goes_on(world) -> None:
    await world.start(waiting_for("a", "b"))
    await world.create()
    await world.flow.time_out("one", "b-1")
    await world.flow.send_event("one", {"type": "a"})
    await world.idle()

    first, second = await world.output()
    assert first is None
    assert second.startswith("b: ")


async def test_while_paused_it_times_out_at_resume(world) -> None:
    await world.start(waiting_for("a"))
    await world.create()
    await world.flow.pause("one")
    await world.advance(5000)
    await world.flow.time_out("one")
    assert world.status() == "paused"
    await world.flow.resume("one")
    await world.idle()

    assert world.status() == "complete"


async def test_a_wait_that_timed_out_stays_so_after_a_crash(world) -> None:
    async def flow(params, step):
        try:
            await step.wait("w", "go", "1 day")
        except WorkerError:
            await step.wait("second", "go", "1 day")

    await world.start(flow)
    await world.create()
    await world.flow.time_out("one")
    await world.restart()

    assert [row.ended_at is not None for row in world.steps().values()] == [True, False]


async def test_an_event_that_comes_afterwards_is_kept(world) -> None:
    async def flow(params, step):
        try:
            await step.wait("w", "go", "1 day")
        except WorkerError:
            return await step.wait("second", "go", "1 day")

    await world.start(flow)
    await world.create()
    await world.flow.time_out("one")
    await world.flow.send_event("one", {"type": "go"})
    await world.idle()

    assert world.status() == "complete"


async def test_a_sleep_does_not_time_out(world, caught) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()

    name, message = await caught(world.flow.time_out("one"))
    assert name == "WorkflowError"
    assert message.startswith("(instance.not_waiting) ")
    assert world.status() == "waiting"


async def test_a_name_that_does_not_wait_is_refused(world, caught) -> None:
    await world.start(waiting_for("a"))
    await world.create()

    assert "named 'other'" in (await caught(world.flow.time_out("one", "other")))[1]
