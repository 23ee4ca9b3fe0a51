"""terminate, with and without rollback."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.errors import NonRetryableError
from stepwell.emulator.clock import turns

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


async def test_terminated_while_it_sleeps(world) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)
        world.note("never")

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one")
    await world.advance(2 * HOUR)

    assert world.status() == "terminated"
    assert world.journal == []
    assert world.trace()[-1] == "workflow_terminated"


async def test_terminated_while_a_step_runs_its_result_is_dropped(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)
        world.note("never")

    await world.start(flow)
    await world.begin()
    await world.flow.terminate("one")
    release.set()
    await turns(10)

    assert world.status() == "terminated"
    assert world.steps()["a-1"].output is None
    assert world.journal == []


async def test_terminated_while_a_retry_is_due(world) -> None:
    async def flow(params, step):
        def fail(ctx):
            world.note(ctx.attempt)
            raise RuntimeError("no")

        await step.do("a", fail, {"retries": {"limit": 3, "delay": 1000}})

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one")
    await world.advance(HOUR)

    assert world.journal == [1]


async def test_what_the_code_throws_then_does_not_change_the_status(world) -> None:
    async def flow(params, step):
        try:
            await step.do("a", asyncio.Event().wait)
        except asyncio.CancelledError:
            raise ValueError("in spite") from None

    await world.start(flow)
    await world.begin()
    await world.flow.terminate("one")
    await turns(10)

    assert world.status() == "terminated"
    assert (await world.flow.status("one")).error is None


async def test_code_that_goes_on_after_termination_can_do_no_step(world) -> None:
    async def flow(params, step):
        try:
            await step.do("a", asyncio.Event().wait)
        except asyncio.CancelledError:
            await step.do("cleanup", lambda: world.note("never"))

    await world.start(flow)
    await world.begin()
    await world.flow.terminate("one")
    await turns(10)

    assert world.journal == []
    assert list(world.steps()) == ["a-1"]


@pytest.mark.parametrize("ending", ["complete", "errored", "terminated"])
async def test_v3_terminating_what_is_finished_is_refused(world, caught, ending) -> None:
    async def flow(params, step):
        if ending == "errored":
            raise ValueError
        if ending == "terminated":
            await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    if ending == "terminated":
        await world.flow.terminate("one")

    assert await caught(world.flow.terminate("one")) == [
        "WorkflowError",
        "(instance.cannot_terminate) Cannot terminate instance since its on a finite state",
    ]


async def test_w12_a_reason_is_kept_for_people(world) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one", {"reason": "wrong customer"})

    assert world.store.values(world.key()).reason == "wrong customer"


async def test_a_queued_instance_is_terminated_without_ever_starting(world) -> None:
    async def flow(params, step):
        world.note("started")
        await step.do("a", asyncio.Event().wait)

    await world.start(flow, concurrency_limit=1)
    await world.begin("first")
    await world.begin("second")
    await world.flow.terminate("second")
    await world.flow.terminate("first")
    await world.idle()

    assert world.status("second") == "terminated"
    assert world.journal == ["started"]


async def test_a_paused_instance_is_terminated(world) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.pause("one")
    await world.flow.terminate("one")

    assert world.status() == "terminated"


async def test_waiting_for_pause_is_terminated(world) -> None:
    async def flow(params, step):
        await step.do("a", asyncio.Event().wait)

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    await world.flow.terminate("one")
    await turns(10)

    assert world.status() == "terminated"


async def test_created_and_terminated_in_one_moment_it_never_runs(world) -> None:
    async def flow(params, step):
        world.note("ran")

    async def busy(params, step):
        await step.do("a", asyncio.Event().wait)

    world.define(busy, name="busy")
    await world.start(flow)
    for n in range(2):
        await world.engine.workflow("busy").create({"id": f"b{n}"})
    await turns(10)

    creating = asyncio.ensure_future(world.flow.create({"id": "one"}))
    await asyncio.sleep(0)
    await world.flow.terminate("one")
    await creating
    await turns(20)

    assert world.status() == "terminated"
    assert world.journal == []


async def test_terminating_itself_ends_the_code_at_the_call(world) -> None:
    async def flow(params, step):
        world.note("before")
        await world.flow.terminate("one")
        world.note("after")

    await world.start(flow)
    await world.create()

    assert world.status() == "terminated"
    assert world.journal == ["before"]


async def test_terminating_itself_inside_a_callback_ends_the_code_at_the_call(world) -> None:
    async def flow(params, step):
        async def callback():
            await world.flow.terminate("one")
            world.note("after")

        await step.do("a", callback)
        world.note("after the step")

    await world.start(flow)
    await world.create()
    await turns(10)

    assert world.status() == "terminated"
    assert world.journal == []


async def test_terminating_another_instance_does_not_end_the_caller(world) -> None:
    async def flow(params, step):
        if params.get("terminates"):
            await world.flow.terminate("other")
            return "went on"
        return await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create("other")
    await world.create("one", {"terminates": True})

    assert await world.output() == "went on"
    assert world.status("other") == "terminated"


# -- with rollback


async def test_without_the_option_no_rollback_runs(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=lambda: world.note("undone"))
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one")

    assert world.journal == []


@pytest.mark.parametrize("rested", [True, False])
async def test_with_rollback_the_handlers_run_newest_first_and_then_it_is_terminated(world, rested) -> None:
    world.configure(replay_always=rested)
    seen = []

    async def flow(params, step):
        await step.do("a", 1, rollback=lambda given: seen.append((given.step_name, str(given.output))))
        await step.do("b", 2, rollback=lambda given: seen.append((given.step_name, str(given.output))))
        await step.wait("w", "go", "1 minute")

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one", {"rollback": True})

    assert world.status() == "terminated"
    assert seen == [("b-1", "2"), ("a-1", "1")]
    trace = world.trace()
    assert trace[trace.index("wait_started w-1") + 1 :] == [
        "rollback_started",
        "rollback_step_started b-1",
        "rollback_attempt_started b-1 1",
        "rollback_attempt_completed b-1 1",
        "rollback_step_completed b-1",
        "rollback_step_started a-1",
        "rollback_attempt_started a-1 1",
        "rollback_attempt_completed a-1 1",
        "rollback_step_completed a-1",
        "rollback_completed",
        "workflow_terminated",
    ]


async def test_the_handlers_receive_cloudflares_error(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=lambda given: world.note((given.error.name, given.error.message)))
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one", {"rollback": True})

    assert world.journal == [("Error", "Instance terminated during rollback")]


async def test_with_nothing_to_roll_back_it_is_terminated_directly(world) -> None:
    async def flow(params, step):
        await step.do("a", 1)
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one", {"rollback": True})

    assert world.status() == "terminated"
    assert "rollback_started" not in world.trace()


async def test_with_rollback_in_a_running_step_the_callback_is_stopped_first(world) -> None:
    async def callback():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            world.note("cancelled")
            raise

    async def flow(params, step):
        await step.do("a", callback, rollback=lambda given: world.note(("undo", given.output)))

    await world.start(flow)
    await world.begin()
    await world.flow.terminate("one", {"rollback": True})
    await turns(5)

    assert world.status() == "terminated"
    assert world.journal == ["cancelled", ("undo", None)]


@pytest.mark.parametrize("status", ["paused", "queued"])
async def test_with_rollback_from_other_statuses(world, status) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        if params.get("busy"):
            await step.do("busy", release.wait)
            return
        await step.do("a", 1, rollback=lambda: world.note("undone"))
        await step.sleep("z", 1000)

    await world.start(flow, concurrency_limit=1)
    await world.create()
    if status == "paused":
        await world.flow.pause("one")
    else:
        await world.begin("busy", {"busy": True})
        await world.pass_time(1000)
    assert world.status() == status
    await world.flow.terminate("one", {"rollback": True})
    await turns(10)

    assert world.status() == "terminated"
    assert world.journal == ["undone"]


async def test_terminate_waits_for_the_rollbacks(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", 1, rollback=release.wait)
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    terminating = asyncio.ensure_future(world.flow.terminate("one", {"rollback": True}))
    await turns(20)
    assert world.status() == "rollingBack"
    assert not terminating.done()
    release.set()
    await terminating

    assert world.status() == "terminated"


async def test_terminating_again_ends_a_running_rollback_without_finishing_it(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=lambda: world.note("never"))
        await step.do("b", 2, rollback=asyncio.Event().wait)
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    first = asyncio.ensure_future(world.flow.terminate("one", {"rollback": True}))
    await turns(20)
    await world.flow.terminate("one")
    await turns(20)
    await first

    assert world.status() == "terminated"
    assert world.journal == []
    assert world.trace()[-1] == "workflow_terminated"


async def test_terminating_ends_the_rollback_of_an_error_too(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=lambda: world.note("never"))
        await step.do("b", 2, rollback=asyncio.Event().wait)
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    assert world.status() == "rollingBack"
    await world.flow.terminate("one")
    await turns(20)

    assert world.status() == "terminated"
    assert world.journal == []


async def test_deleting_ends_a_running_rollback_and_leaves_nothing(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", 1, rollback=release.wait)
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    key = world.key()
    first = asyncio.ensure_future(world.flow.terminate("one", {"rollback": True}))
    await turns(20)
    await world.flow.delete("one")
    release.set()
    await turns(20)
    await first

    assert world.status() == "gone"
    assert world.store.history(key) == []


async def test_terminating_itself_with_rollback(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=lambda: world.note("undone"))
        await world.flow.terminate("one", {"rollback": True})
        world.note("after")

    await world.start(flow)
    await world.create()

    assert world.status() == "terminated"
    assert world.journal == ["undone"]


async def test_a_handler_that_fails_still_ends_as_terminated(world) -> None:
    def fail():
        raise NonRetryableError("cannot")

    async def flow(params, step):
        await step.do("a", 1, rollback=lambda: world.note("never"))
        await step.do("b", 2, rollback=fail)
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one", {"rollback": True})

    assert world.status() == "terminated"
    assert world.journal == []
