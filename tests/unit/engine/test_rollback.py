"""Rollback handlers after an error: order, arguments, retries, and what a rest or a crash does to them."""

from __future__ import annotations

import asyncio
import json

import pytest

from stepwell.bindings.errors import ErrorInfo, NonRetryableError
from stepwell.bindings.ports import StreamOutput
from stepwell.bindings.values import decode
from stepwell.emulator.clock import turns
from stepwell.emulator.engine.passes.rollback import _as_rpc_brings
from stepwell.emulator.storage.records import EventType

pytestmark = pytest.mark.anyio

HOUR = 3_600_000
ONCE = {"retries": {"limit": 0, "delay": 1}}


def noting(world, name):
    return lambda: world.note(name)


def boom():
    raise ValueError("boom")


async def test_handlers_run_newest_first_and_the_original_error_stays(world) -> None:
    async def flow(params, step):
        for name in "abc":
            await step.do(name, name, rollback=noting(world, name))
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    assert world.journal == ["c", "b", "a"]
    assert await world.error() == ("Error", "ValueError: undo")
    assert json.loads(world.store.values(world.key()).rollback) == {"outcome": "complete", "error": None}


async def test_the_trace_of_a_rollback(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=noting(world, "a"))
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    trace = world.trace()
    assert trace[trace.index("step_completed a-1") + 1 :] == [
        "rollback_started",
        "rollback_step_started a-1",
        "rollback_attempt_started a-1 1",
        "rollback_attempt_completed a-1 1",
        "rollback_step_completed a-1",
        "rollback_completed",
        "workflow_errored",
    ]


async def test_what_a_handler_receives(world) -> None:
    async def flow(params, step):
        config = {"retries": {"limit": 2, "delay": 5}, "timeout": "1 minute"}
        await step.do("a", lambda: {"n": 1}, config, rollback=world.note)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    (given,) = world.journal
    assert given.context.to_json() == {
        "step": {"name": "a", "count": 1},
        "attempt": 1,
        "config": {"retries": {"limit": 2, "delay": 5, "backoff": "exponential"}, "timeout": "1 minute"},
    }
    assert (given.error.name, given.error.message) == ("Error", "ValueError: undo")
    assert decode(given.output) == {"n": 1}
    assert given.step_name == "a-1"


async def test_the_failed_steps_own_handler_runs_first_without_an_output(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=lambda given: world.note((given.step_name, str(given.output))))
        await step.do("b", boom, ONCE, rollback=lambda given: world.note((given.step_name, given.output)))

    await world.start(flow)
    await world.create()

    assert world.journal == [("b-1", None), ("a-1", "1")]


async def test_the_order_is_that_of_the_starts_not_of_the_ends(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await asyncio.gather(
            step.do("slow", release.wait, rollback=noting(world, "slow")),
            step.do("fast", lambda: release.set(), rollback=noting(world, "fast")),
        )
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    assert world.journal == ["fast", "slow"]


async def test_an_error_that_run_catches_rolls_nothing_back(world, caught) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=noting(world, "never"))
        await caught(step.do("b", boom, ONCE, rollback=noting(world, "never")))
        return "fine"

    await world.start(flow)
    await world.create()

    assert await world.output() == "fine"
    assert world.journal == []


async def test_a_non_retryable_error_rolls_back_too(world) -> None:
    def stop():
        raise NonRetryableError("stop")

    async def flow(params, step):
        await step.do("a", 1, rollback=noting(world, "a"))
        await step.do("b", stop)

    await world.start(flow)
    await world.create()

    assert world.journal == ["a"]
    assert await world.error() == ("NonRetryableError", "stop")


async def test_a_value_that_cannot_be_stored_rolls_nothing_back(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=noting(world, "never"))
        await step.do("b", lambda: print)

    await world.start(flow)
    await world.create()

    assert world.journal == []
    assert await world.error() == (
        "WorkflowFatalError",
        'The execution of the Workflow instance was terminated, as the step "b" returned a value which is not '
        "serialisable",
    )


