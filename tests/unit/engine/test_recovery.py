"""After a crash: a new engine goes on where the commits of the old one ended, with no call made."""

from __future__ import annotations

import json

import pytest

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.tracebacks import error_report
from stepwell.emulator.clock import turns
from stepwell.emulator.storage.records import EventType, NewInstance, StepState, Trigger

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


def in_flight_once(world):
    """A callback that stays in flight the first time it runs, so that a crash finds it there."""
    import asyncio

    async def callback(ctx):
        world.note(ctx.attempt)
        if ctx.attempt == 1:
            await asyncio.Event().wait()
        return ctx.attempt

    return callback


async def test_what_was_not_committed_is_lost(world) -> None:
    async def flow(params, step):
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    key = world.store.find(world.flow._workflow.key, "one")
    await world.create()

    world.store.put_setting("lost", "1")
    world.engine.crash()
    await turns(3)

    assert key is None
    assert world.store.setting("lost") is None
    assert world.status() == "waiting"


async def test_l5_a_completed_step_answers_from_its_record(world) -> None:
    async def flow(params, step):
        first = await step.do("a", lambda: world.note("a") or 1)
        second = await step.do("b", in_flight_once(world))
        return [first, second]

    await world.start(flow)
    await world.begin()
    await world.restart()

    assert world.journal == ["a", 1, 2]
    assert await world.output() == [1, 2]


async def test_code_outside_of_steps_runs_again_and_steps_do_not(world) -> None:
    async def flow(params, step):
        world.note("run")
        a = await step.do("one", lambda: world.note("one") or 42)
        await step.sleep("z", "5 seconds")
        return a == await step.do("two", lambda: a)

    await world.start(flow)
    await world.create()
    await world.restart()
    await world.advance(5000)

    assert await world.output() is True
    assert world.journal == ["run", "one", "run"]


async def test_an_attempt_in_flight_counts_as_failed_and_the_next_comes_at_once(world) -> None:
    async def flow(params, step):
        return await step.do("a", in_flight_once(world), {"retries": {"limit": 1, "delay": "1 hour"}})

    await world.start(flow)
    await world.begin()
    await world.restart()

    assert await world.output() == 2
    errored = next(row for row in world.history() if row.type is EventType.ATTEMPT_ERRORED)
    assert errored.attempt == 1
    error = ErrorInfo.from_json(json.loads(errored.detail)["error"])
    assert error.public() == {
        "name": "WorkflowInternalError",
        "message": "Attempt failed due to internal workflows error",
    }
    assert "Stepwell was stopped" in (error_report(error) or "")


async def test_with_no_retry_left_a_crashed_attempt_fails_the_step(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.do("a", in_flight_once(world), {"retries": {"limit": 0, "delay": 1}}))

    await world.start(flow)
    await world.begin()
    await world.restart()

    assert await world.output() == ["WorkflowInternalError", 'Attempt 1 of step "a" did not finish']
    assert world.steps()["a-1"].attempts == 1


async def test_failed_attempts_are_counted_across_crashes(world) -> None:
    async def flow(params, step):
        def fail(ctx):
            world.note(ctx.attempt)
            raise RuntimeError("no")

        await step.do("a", fail, {"retries": {"limit": 2, "delay": 1000, "backoff": "constant"}})

    await world.start(flow)
    await world.create()
    await world.restart()
    await world.advance(1000)
    await world.restart()
    await world.advance(1000)

    assert world.journal == [1, 2, 3]
    assert world.status() == "errored"


async def test_a_retry_keeps_its_time(world) -> None:
    async def flow(params, step):
        def fail_once(ctx):
            world.note((ctx.attempt, world.clock.now() - world.clock.START_AT))
            if ctx.attempt == 1:
                raise RuntimeError("no")

        await step.do("a", fail_once, {"retries": {"limit": 1, "delay": 5000}})

    await world.start(flow)
    await world.create()
    await world.advance(2000)
    await world.restart()
    await world.advance(2999)
    assert world.status() == "waiting"
    await world.advance(1)

    assert world.journal == [(1, 0), (2, 5000)]


async def test_a_sleep_keeps_its_deadline(world) -> None:
    async def flow(params, step):
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()
    await world.advance(HOUR - 1)
    await world.restart()
    assert world.status() == "waiting"
    await world.advance(1)

    assert world.status() == "complete"


async def test_an_overdue_sleep_ends_at_once(world) -> None:
    async def flow(params, step):
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()
    world.engine.crash()
    world.clock.move_to(world.clock.now() + 2 * HOUR)
    await world.restart()

    assert world.status() == "complete"


async def test_w15_the_stored_deadline_counts_not_the_one_a_replay_computes(world) -> None:
    durations = iter(["1 hour", "1 minute", "1 minute"])

    async def flow(params, step):
        await step.sleep("nap", next(durations))

    await world.start(flow)
    await world.create()
    await world.restart()
    await world.advance(HOUR - 1)
    assert world.status() == "waiting"
    await world.advance(1)

    assert world.status() == "complete"


