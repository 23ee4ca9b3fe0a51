"""Cloudflare's test API: its rules, its messages, both spellings."""

from __future__ import annotations

import pytest
from workers import WorkflowEntrypoint
from workers.workflows import NonRetryableError

from stepwell.testing import (
    IntrospectionError,
    UnusedMocks,
    WorkflowTestError,
    WouldWait,
    introspect_workflow,
    introspect_workflow_instance,
    introspectWorkflow,
    introspectWorkflowInstance,
)
from tests.plugin.flows import Asks, Fails, Nap, Order

pytestmark = pytest.mark.workflows(check_mocks=False)


class Counts(WorkflowEntrypoint):
    """Calls the same step twice; its result is the attempts that were made of the first."""

    async def run(self, event, step):
        results = []
        for _ in range(2):

            @step.do("charge", config={"retries": {"limit": 5, "delay": "5 seconds", "backoff": "exponential"}})
            async def charge(ctx):
                return f"real {ctx['attempt']}"

            results.append(await charge())
        return results


@pytest.fixture
def counts(workflows):
    return workflows.define(Counts)


async def test_a_mocked_result_stands_in_for_the_callback(counts, auto_advance) -> None:
    async with introspect_workflow_instance(counts, "one") as introspector:
        await introspector.modify(lambda m: m.mock_step_result({"name": "charge"}, {"ok": True}))
        await counts.create({"id": "one"})
        await introspector.wait_for_status("complete")

        assert await introspector.get_output() == [{"ok": True}, "real 1"]
        assert await introspector.wait_for_step_result({"name": "charge"}) == {"ok": True}
        assert await introspector.wait_for_step_result({"name": "charge", "index": 2}) == "real 1"


@pytest.mark.parametrize("value", [0, "", False, None, []])
async def test_a_mocked_result_may_be_anything_that_can_be_stored(counts, auto_advance, value) -> None:
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_result("charge", value))
    await counts.create({"id": "one"})
    await introspector.wait_for_status("complete")

    assert (await introspector.get_output())[0] == value


async def test_a_result_is_mocked_once(counts) -> None:
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_result("charge", 1))

    with pytest.raises(IntrospectionError) as refused:
        await introspector.modify(lambda m: m.mock_step_result("charge", 2))

    assert str(refused.value) == "[WorkflowIntrospector] Trying to mock step 'charge' multiple times!"


async def test_failures_of_a_step_with_a_mocked_result_are_refused(counts) -> None:
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_result("charge", 1))

    with pytest.raises(IntrospectionError) as error:
        await introspector.modify(lambda m: m.mock_step_error("charge", ValueError("x")))
    with pytest.raises(IntrospectionError) as timeout:
        await introspector.modify(lambda m: m.force_step_timeout("charge"))

    assert str(error.value) == (
        "[WorkflowIntrospector] Trying to mock error on step 'charge' after mocking its result!"
    )
    assert str(timeout.value) == (
        "[WorkflowIntrospector] Trying to force timeout on step 'charge' after mocking its result!"
    )


async def test_a_step_fails_twice_and_then_gives_its_mocked_result(counts, auto_advance) -> None:
    """Mock 'charge': fail twice, then {ok: true}."""
    introspector = await introspect_workflow_instance(counts, "one")

    async def mocks(m):
        await m.mock_step_error({"name": "charge"}, ValueError("no money"), 2)
        await m.mock_step_result({"name": "charge"}, {"ok": True})

    await introspector.modify(mocks)
    instance = await counts.create({"id": "one"})

    assert (await instance.result())[0] == {"ok": True}
    assert instance.steps["charge"].attempts == 3
    assert [entry.error["message"] for entry in instance.history.of("attempt_errored")] == ["no money"] * 2


async def test_retries_without_their_delays(counts) -> None:
    """3 retries of 5 s exponential, failing twice: attempts happen, delays do not."""
    introspector = await introspect_workflow_instance(counts, "one")

    def mocks(m):
        m.disable_retry_delays([{"name": "charge"}])
        m.mock_step_error("charge", RuntimeError("busy"), times=2)

    await introspector.modify(mocks)
    instance = await counts.create({"id": "one"})

    assert await instance.result() == ["real 3", "real 1"]
    assert instance.steps["charge"].attempts == 3