async def test_a_handler_is_retried_with_its_own_config(world) -> None:
    async def flow(params, step):
        def undo():
            world.note(world.clock.now() - world.clock.START_AT)
            if len(world.journal) < 3:
                raise RuntimeError("not yet")

        config = {"retries": {"limit": 2, "delay": 100, "backoff": "linear"}}
        await step.do("a", 1, rollback=undo, rollback_config=config)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()
    assert world.status() == "rollingBack"
    await world.advance(300)

    assert world.journal == [0, 100, 300]
    assert world.status() == "errored"
    errors = [json.loads(row.detail) for row in world.history() if row.type is EventType.ROLLBACK_ATTEMPT_ERRORED]
    assert [detail["retryDelayMs"] for detail in errors] == [100, 200]


async def test_the_default_config_of_a_handler_is_that_of_steps(world) -> None:
    async def flow(params, step):
        def undo():
            world.note((world.clock.now() - world.clock.START_AT) // 1000)
            raise RuntimeError("never")

        await step.do("a", 1, rollback=undo)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()
    await world.advance(HOUR)

    assert world.journal == [0, 10, 30, 70, 150, 310]
    assert json.loads(world.store.values(world.key()).rollback) == {
        "outcome": "failed",
        "error": {"name": "RuntimeError", "message": "never"},
    }


async def test_the_first_that_fails_stops_the_chain(world) -> None:
    def fail():
        raise NonRetryableError("cannot")

    async def flow(params, step):
        await step.do("a", 1, rollback=noting(world, "never"))
        await step.do("b", 1, rollback=fail)
        await step.do("c", 1, rollback=noting(world, "c"))
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    assert world.journal == ["c"]
    assert await world.error() == ("Error", "ValueError: undo")
    assert world.trace()[-3:] == ["rollback_step_errored b-1", "rollback_errored", "workflow_errored"]


async def test_a_handler_has_a_timeout(world) -> None:
    async def flow(params, step):
        await step.do(
            "a",
            1,
            rollback=asyncio.Event().wait,
            rollback_config={"retries": {"limit": 0, "delay": 1}, "timeout": 500},
        )
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    await world.pass_time(500)

    assert world.status() == "errored"
    rollback = json.loads(world.store.values(world.key()).rollback)
    assert rollback["error"] == {"name": "WorkflowTimeoutError", "message": "Execution timed out after 500ms"}


async def test_a_handler_that_cancels_something_of_its_own_fails_and_nothing_hangs(world) -> None:
    async def undo():
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    async def flow(params, step):
        await step.do("a", 1, rollback=undo, rollback_config=ONCE)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    assert world.status() == "errored"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (5, 'Rollback options for "a" must be an object'),
        ({}, 'Rollback options for "a" must be an object'),
    ],
)
async def test_bad_options_are_refused(world, caught, options, message) -> None:
    async def flow(params, step):
        return await caught(step.port.do("a", None, lambda ctx: "1", options))

    await world.start(flow)
    await world.create()

    assert await world.output() == ["WorkflowFatalError", message]


async def test_a_handler_that_is_no_function_is_refused(world, caught) -> None:
    from stepwell.bindings.ports import RollbackOptions

    async def flow(params, step):
        return await caught(step.port.do("a", None, lambda ctx: "1", RollbackOptions(5)))

    await world.start(flow)
    await world.create()

    assert await world.output() == ["WorkflowFatalError", 'Rollback for "a" must be a function']


async def test_a_bad_config_of_a_handler_is_refused(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.do("a", 1, rollback=boom, rollback_config={"retry": 1}))

    await world.start(flow)
    await world.create()

    name, message = await world.output()
    assert name == "WorkflowFatalError"
    assert message.startswith('Rollback config for "a" is in a invalid format. See https://')


