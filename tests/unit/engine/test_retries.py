"""Attempts: how many, how long between them, and what ends them early."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator

import pytest

from stepwell.bindings.errors import NonRetryableError, WorkerError
from stepwell.emulator.storage.records import EventType, StepState

pytestmark = pytest.mark.anyio


BOOM = RuntimeError("boom")


def failing(world, until=10**9, error=BOOM):
    """A callback that notes its attempts with their times, and fails up to attempt `until`."""

    def callback(ctx):
        world.note((ctx.attempt, world.clock.now() - world.clock.START_AT))
        if ctx.attempt <= until:
            raise error
        return ctx.attempt

    return callback


def retries(limit, delay, **more):
    return {"retries": {"limit": limit, "delay": delay, **more}}


async def run_to_the_end(world):
    while world.status() not in ("complete", "errored"):
        assert await world.engine.advance_to_next() is not None


SCHEDULES = {
    "constant": (100, [0, 100, 200, 300]),
    "linear": (100, [0, 100, 300, 600]),
    "exponential": (100, [0, 100, 300, 700]),
}


@pytest.mark.parametrize("backoff", SCHEDULES)
async def test_the_backoffs_space_the_attempts(world, backoff) -> None:
    delay, times = SCHEDULES[backoff]

    async def flow(params, step):
        await step.do("a", failing(world), retries(3, delay, backoff=backoff))

    await world.start(flow)
    await world.create()
    await run_to_the_end(world)

    assert [at for _, at in world.journal] == times


async def test_the_default_is_five_retries_from_10_seconds_doubling(world) -> None:
    async def flow(params, step):
        await step.do("a", failing(world))

    await world.start(flow)
    await world.create()
    await run_to_the_end(world)

    assert [at // 1000 for _, at in world.journal] == [0, 10, 30, 70, 150, 310]


async def test_limit_counts_retries_so_limit_0_is_one_attempt(world) -> None:
    async def flow(params, step):
        await step.do("a", failing(world), retries(0, 100))

    await world.start(flow)
    await world.create()

    assert len(world.journal) == 1
    assert await world.error() == ("Error", "RuntimeError: boom")


async def test_a_delay_may_be_a_duration_text(world) -> None:
    async def flow(params, step):
        return await step.do("a", failing(world, until=1), retries(1, "2 minutes"))

    await world.start(flow)
    await world.create()
    await world.advance(119_999)
    assert len(world.journal) == 1

    await world.advance(1)
    assert await world.output() == 2


async def test_a_delay_of_zero_retries_at_once(world) -> None:
    async def flow(params, step):
        return await step.do("d", failing(world, until=1), retries(2, 0))

    await world.start(flow)
    await world.create()

    assert await world.output() == 2
    assert world.journal == [(1, 0), (2, 0)]


async def test_a_failed_attempt_is_logged_with_its_error_and_the_delay_if_there_is_a_next(world) -> None:
    async def flow(params, step):
        await step.do("a", failing(world, error=ValueError("no")), retries(1, 50))

    await world.start(flow)
    await world.create()
    await run_to_the_end(world)

    details = [json.loads(row.detail) for row in world.history() if row.type is EventType.ATTEMPT_ERRORED]
    shown = [(d["error"]["name"], d["error"]["message"], d.get("retryDelayMs")) for d in details]
    assert shown == [("ValueError", "no", 50), ("ValueError", "no", None)]


async def test_the_trace_of_a_step_that_runs_out_of_attempts(world) -> None:
    async def flow(params, step):
        await step.do("a", failing(world), retries(1, 50))

    await world.start(flow)
    await world.create()
    await run_to_the_end(world)

    assert world.trace() == [
        "workflow_queued",
        "workflow_started",
        "step_started a-1",
        "attempt_started a-1 1",
        "attempt_errored a-1 1",
        "attempt_started a-1 2",
        "attempt_errored a-1 2",
        "step_errored a-1",
        "workflow_errored",
    ]


async def test_v4_a_step_does_not_start_before_its_retry_time(world) -> None:
    async def flow(params, step):
        return await step.do("a", failing(world, until=1), retries(1, 1000))

    await world.start(flow)
    await world.create()
    row = world.steps()["a-1"]
    await world.advance(999)

    assert (row.state, row.due_at) == (StepState.RETRYING, world.clock.START_AT + 1000)
    assert len(world.journal) == 1


async def test_w4_attempts_of_a_step_with_their_outcomes_are_in_the_history(world) -> None:
    async def flow(params, step):
        await step.do("a", failing(world, until=1), retries(1, 10))

    await world.start(flow)
    await world.create()
    await run_to_the_end(world)

    seq = world.steps()["a-1"].seq
    attempts = [(row.type, row.attempt) for row in world.store.step_history(world.key(), seq) if row.attempt]
    assert attempts == [
        ("step_started", 1),
        ("attempt_started", 1),
        ("attempt_errored", 1),
        ("attempt_started", 2),
        ("attempt_completed", 2),
        ("step_completed", 2),
    ]


async def test_a_caught_failure_does_not_fail_the_instance(world, caught) -> None:
    async def flow(params, step):
        error = await caught(step.do("d", failing(world), retries(0, 1)))
        return {"caught": error, "after": await step.do("clean", lambda: world.note("clean") or "cleaned")}

    await world.start(flow)
    await world.create()

    assert await world.output() == {"caught": ["RuntimeError", "boom"], "after": "cleaned"}
    assert world.journal == [(1, 0), "clean"]


async def test_a_failed_step_keeps_its_error_in_later_passes_without_running(world, caught) -> None:
    async def flow(params, step):
        error = await caught(step.do("d", failing(world), retries(0, 1)))
        await step.sleep("nap", "1 hour")
        return error

    await world.start(flow)
    await world.create()
    await world.advance(3_600_000)

    assert await world.output() == ["RuntimeError", "boom"]
    assert len(world.journal) == 1


async def test_each_count_of_a_name_has_attempts_of_its_own(world) -> None:
    async def flow(params, step):
        return [await step.do("a", failing(world, until=1), retries(1, 10)) for _ in range(2)]

    await world.start(flow)
    await world.create()
    await run_to_the_end(world)

    assert await world.output() == [2, 2]
    assert [attempt for attempt, _ in world.journal] == [1, 2, 1, 2]


# -- NonRetryableError


async def test_a_non_retryable_error_stops_the_step_whatever_its_message(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.do("d", failing(world, error=NonRetryableError("")), retries(3, 50)))

    await world.start(flow)
    await world.create()

    assert await world.output() == ["NonRetryableError", ""]
    assert len(world.journal) == 1


async def test_a_non_retryable_error_that_nobody_catches_keeps_name_and_message(world) -> None:
    async def flow(params, step):
        await step.do("a", failing(world, error=NonRetryableError("stop it")))

    await world.start(flow)
    await world.create()

    assert await world.error() == ("NonRetryableError", "stop it")


async def test_before_its_compatibility_date_the_instance_has_the_generic_error(world, caught) -> None:
    async def flow(params, step):
        await step.do("a", failing(world, error=NonRetryableError("stop it")))

    await world.start(flow, preserve_non_retryable=False)
    await world.create()

    assert await world.error() == (
        "WorkflowFatalError",
        "The execution of the Workflow instance was terminated, as a step threw an NonRetryableError and it was "
        "not handled",
    )
    detail = next(row.detail for row in world.history() if row.type is EventType.ATTEMPT_ERRORED)
    assert json.loads(detail)["error"]["message"] == ('Step threw a NonRetryableError with message "stop it"')


async def test_run_itself_may_throw_it(world) -> None:
    async def flow(params, step):
        raise NonRetryableError("outside")

    await world.start(flow)
    await world.create()

    assert await world.error() == ("NonRetryableError", "outside")


async def test_another_name_defeats_it_and_the_step_is_retried(world) -> None:
    async def flow(params, step):
        await step.do("a", failing(world, error=NonRetryableError("x", name="Mine")), retries(1, 10))

    await world.start(flow)
    await world.create()
    await run_to_the_end(world)

    assert len(world.journal) == 2
    assert await world.error() == ("Error", "Mine: x")


async def test_a_message_that_starts_with_the_name_counts_too(world) -> None:
    async def flow(params, step):
        await step.do("a", failing(world, error=Exception("NonRetryableError: by message")), retries(3, 10))

    await world.start(flow)
    await world.create()

    assert len(world.journal) == 1


# -- errors as they are stored


class Strange(BaseException):
    pass


@pytest.fixture
def own_signals() -> Iterator[None]:
    """As in `stepwell dev`: Ctrl-C raises nothing, so a KeyboardInterrupt is user code's."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


