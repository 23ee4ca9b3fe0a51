"""What tests see of an instance: steps, history, tables, changes of status."""

from __future__ import annotations

import pytest
from workers import WorkflowEntrypoint

from stepwell.emulator.testing.views import UnknownStep
from tests.plugin.flows import Asks, Fails, Nap, Order


class Twice(WorkflowEntrypoint):
    async def run(self, event, step):
        charges: list[int] = []
        for _ in range(2):

            @step.do("charge")
            async def charge():
                return len(charges)

            charges.append(await charge())

        @step.do("secret", config={"sensitive": "output"})
        async def secret():
            return "token"

        return await secret()


@pytest.fixture
async def twice(workflows):
    return workflows.define(Twice)


async def finished(workflow, **options):
    instance = await workflow.create(**options)
    await instance.wait_for_status("complete", "errored")
    return instance


async def test_steps_are_in_the_order_in_which_they_came(workflows) -> None:
    steps = (await finished(workflows.define(Twice))).steps

    assert steps.names == ["charge", "charge", "secret"]
    assert [step.public_name for step in steps] == ["charge-1", "charge-2", "secret-1"]
    assert len(steps) == 3
    assert repr(steps) == "<Steps: charge-1 completed, charge-2 completed, secret-1 completed>"


async def test_a_step_is_found_by_name_by_use_and_by_place(workflows) -> None:
    steps = (await finished(workflows.define(Twice))).steps

    assert steps["charge"].output == 0
    assert steps["charge", 2].output == 1
    assert steps["charge-2"].output == 1
    assert steps[1].output == 1
    assert "charge" in steps
    assert "ship" not in steps


async def test_an_unknown_step_is_named_with_those_that_there_are(workflows) -> None:
    steps = (await finished(workflows.define(Twice))).steps

    with pytest.raises(UnknownStep) as unknown:
        steps["chrage"]

    assert str(unknown.value) == ("no step 'chrage'. Steps: charge-1, charge-2, secret-1. Did you mean \"charge\"?")


async def test_a_sensitive_output_is_not_shown(workflows) -> None:
    instance = await finished(workflows.define(Twice))

    assert instance.steps["secret"].output == "[REDACTED]"
    assert "token" not in instance.explain().replace("'token'", "", 1)  # run() returns it, and may


async def test_a_step_says_where_it_stands(workflows, clock) -> None:
    workflows.define(Fails)
    instance = await workflows.FAILS.create()
    await instance.wait_for_status("waiting")

    step = instance.steps["break"]
    assert (step.type, step.status, step.attempts) == ("do", "retrying", 1)
    assert step.due_at - clock.now_ms == 60_000
    assert step.config["retries"]["limit"] == 1

    await clock.run_until_idle()
    step = instance.steps["break"]
    assert (step.status, step.attempts) == ("failed", 2)
    assert step.error == {"name": "ValueError", "message": "it is broken"}


async def test_sleeps_and_waits_are_steps_too(workflows, clock) -> None:
    workflows.define(Order)
    instance = await workflows.ORDER.create(params={"cents": 1})
    await clock.run_until_idle()

    assert [(step.name, step.type, step.status) for step in instance.steps] == [
        ("charge", "do", "completed"),
        ("cool down", "sleep", "completed"),
        ("approval", "waitForEvent", "waiting"),
    ]


async def test_the_history_is_that_of_subscribe(workflows) -> None:
    instance = await finished(workflows.define(Nap), params={"times": 0})

    subscription = await instance.subscribe()
    told = [(await subscription.next()).value for _ in instance.history]

    assert list(instance.history) == told
    assert instance.history.types == [
        "workflow_queued",
        "workflow_started",
        "workflow_running",
        "workflow_completed",
    ]
    assert instance.history[-1].output == 0
    assert [entry.type for entry in instance.history.of("workflow_completed")] == ["workflow_completed"]