async def test_an_event_wait_and_the_events_sent_are_still_there(world) -> None:
    async def flow(params, step):
        early = await step.wait("w1", "early")
        return [early, await step.wait("w2", "go")]

    await world.start(flow)
    await world.create()
    await world.send("go", 2)
    await world.restart()
    await world.send("early", 1)

    assert await world.output() == [1, 2]


async def test_an_event_sent_to_a_rested_wait_wakes_it_after_the_crash(world) -> None:
    async def flow(params, step):
        return await step.wait("w", "go", "30 days")

    await world.start(flow)
    await world.create()
    await world.restart()
    await world.send("go", "late")

    assert await world.output() == "late"


async def test_an_overdue_wait_times_out_at_once(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.wait("w", "go", "1 hour"))

    await world.start(flow)
    await world.create()
    world.engine.crash()
    world.clock.move_to(world.clock.now() + 2 * HOUR)
    await world.restart()

    assert await world.output() == ["WorkflowTimeoutError", "Execution timed out after 3600000ms"]


async def test_w14_a_wait_whose_time_has_passed_fails_without_an_event(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.wait("w", "go", "1 hour"))

    await world.start(flow)
    await world.create()
    world.engine.crash()
    world.clock.move_to(world.clock.now() + 2 * HOUR)
    world.store.add_event(world.key(), "go", "1", world.clock.now())
    world.store.commit()
    await world.restart()

    assert (await world.output())[0] == "WorkflowTimeoutError"


async def test_l6_what_ran_or_waited_goes_on_with_no_call_made(world) -> None:
    async def flow(params, step):
        if params["kind"] == "step":
            await step.do("a", in_flight_once(world))
        elif params["kind"] == "sleep":
            await step.sleep("nap", 5000)
        else:
            await step.wait("w", "go", 6000)
        return "done"

    await world.start(flow)
    for kind in ("step", "sleep", "wait"):
        await world.begin(kind, {"kind": kind})
    await world.restart()
    await world.advance(6000)

    assert [world.status(kind) for kind in ("step", "sleep", "wait")] == ["complete", "complete", "errored"]


async def test_four_kinds_of_waiting_go_on_after_a_restart(world) -> None:
    async def flow(params, step):
        if params["kind"] == "sleep":
            return [await step.do("one", 1), await step.sleep("z", 5000), await step.do("two", 2)]
        if params["kind"] == "step":
            return await step.do("long", in_flight_once(world))
        if params["kind"] == "retry":

            def fail_once(ctx):
                if ctx.attempt == 1:
                    raise RuntimeError("no")
                return ctx.attempt

            return await step.do("again", fail_once, {"retries": {"limit": 1, "delay": 6000}})
        return await step.wait("w", "go", 6000)

    await world.start(flow)
    kinds = ("sleep", "step", "retry", "wait")
    for kind in kinds:
        await world.begin(kind, {"kind": kind})
    world.engine.crash()
    world.clock.move_to(world.clock.now() + 1500)
    await world.restart()
    await world.advance(6000)

    assert [world.status(kind) for kind in kinds] == ["complete", "complete", "complete", "errored"]


