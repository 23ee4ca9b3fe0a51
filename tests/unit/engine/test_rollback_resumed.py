"""A rollback that a stop or a crash cut off goes on afterwards, as steps do."""

from __future__ import annotations

import asyncio
import json

import pytest

from stepwell.bindings.errors import HostCrashed
from stepwell.emulator.clock import breathe, turns
from stepwell.emulator.engine.passes.outcomes import Termination
from stepwell.emulator.storage.records import EventType, Trigger

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


def outcome(world):
    return json.loads(world.store.values(world.key()).rollback)


def noting(world, name):
    return lambda: world.note(name)


async def restart_until(world, journal):
    """Restarts the engine, which comes to where the journal reads like this."""
    await world.restart(until_idle=False)
    async with asyncio.timeout(5):
        while world.journal != journal:
            await breathe()


def staying_once(world, name):
    """A handler that the first process never comes to the end of."""

    async def stay():
        world.note(name)
        if world.journal.count(name) == 1:
            await asyncio.Event().wait()

    return stay


async def test_the_remaining_handlers_run_after_a_crash_and_completed_ones_do_not_run_again(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=noting(world, "a"))
        await step.do("b", 2, rollback=staying_once(world, "b"))
        await step.do("c", 3, rollback=noting(world, "c"))
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    await world.restart()

    assert world.journal == ["c", "b", "b", "a"]
    assert await world.error() == ("Error", "ValueError: undo")
    assert outcome(world) == {"outcome": "complete", "error": None}


async def test_the_history_tells_of_one_rollback_and_of_the_attempt_that_was_cut_off(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=staying_once(world, "a"))
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    await world.restart()

    trace = world.trace()
    assert trace[trace.index("rollback_started") :] == [
        "rollback_started",
        "rollback_step_started a-1",
        "rollback_attempt_started a-1 1",
        "rollback_attempt_errored a-1 1",
        "rollback_attempt_started a-1 2",
        "rollback_attempt_completed a-1 2",
        "rollback_step_completed a-1",
        "rollback_completed",
        "workflow_errored",
    ]
    (failed,) = [row for row in world.history() if row.type is EventType.ROLLBACK_ATTEMPT_ERRORED]
    detail = json.loads(failed.detail)
    detail["error"].pop("cause", None)
    assert detail == {
        "error": {"name": "WorkflowInternalError", "message": "Attempt failed due to internal workflows error"},
        "retryDelayMs": 0,
    }


async def test_a_handler_whose_attempts_are_used_up_by_crashes_fails(world) -> None:
    async def stay():
        world.note("handler")
        await asyncio.Event().wait()

    async def flow(params, step):
        config = {"retries": {"limit": 1, "delay": 1}}
        await step.do("a", 1, rollback=noting(world, "never"))
        await step.do("b", 2, rollback=stay, rollback_config=config)
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    await restart_until(world, ["handler", "handler"])
    await world.restart()

    assert world.journal == ["handler", "handler"]
    assert outcome(world)["outcome"] == "failed"
    assert outcome(world)["error"]["name"] == "WorkflowInternalError"
    assert world.trace()[-3:] == ["rollback_step_errored b-1", "rollback_errored", "workflow_errored"]