async def test_a_history_prints_as_a_table(workflows, clock) -> None:
    workflows.define(Fails)
    instance = await workflows.FAILS.create({"id": "one"})
    await clock.run_until_idle()

    lines = str(instance.history).splitlines()
    assert lines[0] == '"one" of fails: errored'
    assert lines[1].split() == ["after", "event", "step", "attempt"]
    assert "  +1 minute  attempt_started   break-1  2" in lines
    assert "  +1 minute  workflow_errored                    Error: ValueError: it is broken" in lines
    assert lines[-1] == "  ValueError: it is broken"  # the end of the traceback through the test's own code
    assert str(instance.history) == instance.explain()


async def test_a_long_history_is_shown_from_its_end(workflows) -> None:
    class Many(WorkflowEntrypoint):
        async def run(self, event, step):
            for _ in range(60):

                @step.do("one")
                async def one():
                    return "x" * 200

                await one()

    instance = await finished(workflows.define(Many))

    lines = instance.explain().splitlines()
    assert lines[1] == "  (44 earlier entries are left out)"
    assert len(lines) == 203
    assert max(map(len, lines)) < 160


async def test_w17_a_callback_is_told_of_each_change_of_status(workflows, auto_advance) -> None:
    workflows.define(Nap)
    told: list[tuple[str, str, str]] = []
    stop = workflows.on_status(lambda *change: told.append(change))

    instance = await workflows.NAP.create({"id": "one"})
    await instance.result()
    stop()
    await workflows.NAP.create({"id": "two"})
    await workflows.NAP.instance("two").result()

    assert told[0] == ("nap", "one", "queued")
    assert [status for _, _, status in told][-2:] == ["running", "complete"]
    assert ("nap", "one", "waiting") in told
    assert {instance_id for _, instance_id, _ in told} == {"one"}


async def test_w17_a_callback_follows_one_instance(workflows, engine) -> None:
    workflows.define(Nap)
    one = await workflows.NAP.create({"id": "one"})
    await workflows.NAP.create({"id": "two"})
    await one.wait_until_sleeping()
    told: list[str] = []
    one.on_status(told.append)

    await one.pause()
    await workflows.NAP.instance("two").terminate()
    await one.resume()
    await engine.idle()

    assert told[0] == "paused"
    assert told[-1] == "waiting"
    assert "terminated" not in told


async def test_an_instance_is_prepared_and_then_started(workflows) -> None:
    """Mocks are there before the first step."""
    workflows.define(Order)
    prepared = workflows.ORDER.prepare(id="o-1", params={"cents": 1})
    prepared.mock_step_result("charge", {"paid": 99})
    prepared.disable_sleeps()
    assert workflows.ORDER.instance("o-1").current_status == "gone"

    instance = await prepared.start()
    await instance.wait_until_waiting_for_event("approved")
    await instance.send_event(type="approved", payload={"to": "Ada"})

    assert instance.id == "o-1"
    assert await instance.result() == [99, "to Ada"]


async def test_a_run_skips_its_sleeps_and_ends_however_it_ends(workflows) -> None:
    """Run with sleeps skipped."""
    workflows.define(Order)
    workflows.define(Fails)

    def mocks(m):
        m.mock_event("approved", {"to": "Ada"})

    done = await workflows.ORDER.run(params={"cents": 1}, mocks=mocks)
    failed = await workflows.FAILS.run(mocks=lambda m: m.disable_retry_delays())

    assert (done.current_status, failed.current_status) == ("complete", "errored")


async def test_a_sleep_is_skipped_as_soon_as_it_is_slept(workflows) -> None:
    """Skip sleeps, wait for a step, a sleep, an event wait, a status."""
    workflows.define(Order)
    instance = await workflows.ORDER.create(params={"cents": 1})

    assert await instance.wait_for_step_result("charge") == {"paid": 1}
    await instance.skip_sleep("cool down")
    await instance.wait_until_waiting_for_event()
    await instance.terminate()
    await instance.wait_for_status("terminated")


async def test_an_instance_shows_what_it_is(workflows) -> None:
    workflows.define(Asks)
    instance = await workflows.ASKS.create({"id": "one"})

    assert repr(instance) == "<Instance 'one' of asks>"
    assert repr(await workflows.ASKS.get("one")) == "<Instance 'one' of asks>"
    assert "ASKS" in dir(workflows)