async def test_errors_and_timeouts_follow_one_another(counts, auto_advance) -> None:
    introspector = await introspect_workflow_instance(counts, "one")

    def mocks(m):
        m.mock_step_error("charge", ValueError("first"), 1)
        m.force_step_timeout("charge", 1)
        m.mock_step_error("charge", ValueError("third"), 1)

    await introspector.modify(mocks)
    instance = await counts.create({"id": "one"})

    assert (await instance.result())[0] == "real 4"
    errors = [entry.error for entry in instance.history.of("attempt_errored")]
    assert [error["message"] for error in errors] == ["first", "Execution timed out after 0ms", "third"]


async def test_an_error_without_a_number_of_times_stays(counts, auto_advance) -> None:
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_error("charge", {"name": "Error", "message": "always"}))
    await counts.create({"id": "one"})
    await introspector.wait_for_status("errored")

    assert await introspector.get_error() == {"name": "Error", "message": "always"}
    with pytest.raises(Exception, match="always"):
        await introspector.wait_for_step_result("charge")


async def test_a_mocked_error_that_forbids_retries_ends_the_step(counts) -> None:
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_error("charge", NonRetryableError("never")))
    instance = await counts.create({"id": "one"})
    await introspector.wait_for_status("errored")

    assert instance.steps["charge"].attempts == 1


async def test_all_sleeps_are_disabled(workflows) -> None:
    nap = workflows.define(Nap)
    introspector = await introspect_workflow_instance(nap, "one")
    await introspector.modify(lambda m: m.disable_sleeps())
    instance = await nap.create({"id": "one", "params": {"times": 365}})

    assert await instance.result() == 365
    assert instance.history.of("sleep_started")[0].durationMs == 86_400_000


async def test_one_use_of_a_sleep_is_disabled(workflows) -> None:
    nap = workflows.define(Nap)
    introspector = await introspect_workflow_instance(nap, "one")
    await introspector.modify(lambda m: m.disable_sleeps([{"name": "nap", "index": 1}]))
    instance = await nap.create({"id": "one", "params": {"times": 2}})

    with pytest.raises(WouldWait, match="nap-2"):
        await instance.wait_for_status("complete")


async def test_sleeps_delays_and_event_timeouts_are_dropped_separately(workflows) -> None:
    order = workflows.define(Order)
    introspector = await introspect_workflow_instance(order, "one")

    def mocks(m):
        m.disable_sleeps()
        m.force_event_timeout({"name": "approval"})

    await introspector.modify(mocks)
    instance = await order.create({"id": "one", "params": {"cents": 1}})
    await introspector.wait_for_status("errored")

    assert (await introspector.get_error())["message"] == (
        "WorkflowTimeoutError: Execution timed out after 172800000ms"
    )
    assert instance.history.of("wait_timed_out")


async def test_a_forced_timeout_ignores_an_event_that_came_early(workflows) -> None:
    asks = workflows.define(Asks)
    introspector = await introspect_workflow_instance(asks, "one")
    await introspector.modify(lambda m: m.force_event_timeout("answer"))
    instance = await asks.create({"id": "one"})
    await instance.send_event(type="answered", payload=1)

    await introspector.wait_for_status("errored")


async def test_a_mocked_event_ends_the_wait_and_real_ones_do_not_count(workflows) -> None:
    asks = workflows.define(Asks)
    introspector = await introspect_workflow_instance(asks, "one")
    await introspector.modify(lambda m: m.mock_event({"type": "answered", "payload": "mocked"}))
    instance = await asks.create({"id": "one"})
    await instance.send_event(type="answered", payload="real")

    assert await instance.result() == "mocked"


async def test_each_mocked_event_is_for_one_wait(workflows, auto_advance) -> None:
    class Twice(WorkflowEntrypoint):
        async def run(self, event, step):
            return [(await step.wait_for_event(name, "go"))["payload"] for name in ("a", "b")]

    twice = workflows.define(Twice)
    prepared = twice.prepare()
    prepared.mock_event("go", 1)
    prepared.mock_event("go", 2)

    assert await (await prepared.start()).result() == [1, 2]


async def test_an_event_is_mocked_for_an_instance_that_waits_already(workflows) -> None:
    asks = workflows.define(Asks)
    instance = await asks.create({"id": "one"})
    await instance.wait_until_waiting_for_event("answered")

    introspector = await introspect_workflow_instance(asks, "one")
    await introspector.modify(lambda m: m.mock_event({"type": "answered", "payload": 5}))

    assert await instance.result() == 5