async def test_a_step_during_rollback_is_refused(world, caught) -> None:
    async def flow(params, step):
        async def undo():
            world.note(await caught(step.do("b", 1)))

        await step.do("a", 1, rollback=undo)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    assert world.journal == [["WorkflowFatalError", "Cannot execute steps during rollback phase"]]


async def test_the_status_while_it_rolls_back_and_the_error_that_shows_already(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=asyncio.Event().wait)
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()
    status = await world.flow.status("one")

    assert status.status == "rollingBack"
    assert status.error is not None
    assert status.error.message == "ValueError: undo"


async def test_the_switch_of_the_documentation_shows_running_instead(world) -> None:
    world.configure(status_hides_rolling_back=True)

    async def flow(params, step):
        await step.do("a", 1, rollback=asyncio.Event().wait)
        raise ValueError("undo")

    await world.start(flow)
    await world.begin()

    assert (await world.flow.status("one")).status == "running"


@pytest.mark.parametrize("replay_always", [False, True])
async def test_handlers_of_steps_of_earlier_passes_run_after_a_rest(world, replay_always) -> None:
    world.configure(replay_always=replay_always)

    async def flow(params, step):
        await step.do("a", 1, rollback=lambda given: world.note((given.step_name, str(given.output))))
        await step.sleep("z", 1000)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()
    await world.advance(1000)

    assert world.journal == [("a-1", "1")]


async def test_a_step_whose_handler_does_not_register_again_stops_the_chain(world) -> None:
    passes = []

    async def flow(params, step):
        passes.append(1)
        undo = {"rollback": noting(world, "never")} if len(passes) == 1 else {}
        await step.do("a", 1, rollback=noting(world, "never"))
        await step.do("b", 2, **undo)
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one", {"rollback": True})

    assert world.journal == []
    rollback = json.loads(world.store.values(world.key()).rollback)
    assert rollback == {
        "outcome": "failed",
        "error": {"name": "RollbackMissing", "message": "Rollback function not available in registry"},
    }


async def test_a_stream_is_given_to_the_handler(world) -> None:
    async def flow(params, step):
        async def chunks():
            yield b"one"
            yield b"two"

        async def undo(given):
            assert isinstance(given.output, StreamOutput)
            world.note(b"".join([chunk async for chunk in given.output.chunks]))

        await step.do("a", lambda: StreamOutput(chunks()), rollback=undo)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    assert world.journal == [b"onetwo"]


async def test_a_sensitive_output_is_given_to_the_handler_in_clear(world) -> None:
    async def flow(params, step):
        await step.do("a", lambda: "secret", {"sensitive": "output"}, rollback=lambda g: world.note(str(g.output)))
        await step.sleep("z", HOUR)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()
    await world.advance(HOUR)

    assert world.journal == ['"secret"']


async def test_a_callback_that_runs_beside_a_failing_branch_is_not_waited_for(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await asyncio.gather(
            step.do("slow", release.wait, rollback=lambda given: world.note(("slow", given.output))),
            step.do("bad", boom, ONCE),
        )

    await world.start(flow)
    await world.begin()
    await world.idle()
    release.set()
    await turns(10)

    assert world.status() == "errored"
    assert world.journal == [("slow", None)]
    assert world.trace()[-1] == "workflow_errored"


async def test_a_delay_function_of_a_handler_is_asked(world) -> None:
    async def flow(params, step):
        def undo():
            world.note(world.clock.now() - world.clock.START_AT)
            if len(world.journal) == 1:
                raise RuntimeError("not yet")

        config = {"retries": {"limit": 1, "delay": lambda given: 70}}
        await step.do("a", 1, rollback=undo, rollback_config=config)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()
    await world.advance(70)

    assert world.journal == [0, 70]
    assert world.status() == "errored"


def test_the_name_of_a_handlers_non_retryable_error_is_in_its_message() -> None:
    brought = _as_rpc_brings(ErrorInfo("NonRetryableError", "never"))

    assert brought.public() == {"name": "Error", "message": "NonRetryableError: never"}
