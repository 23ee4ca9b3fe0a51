"""pause and resume, in every status, with the remaining time kept."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.emulator.clock import turns
from stepwell.emulator.storage.records import StepState

pytestmark = pytest.mark.anyio

HOUR = 3_600_000
DAY = 24 * HOUR


async def test_a_pause_during_a_step_takes_effect_when_the_step_has_ended(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)
        await step.do("b", lambda: world.note("b"))

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    assert world.status() == "waitingForPause"
    release.set()
    await world.idle()
    assert world.status() == "paused"
    assert world.journal == []

    await world.flow.resume("one")
    await world.idle()
    assert world.status() == "complete"
    assert world.journal == ["b"]


async def test_the_trace_of_a_pause_during_a_step(world) -> None:
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

    assert world.trace(moods=True)[4:] == [
        "attempt_started a-1 1",
        "workflow_waiting_for_pause",
        "workflow_paused",
        "attempt_completed a-1 1",
        "step_completed a-1",
        "workflow_running",
        "step_started b-1",
        "attempt_started b-1 1",
        "attempt_completed b-1 1",
        "step_completed b-1",
        "workflow_completed",
    ]


@pytest.mark.parametrize("ends_by", ["returning", "raising"])
async def test_a_run_that_ends_while_it_is_paused_is_queued_after_resume(world, ends_by: str) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)
        if ends_by == "raising":
            raise ValueError("over")

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    release.set()
    await world.idle()
    assert world.status() == "paused"
    await world.flow.resume("one")
    await world.idle()

    assert world.trace(moods=True)[5:] == [
        "workflow_waiting_for_pause",
        "workflow_paused",
        "attempt_completed a-1 1",
        "step_completed a-1",
        "workflow_queued",
        "workflow_running",
        "workflow_completed" if ends_by == "returning" else "workflow_errored",
    ]


async def test_resumed_before_the_step_has_ended_the_run_goes_on_in_memory(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        world.note("run")
        await step.do("a", release.wait)
        return await step.do("b", 2)

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    await world.flow.resume("one")
    assert world.status() == "running"
    release.set()
    await world.idle()

    assert await world.output() == 2
    assert world.journal == ["run"]


async def test_steps_of_other_branches_are_held_back_while_a_pause_is_pending(world) -> None:
    release, go_on = asyncio.Event(), asyncio.Event()

    async def other(step):
        await go_on.wait()
        await step.do("other", lambda: world.note("other"))

    async def flow(params, step):
        await asyncio.gather(step.do("a", release.wait), other(step))

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    go_on.set()
    await turns(10)
    assert "other-1" not in world.steps()
    await world.flow.resume("one")
    await turns(10)
    assert world.journal == ["other"]
    release.set()
    await world.idle()

    assert world.status() == "complete"


async def test_no_step_begins_between_the_pause_and_the_commit_of_the_last_result(world) -> None:
    release, go_on = asyncio.Event(), asyncio.Event()

    async def other(step):
        await go_on.wait()
        await turns(1)
        await step.do("other", lambda: world.note("other"))

    async def busy(params, step):
        await step.do("a", asyncio.Event().wait)

    async def flow(params, step):
        await asyncio.gather(step.do("a", release.wait), other(step))

    world.define(busy, name="busy")
    await world.start(flow)
    await world.engine.workflow("busy").create({"id": "b1"})
    await world.engine.workflow("busy").create({"id": "b2"})
    await world.begin()
    await world.flow.pause("one")
    release.set()
    go_on.set()
    await turns(10)

    assert world.status() == "paused"
    assert "other-1" not in world.steps()


async def test_a_pause_in_a_sleep_keeps_the_remaining_time(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1500)

    await world.start(flow)
    await world.create()
    await world.advance(500)
    await world.flow.pause("one")
    await world.advance(2000)
    assert world.status() == "paused"
    await world.flow.resume("one")
    await world.advance(999)
    assert world.status() == "waiting"
    await world.advance(1)

    assert world.status() == "complete"


async def test_a_pause_in_a_long_sleep_keeps_the_remaining_time_without_a_run_in_memory(world) -> None:
    async def flow(params, step):
        world.note("run")
        await step.sleep("z", "2 days")

    await world.start(flow)
    await world.create()
    await world.advance(HOUR)
    await world.flow.pause("one")
    await world.advance(DAY)
    await world.flow.resume("one")
    assert world.status() == "waiting"
    await world.advance(2 * DAY - HOUR - 1)
    assert world.status() == "waiting"
    assert world.journal == ["run"]
    await world.advance(1)

    assert world.status() == "complete"


async def test_a_pause_in_a_retry_delay_keeps_the_remaining_time(world) -> None:
    async def flow(params, step):
        def fail_once(ctx):
            world.note((ctx.attempt, world.clock.now() - world.clock.START_AT))
            if ctx.attempt == 1:
                raise RuntimeError("no")

        await step.do("a", fail_once, {"retries": {"limit": 1, "delay": 1000}})

    await world.start(flow)
    await world.create()
    await world.advance(400)
    await world.flow.pause("one")
    await world.advance(5000)
    await world.flow.resume("one")
    await world.advance(1000)

    assert world.journal == [(1, 0), (2, 6000)]


async def test_a_waits_timeout_does_not_run_while_paused(world, caught) -> None:
    async def flow(params, step):
        return (await caught(step.wait("w", "go", 2000)))[0]

    await world.start(flow)
    await world.create()
    await world.advance(500)
    await world.flow.pause("one")
    await world.advance(DAY)
    await world.flow.resume("one")
    await world.advance(1499)
    assert world.status() == "waiting"
    await world.advance(1)

    assert await world.output() == "WorkflowTimeoutError"


async def test_pausing_twice_adds_up(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)

    await world.start(flow)
    await world.create()
    for _ in range(3):
        await world.advance(300)
        await world.flow.pause("one")
        await world.advance(10_000)
        await world.flow.resume("one")
        await world.idle()
    await world.advance(99)
    assert world.status() == "waiting"
    await world.advance(1)

    assert world.status() == "complete"


async def test_all_deadlines_of_an_instance_move_together(world) -> None:
    async def flow(params, step):
        await asyncio.gather(step.sleep("short", 1000), step.sleep("long", 2000), step.wait("w", "go", 3000))

    await world.start(flow)
    await world.create()
    await world.advance(400)
    await world.flow.pause("one")
    await world.advance(100_000)
    await world.flow.resume("one")
    await world.idle()

    due = [row.due_at - world.clock.now() for row in world.steps().values()]
    assert due == [600, 1600, 2600]


async def test_a_queued_instance_pauses_and_is_queued_again_by_resume(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)

    await world.start(flow, concurrency_limit=1)
    await world.begin("first")
    await world.begin("second")
    await world.flow.pause("second")
    assert world.status("second") == "paused"
    release.set()
    await world.idle()
    assert (world.status("first"), world.status("second")) == ("complete", "paused")
    await world.flow.resume("second")
    await world.idle()

    assert world.status("second") == "complete"


async def test_a_resumed_instance_is_queued_when_no_slot_is_free(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        if params.get("sleeps"):
            await step.sleep("z", 1000)
        else:
            await step.do("a", release.wait)

    await world.start(flow, concurrency_limit=1)
    await world.create("sleeper", {"sleeps": True})
    await world.flow.pause("sleeper")
    await world.begin("busy")
    await world.flow.resume("sleeper")
    assert world.status("sleeper") == "queued"
    release.set()
    await world.idle()

    assert (world.status("busy"), world.status("sleeper")) == ("complete", "waiting")


async def test_a_pause_between_steps_takes_effect_at_once_and_run_starts_over(world) -> None:
    go_on = asyncio.Event()

    async def flow(params, step):
        world.note("run")
        await go_on.wait()
        await step.do("b", lambda: world.note("b"))

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    assert world.status() == "paused"
    go_on.set()
    await turns(10)
    assert world.journal == ["run"]
    await world.flow.resume("one")
    await world.idle()

    assert world.journal == ["run", "run", "b"]


async def test_a_pause_asked_before_run_returns_wins(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        stays = asyncio.ensure_future(step.do("a", release.wait))
        await turns(10)
        await asyncio.wait({stays}, timeout=0)
        while not world.journal:
            await turns(1)
        return "early"

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    world.note("return")
    await turns(20)
    assert world.status() == "paused"
    release.set()
    await world.flow.resume("one")
    await world.idle()

    assert await world.output() == "early"


@pytest.mark.parametrize("ending", ["complete", "errored", "terminated"])
async def test_w11_pausing_what_is_finished_does_nothing(world, ending) -> None:
    async def flow(params, step):
        if ending == "errored":
            raise ValueError
        if ending == "terminated":
            await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    if ending == "terminated":
        await world.flow.terminate("one")
    before = world.history()
    await world.flow.pause("one")

    assert world.status() == ending
    assert world.history() == before


async def test_w9_pausing_what_is_paused_does_nothing(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)

    await world.start(flow)
    await world.create()
    await world.advance(400)
    await world.flow.pause("one")
    await world.advance(10_000)
    await world.flow.pause("one")
    await world.flow.resume("one")
    await world.advance(600)

    assert world.status() == "complete"


async def test_w9_nothing_happens_while_paused_not_even_at_the_deadline(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)

    await world.start(flow)
    await world.create()
    await world.flow.pause("one")
    before = world.history()
    await world.advance(DAY)

    assert world.history() == before
    assert world.engine.next_at() is None


@pytest.mark.parametrize("status", ["waiting", "running", "complete", "queued"])
async def test_w9_resume_of_what_is_not_paused_is_refused_with_its_status(world, caught, status) -> None:
    async def flow(params, step):
        if status == "waiting":
            await step.sleep("z", HOUR)
        if status in ("running", "queued"):
            await step.do("a", asyncio.Event().wait)

    await world.start(flow, concurrency_limit=1)
    await world.begin("one")
    await world.begin("two")
    name = "two" if status == "queued" else "one"
    assert world.status(name) == status

    assert await caught(world.flow.resume(name)) == [
        "WorkflowError",
        f'(instance.cannot_resume) Cannot resume instance with status "{status}"',
    ]


async def test_the_switch_for_wrangler_dev_ignores_a_resume_of_what_is_not_paused(world) -> None:
    world.configure(resume_requires_paused=False)

    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.resume("one")

    assert world.status() == "waiting"


async def test_pausing_has_no_effect_on_rollbacks(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", 1, rollback=release.wait)
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    assert world.status() == "rollingBack"
    release.set()
    await world.idle()

    assert world.status() == "errored"


async def test_a_pause_beside_a_sleep_waits_for_the_callback_only(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await asyncio.gather(step.do("a", release.wait), step.sleep("z", 1000))
        await step.do("b", lambda: world.note("b"))

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    release.set()
    await world.idle()
    assert world.status() == "paused"
    await world.advance(5000)
    await world.flow.resume("one")
    await world.advance(1000)

    assert world.status() == "complete"
    assert world.journal == ["b"]


async def test_a_pause_while_a_step_with_an_inner_step_runs_does_not_get_stuck(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        async def outer():
            await release.wait()
            return await step.do("inner", lambda: world.note("inner") or 1)

        return await step.do("outer", outer)

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    release.set()
    await world.idle()
    assert world.status() == "paused"
    assert world.steps()["outer-1"].state is StepState.COMPLETED
    await world.flow.resume("one")
    await world.idle()

    assert await world.output() == 1
    assert world.journal == ["inner"]


async def test_a_pause_while_a_failing_step_asks_its_delay_function_and_a_resume_meanwhile(world) -> None:
    release, answer = asyncio.Event(), asyncio.Event()

    async def delay(given):
        await answer.wait()
        return 1000

    async def flow(params, step):
        async def fail_once(ctx):
            world.note(ctx.attempt)
            if ctx.attempt == 1:
                await release.wait()
                raise RuntimeError("no")
            return ctx.attempt

        return await step.do("a", fail_once, {"retries": {"limit": 3, "delay": delay}})

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    release.set()
    await turns(10)
    assert world.status() == "paused"
    await world.flow.resume("one")
    await turns(10)
    answer.set()
    await world.idle()
    await world.advance(2000)

    assert await world.output() == 2
    assert world.journal == [1, 2]
    assert world.trace().count("attempt_started a-1 2") == 1


async def test_terminate_in_the_moment_of_a_pause_ends_it(world) -> None:
    release, answer = asyncio.Event(), asyncio.Event()

    async def delay(given):
        await answer.wait()
        return 1000

    async def flow(params, step):
        async def fail():
            await release.wait()
            raise RuntimeError("no")

        await step.do("a", fail, {"retries": {"limit": 3, "delay": delay}})

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    release.set()
    await turns(10)
    await world.flow.terminate("one")
    answer.set()
    await turns(10)

    assert world.status() == "terminated"
    assert world.trace()[-1] == "workflow_terminated"


# -- from inside its own run()


async def test_pausing_itself_outside_of_a_step_ends_the_pass_there(world) -> None:
    async def flow(params, step):
        world.note("run")
        if len(world.journal) == 1:
            await world.flow.pause("one")
            world.note("never")
        return "end"

    await world.start(flow)
    await world.create()
    assert world.status() == "paused"
    assert world.journal == ["run"]
    await world.flow.resume("one")
    await world.idle()

    assert await world.output() == "end"


async def test_pausing_itself_inside_a_callback_takes_effect_after_the_callback(world) -> None:
    async def flow(params, step):
        async def callback():
            await world.flow.pause("one")
            world.note("after the call")
            return 1

        await step.do("a", callback)
        world.note("run goes on")

    await world.start(flow)
    await world.create()
    assert world.status() == "paused"
    assert world.journal == ["after the call", "run goes on"]
    await world.flow.resume("one")
    await world.idle()

    assert world.status() == "complete"
    assert world.journal == ["after the call", "run goes on", "run goes on"]