async def test_changes_outlive_a_restart_of_the_instance(counts, auto_advance) -> None:
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_result("charge", "mocked"))
    instance = await counts.create({"id": "one"})
    await instance.result()

    await instance.restart()

    assert (await instance.result())[0] == "mocked"


async def test_output_and_error_are_given_in_the_right_status_only(workflows) -> None:
    nap = workflows.define(Nap)
    introspector = await introspect_workflow_instance(nap, "one")
    await nap.create({"id": "one"})
    await introspector.wait_for_status("waiting")

    with pytest.raises(WorkflowTestError) as output:
        await introspector.get_output()
    with pytest.raises(WorkflowTestError) as error:
        await introspector.get_error()

    assert str(output.value).startswith(
        'Cannot retrieve output: Workflow instance is in status "waiting" but must be "complete" to have an output '
        "available"
    )
    assert str(error.value).startswith(
        'Cannot retrieve error: Workflow instance is in status "waiting" but must be "errored" to have error '
        "information available"
    )


async def test_a_disposed_instance_is_gone_and_its_id_free(counts, auto_advance) -> None:
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_result("charge", "mocked"))
    await (await counts.create({"id": "one"})).result()

    await introspector.dispose()

    assert counts.instance("one").current_status == "gone"
    assert (await (await counts.create({"id": "one"})).result())[0] == "real 1"


async def test_all_instances_created_from_now_on_are_changed(counts, auto_advance) -> None:
    before = await counts.create({"id": "before"})
    async with introspect_workflow(counts) as introspector:
        await introspector.modify_all(lambda m: m.mock_step_result("charge", "mocked"))
        await counts.create_batch([{"id": "a"}, {"id": "b"}])

        introspectors = await introspector.get()
        assert [one.id for one in introspectors] == ["a", "b"]
        for one in introspectors:
            await one.wait_for_status("complete")
            assert (await one.get_output())[0] == "mocked"
        assert (await before.result())[0] == "real 1"
    assert (await (await counts.create({"id": "c"})).result())[0] == "real 1"


async def test_instances_that_user_code_creates_are_changed_too(workflows, counts, auto_advance) -> None:
    class Parent(WorkflowEntrypoint):
        async def run(self, event, step):
            return (await self.env.COUNTS.create(id="child")).id

    workflows.define(Parent)
    introspector = await introspect_workflow(counts)
    await introspector.modify_all(lambda m: m.mock_step_result("charge", "mocked"))
    await (await workflows.PARENT.create()).result()

    (child,) = await introspector.get()
    await child.wait_for_status("complete")
    assert (await child.get_output())[0] == "mocked"


async def test_a_second_mock_for_all_is_refused_before_any_instance_exists(counts) -> None:
    introspector = await introspect_workflow(counts)
    await introspector.modify_all(lambda m: m.mock_step_result("charge", 1))

    with pytest.raises(IntrospectionError, match="multiple times"):
        await introspector.modify_all(lambda m: m.mock_step_result("charge", 2))


async def test_what_is_required_is_asked_for(counts) -> None:
    with pytest.raises(IntrospectionError) as both:
        introspect_workflow_instance(counts, "")
    with pytest.raises(IntrospectionError) as binding:
        introspect_workflow(None)

    assert str(both.value) == "[WorkflowIntrospector] Workflow binding and instance id are required."
    assert str(binding.value) == "[WorkflowIntrospector] Workflow binding is required."


async def test_everything_is_there_in_javascript_s_spelling(counts, workflows) -> None:
    fails = workflows.define(Fails)
    async with await introspectWorkflowInstance(fails, "one") as one:

        async def mocks(m):
            await m.disableSleeps()
            await m.disableRetryDelays()
            await m.mockStepError({"name": "break"}, ValueError("mocked"), 1)
            await m.forceStepTimeout({"name": "break"})

        await one.modify(mocks)
        await fails.create({"id": "one"})
        await one.waitForStatus("errored")
        assert (await one.getError())["message"] == "WorkflowTimeoutError: Execution timed out after 0ms"
    async with await introspectWorkflow(counts) as all_of_them:
        await all_of_them.modifyAll(lambda m: m.mockStepResult({"name": "charge"}, 1))
        await counts.create()
        (one,) = await all_of_them.get()
        await one.waitForStatus("complete")
        assert await one.waitForStepResult({"name": "charge"}) == 1
        assert (await one.getOutput())[0] == 1


