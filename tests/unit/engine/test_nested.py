"""Steps inside the callbacks of steps, and who is whose parent."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from stepwell.bindings.errors import WorkerError
from stepwell.bindings.values import encode
from stepwell.emulator.clock import turns
from stepwell.emulator.storage.records import StepState

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


def parents(world):
    rows = world.steps()
    names = {row.seq: name for name, row in rows.items()}
    return {name: names.get(row.parent) for name, row in rows.items()}


async def test_a_nested_step_works_and_is_a_step_of_its_own(world) -> None:
    async def flow(params, step):
        async def outer():
            return await step.do("inner", lambda: 42)

        return await step.do("outer", outer)

    await world.start(flow)
    await world.create()

    assert await world.output() == 42
    assert world.trace()[2:] == [
        "step_started outer-1",
        "attempt_started outer-1 1",
        "step_started inner-1",
        "attempt_started inner-1 1",
        "attempt_completed inner-1 1",
        "step_completed inner-1",
        "attempt_completed outer-1 1",
        "step_completed outer-1",
        "workflow_completed",
    ]


async def test_w1_a_nested_step_records_its_parent_and_a_step_after_it_has_none(world) -> None:
    async def flow(params, step):
        async def outer():
            await step.do("inner", 1)
            await step.sleep("nap", 10)
            await step.wait("w", "go", "1 minute")

        await step.do("outer", outer)
        await step.do("after", 2)

    await world.start(flow)
    await world.begin()
    await world.pass_time(10)
    await world.flow.send_event("one", {"type": "go"})
    await world.idle()

    assert parents(world) == {
        "outer-1": None,
        "inner-1": "outer-1",
        "nap-1": "outer-1",
        "w-1": "outer-1",
        "after-1": None,
    }


async def test_w1_three_levels_deep(world) -> None:
    async def flow(params, step):
        async def middle():
            return await step.do("inner", 1)

        async def outer():
            return await step.do("middle", middle)

        return await step.do("outer", outer)

    await world.start(flow)
    await world.create()

    assert parents(world) == {"outer-1": None, "middle-1": "outer-1", "inner-1": "middle-1"}


async def test_w1_parallel_branches_keep_their_own_chains(world) -> None:
    async def flow(params, step):
        async def outer(name):
            await turns(3)
            await step.do(f"{name} inner", lambda: turns(2))
            await step.do(f"{name} second", 1)

        await asyncio.gather(*(step.do(name, partial(outer, name)) for name in "ab"))
        await step.do("after", 1)

    await world.start(flow)
    await world.create()

    found = parents(world)
    assert {name: found[name] for name in found if " " in name} == {
        "a inner-1": "a-1",
        "a second-1": "a-1",
        "b inner-1": "b-1",
        "b second-1": "b-1",
    }
    assert found["after-1"] is None


async def test_w1_parallel_steps_inside_a_step_have_it_as_parent(world) -> None:
    async def flow(params, step):
        async def outer():
            return await asyncio.gather(*(step.do("inner", n) for n in range(3)))

        return await step.do("outer", outer)

    await world.start(flow)
    await world.create()

    assert await world.output() == [0, 1, 2]
    assert parents(world)["inner-3"] == "outer-1"


async def test_when_the_outer_is_retried_the_inner_counts_on(world) -> None:
    async def flow(params, step):
        async def outer(ctx):
            inner = await step.do("inner", lambda c: [c.name, c.count])
            if ctx.attempt == 1:
                raise RuntimeError("outer failed")
            return inner

        return await step.do("outer", outer, {"retries": {"limit": 1, "delay": 20}})

    await world.start(flow)
    await world.create()
    await world.advance(20)

    assert await world.output() == ["inner", 2]
    assert list(world.steps()) == ["outer-1", "inner-1", "inner-2"]


async def test_w3_an_inner_failure_reaches_the_outer_callback_which_decides(world) -> None:
    async def flow(params, step):
        def fail():
            raise ValueError("inner failed")

        async def outer():
            try:
                await step.do("inner", fail, {"retries": {"limit": 0, "delay": 1}})
            except WorkerError as error:
                return f"saw {error.message}"

        return await step.do("outer", outer)

    await world.start(flow)
    await world.create()

    assert await world.output() == "saw inner failed"
    assert [row.state for row in world.steps().values()] == [StepState.COMPLETED, StepState.FAILED]


async def test_w3_uncaught_it_fails_the_outer_and_both_errors_are_kept(world) -> None:
    async def flow(params, step):
        def fail():
            raise ValueError("inner failed")

        async def outer():
            await step.do("inner", fail, {"retries": {"limit": 0, "delay": 1}})

        await step.do("outer", outer, {"retries": {"limit": 0, "delay": 1}})

    await world.start(flow)
    await world.create()

    assert world.status() == "errored"
    assert all("inner failed" in row.error for row in world.steps().values())


async def test_w2_an_outer_step_that_waits_for_an_inner_retry_is_not_counted_as_failed(world) -> None:
    async def flow(params, step):
        def fail_once(ctx):
            if ctx.attempt == 1:
                raise RuntimeError("no")
            return ctx.attempt

        async def outer():
            return await step.do("inner", fail_once, {"retries": {"limit": 1, "delay": 1000}})

        return await step.do("outer", outer)

    await world.start(flow)
    await world.begin()
    await world.pass_time(1000)
    await world.idle()

    assert await world.output() == 2
    assert world.steps()["outer-1"].attempts == 1


@pytest.mark.parametrize("replay_always", [False, True])
async def test_w2_an_outer_step_that_waits_for_an_inner_sleep_or_event_is_not_dropped(world, replay_always) -> None:
    world.configure(replay_always=replay_always)

    async def flow(params, step):
        async def outer():
            await step.sleep("nap", 300_000)
            return await step.wait("w", "go", "5 minutes")

        return await step.do("outer", outer)

    await world.start(flow)
    await world.begin()
    await world.pass_time(300_000)
    await world.send("go", "here")

    assert await world.output() == "here"
    assert world.steps()["outer-1"].attempts == 1


async def test_the_outer_timeout_covers_its_inner_waits(world, caught) -> None:
    async def flow(params, step):
        async def outer():
            await step.sleep("nap", HOUR)

        return await caught(step.do("outer", outer, {"retries": {"limit": 0, "delay": 1}, "timeout": "1 minute"}))

    await world.start(flow)
    await world.begin()
    await world.pass_time(60_000)

    assert await world.output() == ["WorkflowTimeoutError", "Execution timed out after 60000ms"]


async def test_a_crash_inside_an_inner_step_counts_an_attempt_of_each(world) -> None:
    async def flow(params, step):
        async def stay(ctx):
            world.note(("inner", ctx.attempt))
            if ctx.attempt == 1:
                await asyncio.Event().wait()
            return "in"

        async def outer(ctx):
            world.note(("outer", ctx.attempt))
            return await step.do("inner", stay)

        return await step.do("outer", outer)

    await world.start(flow)
    await world.begin()
    await world.restart()

    assert await world.output() == "in"
    assert world.journal == [("outer", 1), ("inner", 1), ("outer", 2), ("inner", 2)]


async def test_a_completed_inner_step_is_not_repeated_after_a_crash_of_the_outer(world) -> None:
    async def flow(params, step):
        async def outer(ctx):
            inner = await step.do("inner", lambda: world.note("inner") or 7)
            if ctx.attempt == 1:
                await asyncio.Event().wait()
            return inner

        return await step.do("outer", outer)

    await world.start(flow)
    await world.begin()
    await world.restart()

    assert await world.output() == 7
    assert world.journal == ["inner"]


async def test_a_nested_step_of_another_instance_has_no_parent_here(world) -> None:
    async def flow(params, step):
        if params.get("child"):
            return await step.do("in child", 1)

        async def outer():
            await world.flow.create({"id": "child", "params": encode({"child": True})})

        return await step.do("outer", outer)

    await world.start(flow)
    await world.create()

    assert world.status("child") == "complete"
    assert [row.parent for row in world.steps("child").values()] == [None]


async def test_a_warning_is_shown_once(world, caplog) -> None:
    async def flow(params, step):
        async def outer():
            for _ in range(3):
                await step.do("inner", 1)

        await step.do("outer", outer)

    await world.start(flow)
    await world.create()

    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 1
    assert 'step "inner-1" is nested in another step' in warnings[0]


async def test_steps_after_a_nested_one_keep_their_counts_in_a_later_pass(world) -> None:
    async def flow(params, step):
        async def outer(name):
            return await step.do("inner", lambda: f"inner of {name}")

        first = await step.do("first", partial(outer, "first"))
        await step.sleep("nap", HOUR)
        return [first, await step.do("second", partial(outer, "second"))]

    await world.start(flow)
    await world.create()
    await world.advance(HOUR)

    assert await world.output() == ["inner of first", "inner of second"]
    assert list(world.steps()) == ["first-1", "inner-1", "nap-1", "second-1", "inner-2"]