ERRORS = {
    "Exception is Error": (Exception("m"), ("Error", "m")),
    "TypeError is built in": (TypeError("m"), ("TypeError", "m")),
    "a class of its own folds": (KeyError("k"), ("Error", "KeyError: 'k'")),
    "an empty message folds to the name": (RuntimeError(), ("Error", "RuntimeError")),
    "unicode stays": (Exception("\u2028 ü 🙂"), ("Error", "\u2028 ü 🙂")),
    "long messages stay": (Exception("x" * 10_000), ("Error", "x" * 10_000)),
    "SystemExit is an error of user code": (SystemExit(3), ("Error", "SystemExit: 3")),
    "GeneratorExit is an error of user code": (GeneratorExit("g"), ("Error", "GeneratorExit: g")),
    "so is any BaseException": (Strange("s"), ("Error", "Strange: s")),
    "KeyboardInterrupt is none of Ctrl-C": (KeyboardInterrupt("k"), ("Error", "KeyboardInterrupt: k")),
    "a cancellation of user code's own is an error": (
        asyncio.CancelledError("mine"),
        ("Error", "CancelledError: mine"),
    ),
}


@pytest.mark.parametrize(("error", "stored"), ERRORS.values(), ids=ERRORS.keys())
@pytest.mark.parametrize("where", ["step", "step, later", "run", "run, later"])
async def test_errors_cross_as_cloudflare_folds_them(world, error, stored, where, own_signals) -> None:
    def fail():
        raise error

    async def fail_later():
        await asyncio.sleep(0)
        raise error

    async def flow(params, step):
        if where == "run":
            fail()
        elif where == "run, later":
            await fail_later()
        await step.do("a", fail if where == "step" else fail_later, retries(0, 1))

    await world.start(flow)
    await world.create()

    assert await world.error() == stored