def test_plain_tests_introspect_without_await(workflows) -> None:
    workflows.define(Counts)
    with introspect_workflow_instance(workflows.COUNTS, "one") as introspector:
        introspector.modify(lambda m: m.mock_step_result("charge", "mocked"))
        workflows.COUNTS.create({"id": "one"})
        introspector.wait_for_status("complete")

        assert introspector.get_output() == ["mocked", "real 1"]


async def test_a_step_is_named_by_a_name_or_an_object(counts) -> None:
    introspector = await introspect_workflow_instance(counts, "one")

    with pytest.raises(TypeError, match=r"invalid step 5: expected a name or"):
        await introspector.modify(lambda m: m.mock_step_result(5, 1))
    with pytest.raises(TypeError, match="invalid event"):
        await introspector.modify(lambda m: m.mock_event({"payload": 1}))
    with pytest.raises(TypeError, match="invalid error"):
        await introspector.modify(lambda m: m.mock_step_error("charge", "boom"))


# -- mocks that nobody needs -----------------------------------------------------------------------------------


@pytest.mark.workflows(check_mocks=True)
async def test_an_unknown_step_is_reported_when_the_introspector_is_disposed_of(counts, auto_advance) -> None:
    """Mock 'chrage': an error about an unused mock."""
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_result("chrage", 1))
    await (await counts.create({"id": "one"})).result()

    with pytest.raises(UnusedMocks) as unused:
        await introspector.dispose()

    assert str(unused.value) == (
        'mock_step_result() for the step "chrage" was never used: instance "one" of counts only ran charge. '
        'Did you mean "charge"?'
    )


@pytest.mark.workflows(check_mocks=True)
async def test_a_third_use_that_never_came_is_reported(counts, auto_advance) -> None:
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_error({"name": "charge", "index": 3}, ValueError("x")))
    await (await counts.create({"id": "one"})).result()

    with pytest.raises(UnusedMocks, match=r'the step "charge" \(index 3\) was never used'):
        await introspector.dispose()


@pytest.mark.workflows(check_mocks=True)
async def test_events_sleeps_and_waits_that_never_came_are_reported(counts, auto_advance) -> None:
    introspector = await introspect_workflow(counts)

    def mocks(m):
        m.mock_event("approved", 1)
        m.disable_sleeps(["nap"])
        m.force_event_timeout("approval")

    await introspector.modify_all(mocks)
    await (await counts.create()).result()

    with pytest.raises(UnusedMocks) as unused:
        await introspector.dispose()

    assert str(unused.value).splitlines() == [
        'mock_event() for the event of type "approved" was never used: the instance of counts never waited for an '
        "event.",
        'disable_sleeps() for the sleep "nap" was never used: the instance of counts ran no sleep, only '
        "charge-1 (do), charge-2 (do).",
        'force_event_timeout() for the wait for an event "approval" was never used: the instance of counts ran no '
        "wait for an event, only charge-1 (do), charge-2 (do).",
    ]


@pytest.mark.workflows(check_mocks=True)
async def test_mocks_of_an_instance_that_was_never_created_are_reported(counts) -> None:
    introspector = await introspect_workflow_instance(counts, "one")
    await introspector.modify(lambda m: m.mock_step_result("charge", 1))

    with pytest.raises(UnusedMocks, match='instance "one" of counts was never created'):
        await introspector.dispose()


@pytest.mark.workflows(check_mocks=True)
async def test_an_instance_that_is_under_way_may_yet_come_to_its_mocks(workflows) -> None:
    order = workflows.define(Order)
    introspector = await introspect_workflow_instance(order, "one")
    await introspector.modify(lambda m: m.mock_step_result("ship", 1))
    await order.create({"id": "one", "params": {"cents": 1}})
    await introspector.wait_for_status("waiting")

    await introspector.dispose()


@pytest.mark.workflows(check_mocks=True)
async def test_a_mock_for_all_is_used_when_one_instance_came_to_it(workflows, auto_advance) -> None:
    class Branches(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do(event.payload["branch"])
            async def branch():
                return 1

            return await branch()

    branches = workflows.define(Branches)
    introspector = await introspect_workflow(branches)
    await introspector.modify_all(lambda m: m.mock_step_result("left", 2))
    results = [await (await branches.create(params={"branch": name})).result() for name in ("left", "right")]

    await introspector.dispose()

    assert results == [2, 1]