async def test_a_paused_instance_stays_paused(world) -> None:
    async def flow(params, step):
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()
    await world.advance(HOUR // 2)
    await world.flow.pause("one")
    await world.restart()
    await world.advance(10 * HOUR)
    assert world.status() == "paused"

    await world.flow.resume("one")
    await world.advance(HOUR // 2 - 1)
    assert world.status() == "waiting"
    await world.advance(1)
    assert world.status() == "complete"


async def test_waiting_for_pause_becomes_paused(world) -> None:
    async def flow(params, step):
        return await step.do("a", in_flight_once(world))

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    assert world.status() == "waitingForPause"
    await world.restart()

    assert world.status() == "paused"
    assert world.steps()["a-1"].state is StepState.IN_FLIGHT

    await world.flow.resume("one")
    await world.idle()
    assert await world.output() == 2


async def test_queued_stays_queued_and_starts_when_a_slot_is_free(world) -> None:
    async def flow(params, step):
        await step.do("a", in_flight_once(world))

    await world.start(flow, concurrency_limit=1)
    for name in ("first", "second"):
        await world.begin(name)
    assert (world.status("first"), world.status("second")) == ("running", "queued")

    await world.restart(until_idle=False)
    await turns(20)

    # The first goes on as attempt 2 and ends; then the second starts, and stays in its first attempt.
    assert (world.status("first"), world.status("second")) == ("complete", "running")


async def test_an_instance_that_was_created_and_never_started_starts(world) -> None:
    async def flow(params, step):
        return "ran"

    await world.start(flow)
    state = world.engine.workflows()[0]
    new = NewInstance(state.key, "one", world.clock.now(), state.version_key, Trigger.BINDING)
    world.store.insert_instance(new, None)
    world.store.commit()
    assert world.status() == "queued"
    await world.restart()

    assert await world.output() == "ran"


async def test_finished_instances_stay_as_they_are(world) -> None:
    async def flow(params, step):
        world.note("run")
        return 1

    await world.start(flow)
    await world.create()
    before = world.history()
    await world.restart()
    await world.advance(HOUR)

    assert world.journal == ["run"]
    assert world.history() == before


async def test_nothing_is_logged_for_what_is_merely_replayed(world) -> None:
    async def flow(params, step):
        await step.do("a", 1)
        await step.do("b", in_flight_once(world))

    await world.start(flow)
    await world.begin()
    await world.restart()

    assert world.trace(moods=True) == [
        "workflow_queued",
        "workflow_started",
        "workflow_running",
        "step_started a-1",
        "attempt_started a-1 1",
        "attempt_completed a-1 1",
        "step_completed a-1",
        "step_started b-1",
        "attempt_started b-1 1",
        "attempt_errored b-1 1",
        "attempt_started b-1 2",
        "attempt_completed b-1 2",
        "step_completed b-1",
        "workflow_completed",
    ]


async def test_start_loads_none_of_those_that_only_sleep(world) -> None:
    async def flow(params, step):
        world.note("pass")
        await step.sleep("nap", "1 day")

    await world.start(flow)
    await world.flow.create_batch({"count": 100})
    await world.idle()
    world.journal.clear()
    await world.restart()

    assert world.journal == []
    assert len(world.engine._passes.table) == 0


async def test_with_workerds_way_a_crash_while_rolling_back_ends_the_chain(world) -> None:
    import asyncio

    world.configure(resume_rollbacks=False)

    async def stay():
        world.note("handler")
        await asyncio.Event().wait()

    async def flow(params, step):
        await step.do("a", 1, rollback=lambda: world.note("never"))
        await step.do("b", 2, rollback=stay)
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    assert world.status() == "rollingBack"
    await world.restart()

    assert world.journal == ["handler"]
    assert await world.error() == ("Error", "ValueError: undo")
    assert world.trace()[-2:] == ["rollback_errored", "workflow_errored"]
    assert json.loads(world.store.values(world.key()).rollback)["outcome"] == "failed"


async def test_with_workerds_way_a_crash_while_terminating_with_rollback_ends_as_terminated(world) -> None:
    import asyncio

    world.configure(resume_rollbacks=False)

    async def stay():
        await asyncio.Event().wait()

    async def flow(params, step):
        await step.do("a", 1, rollback=stay)
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()
    terminating = asyncio.ensure_future(world.flow.terminate("one", {"rollback": True}))
    await turns(20)
    assert world.status() == "rollingBack"
    await world.restart()
    terminating.cancel()

    assert world.status() == "terminated"
    assert world.trace()[-2:] == ["rollback_errored", "workflow_terminated"]


async def test_a_database_file_carries_everything_to_the_next_process(in_file) -> None:
    world = in_file()

    async def flow(params, step):
        a = await step.do("a", lambda: world.note("a") or params["n"])
        await step.sleep("nap", "1 hour")
        return [a, await step.wait("w", "go")]

    await world.start(flow)
    await world.create(params={"n": 7})
    await world.restart()
    await world.advance(HOUR)
    await world.restart()
    await world.send("go", {"x": 1})
    await world.restart()

    assert world.journal == ["a"]
    assert await world.output() == [7, {"x": 1}]
    world.engine.crash()


async def test_v9_a_recurring_sweep_finds_what_is_due_and_not_running(world) -> None:
    async def flow(params, step):
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()
    await world.restart()

    assert world.engine.next_at() == world.clock.START_AT + HOUR


async def test_v8_wake_ups_are_rows_and_survive_a_crash_between_commit_and_timer(world) -> None:
    async def flow(params, step):
        await step.sleep("nap", 1000)

    await world.start(flow)
    await world.flow.create({"id": "one"})
    while world.status() != "waiting" or world.store.dirty:
        await turns(1)
    await world.restart()
    await world.advance(1000)

    assert world.status() == "complete"


async def test_an_instance_of_a_workflow_that_is_no_longer_declared_disturbs_nobody(world) -> None:
    async def flow(params, step):
        await step.sleep("nap", "1 hour")

    world.define(flow, name="gone")
    await world.start(flow)
    await world.engine.workflow("gone").create({"id": "one"})
    await world.create()
    del world._definitions["gone"]
    await world.restart()
    await world.advance(2 * HOUR)

    assert world.status() == "complete"
    assert world.engine.next_at() is None


async def test_a_damaged_instance_does_not_keep_the_others_asleep(world, caplog) -> None:
    async def flow(params, step):
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    for name in ("damaged", "sound"):
        await world.create(name)
    world.store._db.execute("UPDATE instance SET status = 77 WHERE id = 'damaged'")
    await world.advance(HOUR)

    assert world.status("sound") == "complete"
    assert "The instance 1 has invalid values" in caplog.text
    assert "is set aside" in caplog.text