async def test_errors_are_stored_with_their_stack_and_cause(world) -> None:
    def fail():
        try:
            {}["missing"]
        except KeyError as error:
            raise ValueError("outer") from error

    async def flow(params, step):
        await step.do("a", fail, retries(0, 1))

    await world.start(flow)
    await world.create()

    error = json.loads(world.steps()["a-1"].error)
    assert error["name"] == "ValueError"
    assert "in fail" in error["stack"]
    assert error["cause"]["name"] == "KeyError"


# -- delay functions


async def test_a_delay_function_says_how_long_to_wait(world) -> None:
    asked = []

    def delay(given):
        asked.append((given.context.attempt, given.error.name, given.error.message))
        return ["50 milliseconds", 200][given.context.attempt - 1]

    async def flow(params, step):
        return await step.do("d", failing(world, until=2), retries(2, delay))

    await world.start(flow)
    await world.create()
    await run_to_the_end(world)

    assert [at for _, at in world.journal] == [0, 50, 250]
    assert asked == [(1, "RuntimeError", "boom"), (2, "RuntimeError", "boom")]


async def test_a_delay_function_may_be_async(world) -> None:
    async def delay(given):
        return "1 second"

    async def flow(params, step):
        return await step.do("d", failing(world, until=1), retries(1, delay))

    await world.start(flow)
    await world.create()
    await world.advance(1000)

    assert await world.output() == 2


async def test_the_result_is_taken_as_it_is_unless_the_switch_says_backoff(world, worlds) -> None:
    async def flow(params, step):
        config = retries(2, lambda given: 30, backoff="exponential")
        return await step.do("d", failing(world, until=2), config)

    world.configure(dynamic_delay_backoff=True)
    await world.start(flow)
    await world.create()
    await run_to_the_end(world)

    assert [at for _, at in world.journal] == [0, 30, 90]


async def test_a_delay_function_is_not_asked_after_the_last_attempt(world) -> None:
    def delay(given):
        world.note("asked")
        return 1

    async def flow(params, step):
        await step.do("d", failing(world), retries(0, delay))

    await world.start(flow)
    await world.create()

    assert world.journal == [(1, 0)]


@pytest.mark.parametrize("answer", [float("nan"), -1, None, "nonsense", "", True, [], float("inf"), {}])
async def test_an_answer_that_is_no_delay_ends_the_step(world, caught, answer) -> None:
    async def flow(params, step):
        return await caught(step.do("d", failing(world), retries(3, lambda given: answer)))

    await world.start(flow)
    await world.create()

    assert await world.output() == [
        "NonRetryableDelayError",
        'The delay function for step "d-1" returned an invalid delay value (expected a number of ms or a duration '
        'string like "30 seconds")',
    ]
    assert len(world.journal) == 1


async def test_a_delay_function_that_throws_ends_the_step(world, caught) -> None:
    def delay(given):
        raise ValueError("no delay today")

    async def flow(params, step):
        return await caught(step.do("d", failing(world), retries(3, delay)))

    await world.start(flow)
    await world.create()

    name, message = await world.output()
    assert name == "NonRetryableDelayError"
    assert message == 'The delay function for step "d-1" threw an error: no delay today'


async def test_the_logged_error_of_the_attempt_stays_the_original(world, caught) -> None:
    async def flow(params, step):
        await caught(step.do("d", failing(world), retries(3, lambda given: "nonsense")))

    await world.start(flow)
    await world.create()

    detail = next(row.detail for row in world.history() if row.type is EventType.ATTEMPT_ERRORED)
    assert json.loads(detail)["error"]["message"] == "boom"


async def test_the_error_of_a_delay_function_is_cached_like_any_final_error(world, caught) -> None:
    async def flow(params, step):
        error = await caught(step.do("d", failing(world), retries(3, lambda given: "nonsense")))
        await step.sleep("nap", "1 hour")
        return error

    await world.start(flow)
    await world.create()
    await world.advance(3_600_000)

    assert (await world.output())[0] == "NonRetryableDelayError"
    assert len(world.journal) == 1


async def test_a_delay_function_has_five_seconds(world, caught) -> None:
    async def delay(given):
        await asyncio.Event().wait()

    async def flow(params, step):
        return await caught(step.do("d", failing(world), retries(3, delay)))

    await world.start(flow)
    await world.begin()
    await world.pass_time(5_000)

    assert await world.output() == [
        "NonRetryableDelayError",
        'The delay function for step "d-1" did not return within 5 seconds',
    ]


async def test_a_step_that_errors_with_a_workererror_keeps_what_the_wire_said(world) -> None:
    from stepwell.bindings.errors import ErrorInfo

    async def flow(params, step):
        await step.do("a", failing(world, error=WorkerError(ErrorInfo("RangeError", "far"))), retries(0, 1))

    await world.start(flow)
    await world.create()

    assert await world.error() == ("RangeError", "far")