async def test_the_delay_before_the_next_attempt_of_a_handler_goes_on(world) -> None:
    def undo():
        world.note(world.clock.now() - world.clock.START_AT)
        if len(world.journal) == 1:
            raise RuntimeError("not yet")

    async def flow(params, step):
        await step.do("a", 1, rollback=undo, rollback_config={"retries": {"limit": 1, "delay": HOUR}})
        raise ValueError("undo")

    await world.start(flow)
    await world.create()
    await world.advance(HOUR // 2)
    await world.restart()
    await world.advance(HOUR)

    assert world.journal == [0, HOUR]
    assert world.status() == "errored"


@pytest.mark.parametrize("ends", ["handler", "collecting"])
async def test_a_termination_with_rollback_ends_as_terminated_with_its_source_and_reason(world, ends) -> None:
    async def flow(params, step):
        if ends == "collecting" and world.journal == ["first"]:
            world.note("second")
            await asyncio.Event().wait()
        world.note("first") if not world.journal else None
        await step.do("a", 1, rollback=staying_once(world, "a"))
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()
    how = Termination(Trigger.BINDING, "no longer wanted")
    terminating = asyncio.ensure_future(world.engine.commands.terminate(world.key(), rollback=True, how=how))
    await asyncio.wait({terminating}, timeout=0.1)
    assert world.status() == "rollingBack"
    if ends == "collecting":
        await restart_until(world, ["first", "second", "a"])
    await world.restart()
    terminating.cancel()

    assert world.status() == "terminated"
    assert world.store.values(world.key()).reason == "no longer wanted"
    assert json.loads(world.history()[-1].detail) == {"source": "binding"}
    assert outcome(world) == {"outcome": "complete", "error": None}


async def test_the_handler_of_a_step_that_was_in_flight_runs_too(world) -> None:
    async def flow(params, step):
        async def fail():
            await turns(3)
            raise ValueError("boom")

        await asyncio.gather(
            step.do("slow", asyncio.Event().wait, rollback=noting(world, "slow")),
            step.do("bad", fail, {"retries": {"limit": 0, "delay": 1}}, rollback=staying_once(world, "bad")),
            step.do("beside", 1, rollback=noting(world, "beside")),
        )

    await world.start(flow)
    await world.begin()
    await world.restart()

    assert world.journal == ["beside", "bad", "bad", "slow"]
    assert outcome(world)["outcome"] == "complete"


async def test_a_branch_beside_a_step_without_a_result_is_followed_to_its_handlers(world) -> None:
    async def flow(params, step):
        async def longer():
            for name in "abc":
                await step.do(name, name, rollback=staying_once(world, name))
                await turns(3)
            raise ValueError("boom")

        await asyncio.gather(step.do("slow", asyncio.Event().wait, rollback=noting(world, "slow")), longer())

    await world.start(flow)
    await world.begin()
    await restart_until(world, ["c", "c", "b"])
    await restart_until(world, ["c", "c", "b", "b", "a"])
    await world.restart()

    assert world.journal == ["c", "c", "b", "b", "a", "a", "slow"]


async def test_a_stop_waits_for_the_handler_that_runs_and_begins_no_other(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        async def undo():
            world.note("b")
            await release.wait()
            world.note("b has ended")

        await step.do("a", 1, rollback=noting(world, "a"))
        await step.do("b", 2, rollback=undo)
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    stopping = asyncio.ensure_future(world.engine.stop(5_000))
    await turns(5)
    release.set()
    await stopping

    assert world.journal == ["b", "b has ended"]
    assert world.trace()[-1] == "rollback_step_completed b-1"
    await world.restart()
    assert world.journal == ["b", "b has ended", "a"]
    assert world.status() == "errored"


async def test_a_rollback_without_code_waits_for_it(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=staying_once(world, "a"))
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    world.define(None)
    await world.restart()
    assert world.status() == "rollingBack"

    world.define(flow)
    await world.idle()

    assert world.journal == ["a", "a"]
    assert world.status() == "errored"


async def test_a_rollback_without_code_can_be_ended(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=staying_once(world, "a"))
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    world.define(None)
    await world.restart()
    await world.flow.terminate("one")
    world.define(flow)
    await world.idle()

    assert world.status() == "terminated"
    assert world.journal == ["a"]
    assert world.engine._core.parked == 0


async def test_the_end_of_the_runtime_in_a_handler_costs_an_attempt_and_no_more(world) -> None:
    async def flow(params, step):
        def undo():
            world.note("b")
            if world.journal == ["b"]:
                raise HostCrashed("out of memory")

        await step.do("a", 1, rollback=noting(world, "a"))
        await step.do("b", 2, rollback=undo)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    assert world.journal == ["b", "b", "a"]
    assert outcome(world)["outcome"] == "complete"


async def test_the_end_of_the_runtime_while_handlers_are_looked_for_loses_none(world) -> None:
    passes = []

    async def flow(params, step):
        passes.append(1)
        if len(passes) == 2:
            raise HostCrashed("out of memory")
        await step.do("a", 1, rollback=noting(world, "a"))
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one", {"rollback": True})
    await world.advance(1_000)

    assert world.journal == ["a"]
    assert world.status() == "terminated"


async def test_with_workerds_way_the_end_of_the_runtime_ends_the_chain(world) -> None:
    world.configure(resume_rollbacks=False)

    async def flow(params, step):
        def undo():
            world.note("b")
            raise HostCrashed("out of memory")

        await step.do("a", 1, rollback=noting(world, "a"))
        await step.do("b", 2, rollback=undo)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    assert world.journal == ["b"]
    assert outcome(world)["outcome"] == "failed"


async def test_a_rollback_after_a_restart_from_a_step_knows_nothing_of_an_earlier_one(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=noting(world, "a"))
        await step.do("b", 2, rollback=staying_once(world, "b"))
        raise ValueError("undo")

    world.journal.append("b")  # the first rollback runs through
    await world.start(flow)
    await world.create()
    world.journal.clear()
    await world.flow.restart("one", {"from": {"name": "b"}})
    await turns(50)
    await world.restart()

    assert world.journal == ["b", "b", "a"]
