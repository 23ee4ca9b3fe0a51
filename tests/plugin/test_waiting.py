"""A test never waits: it goes on, or it fails and says what waits for what."""

from __future__ import annotations

import asyncio
import time

import pytest
from workers import WorkflowEntrypoint

from stepwell.testing import Deadlock, StillRunning, UnreachableStatus, WorkflowTestError, WouldWait
from tests.plugin.flows import Asks, Fails, Nap, Order


async def failure(kind, awaitable) -> str:
    with pytest.raises(kind) as caught:
        await awaitable
    assert type(caught.value) is kind
    return str(caught.value)


async def test_a_sleep_that_nobody_ends_fails_at_once_with_its_name(workflows) -> None:
    """A test without disabled sleeps on a Workflow that sleeps."""
    workflows.define(Nap)
    instance = await workflows.NAP.create({"id": "one"})
    began = time.perf_counter()

    text = await failure(WouldWait, instance.wait_for_status("complete"))

    assert time.perf_counter() - began < 2
    assert text.startswith('The test would hang: status "complete" of instance "one" of nap needs')
    assert '"one" of nap: waiting\n  sleep "nap-1" ends in 1 day' in text
    assert 'await clock.advance("1 hour")' in text


async def test_a_retry_that_is_not_due_is_named_with_its_attempt(workflows) -> None:
    """The message names the step that is waited on."""
    workflows.define(Fails)
    instance = await workflows.FAILS.create()

    text = await failure(WouldWait, instance.wait_for_status("errored"))

    assert 'step "break-1" is retried (attempt 2) in 1 minute' in text
    assert "attempt_errored   break-1  1        ValueError: it is broken; next attempt after 1 minute" in text


async def test_an_event_that_nobody_can_send_is_a_deadlock(workflows) -> None:
    workflows.define(Asks)
    instance = await workflows.ASKS.create({"id": "one"})

    text = await failure(Deadlock, instance.wait_for_status("complete"))

    assert "nothing is left to run" in text
    assert 'event "answered" in wait "answer-1", which times out in 1 day' in text
    assert "mock_event()" in text


async def test_the_clock_does_not_run_into_an_event_s_timeout_by_itself(workflows, auto_advance) -> None:
    workflows.define(Asks)
    instance = await workflows.ASKS.create()

    await failure(Deadlock, instance.wait_for_status("errored"))


async def test_a_paused_instance_is_a_deadlock_that_resume_would_end(workflows, auto_advance) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()
    await instance.wait_until_sleeping()
    await instance.pause()

    text = await failure(Deadlock, instance.wait_for_status("complete"))

    assert "paused until resume() is called" in text
    assert "Call resume() first" in text


async def test_every_instance_that_waits_is_listed_the_one_in_question_first(workflows) -> None:
    workflows.define(Asks)
    await workflows.ASKS.create({"id": "other"})
    instance = await workflows.ASKS.create({"id": "mine"})

    text = await failure(Deadlock, instance.wait_for_status("complete"))

    assert 0 < text.index('"mine" of asks') < text.index('"other" of asks')


@pytest.mark.workflows(patience=0.05)
async def test_user_code_that_takes_real_time_fails_after_the_patience(workflows) -> None:
    class Slow(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do("request")
            async def request():
                await asyncio.sleep(3600)

            await request()

    instance = await workflows.define(Slow).create({"id": "one"})

    text = await failure(StillRunning, instance.wait_for_status("complete"))

    assert "user code has been running for 50 ms of real time" in text
    assert '"one" of slow: running\n  step "request-1" is running, attempt 1' in text


async def test_another_finite_status_ends_the_wait_in_cloudflare_s_words(workflows, auto_advance) -> None:
    workflows.define(Fails)
    instance = await workflows.FAILS.create({"id": "one"})

    text = await failure(UnreachableStatus, instance.wait_for_status("complete"))

    assert text.startswith(
        "[WorkflowIntrospector] The Workflow instance one has reached status 'errored'. This is a finite status "
        "that prevents it from ever reaching the expected status of 'complete'."
    )
    assert "step_errored" in text


async def test_a_status_counts_that_passes_while_it_is_waited_for(workflows, auto_advance) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()

    await instance.wait_for_status("waiting")
    await instance.wait_for_status("running", "complete")


async def test_queued_has_always_been_reached(workflows) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()

    await instance.wait_for_status("queued")


async def test_what_is_no_status_is_refused(workflows) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()

    with pytest.raises(ValueError, match=r'Unknown status "done"\. Statuses: queued, running'):
        await instance.wait_for_status("done")


async def test_an_instance_that_does_not_exist_is_not_waited_for(workflows) -> None:
    workflows.define(Nap)

    text = await failure(Deadlock, workflows.NAP.instance("none").wait_for_status("complete"))

    assert "All instances have finished." in text
    with pytest.raises(WorkflowTestError, match='nap has no instance "none"'):
        workflows.NAP.instance("none").history


async def test_the_end_without_the_awaited_step_fails(workflows, auto_advance) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()

    text = await failure(UnreachableStatus, instance.wait_for_step_result("charge"))

    assert 'The instance has finished without step "charge".' in text


async def test_result_gives_the_output_once_there_is_one(workflows, auto_advance) -> None:
    workflows.define(Nap)

    assert await (await workflows.NAP.create(params={"times": 3})).result() == 3


async def test_the_end_of_sleeps_is_waited_for_by_name(workflows) -> None:
    workflows.define(Order)
    instance = await workflows.ORDER.create(params={"cents": 1})

    await instance.wait_until_sleeping("cool down")
    await failure(WouldWait, instance.wait_until_sleeping("another"))
    await failure(WouldWait, instance.wait_until_waiting_for_event("approved"))


async def test_an_instance_that_never_comes_to_an_end_stops_the_clock(workflows, auto_advance, monkeypatch) -> None:
    class Poller(WorkflowEntrypoint):
        async def run(self, event, step):
            while True:
                await step.sleep("a minute", "1 minute")

    monkeypatch.setattr("stepwell.emulator.testing.pace._MOST_MOVES", 20)
    instance = await workflows.define(Poller).create()

    text = await failure(WouldWait, instance.wait_for_status("complete"))

    assert text.splitlines()[0].endswith(" after 20 clock moves.")
