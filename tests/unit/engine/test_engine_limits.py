"""Limits as the engine enforces them, with Cloudflare's messages where there are any."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.ports import StreamOutput
from stepwell.bindings.values import Encoded, encode
from stepwell.emulator.limits import Limits

pytestmark = pytest.mark.anyio

MIB = 1024**2
TOO_MANY = [
    "WorkflowFatalError",
    "The limit of 5 steps has been reached. This limit can be changed in your worker configuration.",
]


async def test_as_many_steps_as_the_limit_are_fine(world) -> None:
    async def flow(params, step):
        return [await step.do("a", n) for n in range(5)]

    await world.start(flow, steps_limit=5)
    await world.create()

    assert await world.output() == list(range(5))


async def test_one_more_is_refused(world, caught) -> None:
    async def flow(params, step):
        for n in range(5):
            await step.do("a", n)
        return await caught(step.do("a", 5))

    await world.start(flow, steps_limit=5)
    await world.create()

    assert await world.output() == TOO_MANY
    assert len(world.steps()) == 5


async def test_uncaught_it_ends_the_instance(world) -> None:
    async def flow(params, step):
        for n in range(6):
            await step.do("a", n)

    await world.start(flow, steps_limit=5)
    await world.create()

    assert await world.error() == ("Error", f"WorkflowFatalError: {TOO_MANY[1]}")


async def test_sleeps_and_waits_do_not_count(world) -> None:
    async def flow(params, step):
        for _ in range(10):
            await step.sleep("z", 0)
            await step.wait("w", "go", "1 second")
        for n in range(5):
            await step.do("a", n)
        return "fine"

    await world.start(flow, steps_limit=5)
    await world.create()
    for _ in range(10):
        await world.send("go")

    assert await world.output() == "fine"


async def test_failed_steps_count_and_replayed_ones_too_but_each_pass_anew(world, caught) -> None:
    def fail():
        raise ValueError

    async def flow(params, step):
        for _ in range(3):
            await caught(step.do("bad", fail, {"retries": {"limit": 0, "delay": 1}}))
        await step.sleep("z", "1 hour")
        await step.do("a", 1)
        await step.do("a", 2)
        return await caught(step.do("a", 3))

    await world.start(flow, steps_limit=5)
    await world.create()
    await world.advance(3_600_000)

    assert await world.output() == TOO_MANY


async def test_steps_of_several_branches_count_together(world, caught) -> None:
    async def flow(params, step):
        results = await asyncio.gather(*(step.do("a", n) for n in range(6)), return_exceptions=True)
        return [isinstance(result, Exception) for result in results]

    await world.start(flow, steps_limit=5)
    await world.create()

    assert await world.output() == [False] * 5 + [True]


async def test_the_limit_of_the_project_holds_where_a_workflow_has_none(world, caught) -> None:
    world.configure(limits={"steps": 5})

    async def flow(params, step):
        for n in range(5):
            await step.do("a", n)
        return await caught(step.do("a", 5))

    await world.start(flow)
    await world.create()

    assert await world.output() == TOO_MANY


async def test_a_result_over_a_mebibyte_fails_the_attempt_and_names_step_and_limit(world, caught) -> None:
    config = {"retries": {"limit": 1, "delay": 10, "backoff": "constant"}}

    async def flow(params, step):
        await step.do("fits", lambda: "x" * 1_000_000)
        return await caught(step.do("big", lambda: world.note("try") or "x" * 1_100_000, config))

    await world.start(flow)
    await world.create()
    await world.advance(10)

    assert world.journal == ["try", "try"]
    assert await world.output() == [
        "WorkflowInternalError",
        "Step big-1 output is too large. Maximum allowed size is 1MiB.",
    ]


@pytest.mark.parametrize(("extra", "fits"), [(0, True), (1, False)])
async def test_the_limit_is_exact_in_bytes_of_the_encoding(world, extra, fits) -> None:
    async def flow(params, step):
        await step.do("a", lambda: "x" * (MIB - 2 + extra), {"retries": {"limit": 0, "delay": 1}})

    await world.start(flow)
    await world.create()

    assert world.status() == ("complete" if fits else "errored")


async def test_it_can_be_changed(world) -> None:
    world.configure(limits={"step_result_bytes": 2 * MIB, "output_bytes": None})

    async def flow(params, step):
        return len(await step.do("a", lambda: "x" * 1_100_000))

    await world.start(flow)
    await world.create()

    assert await world.output() == 1_100_000


async def test_the_output_of_run_has_a_limit_too(world) -> None:
    async def flow(params, step):
        return "x" * MIB

    await world.start(flow)
    await world.create()

    assert await world.error() == (
        "WorkflowFatalError",
        "The execution of the Workflow instance was terminated, as run() returned a value which is not "
        "serialisable",
    )


async def test_the_state_of_an_instance_has_a_limit(world) -> None:
    world.configure(limits={"instance_storage_bytes": 3 * MIB})

    async def flow(params, step):
        for _ in range(10):
            await step.do("a", lambda: "x" * 1_000_000)

    await world.start(flow)
    await world.create()

    name, message = await world.error()
    assert name == "WorkflowFatalError"
    assert "has exceeded the 3MiB storage limit" in message
    assert [row.output is not None for row in world.steps().values()] == [True, True, True, False]


async def test_the_state_counts_what_earlier_passes_stored(world) -> None:
    world.configure(limits={"instance_storage_bytes": 3 * MIB})

    async def flow(params, step):
        for _ in range(3):
            await step.do("a", lambda: "x" * 1_000_000)
        await step.sleep("z", "1 hour")
        await step.do("a", lambda: "x" * 1_000_000)

    await world.start(flow)
    await world.create()
    await world.advance(3_600_000)

    assert world.status() == "errored"


async def test_streams_and_results_share_the_state_of_an_instance(world) -> None:
    world.configure(limits={"instance_storage_bytes": 3 * MIB})

    async def chunks():
        for _ in range(4):
            yield b"x" * 500_000

    async def flow(params, step):
        await step.do("a", lambda: "x" * 1_000_000)
        await step.do("s", lambda: StreamOutput(chunks()))
        await step.do("b", lambda: "x" * 1_000_000)

    await world.start(flow)
    await world.create()

    assert world.status() == "errored"
    assert list(world.steps())[-1] == "b-1"


async def test_creations_have_a_rate_and_restarts_count_towards_it(world, caught) -> None:
    world.configure(limits={"creation_rate": 3})

    async def flow(params, step):
        return 1

    await world.start(flow)
    await world.create("a")
    await world.create("b")
    await world.flow.restart("a")
    name, message = await caught(world.flow.create({"id": "c"}))
    assert (name, message.split(")")[0]) == ("WorkflowError", "(instance.rate_limited")
    name, _ = await caught(world.flow.restart("b"))
    assert name == "WorkflowError"
    await world.advance(1000)
    await world.create("c")

    assert world.status("c") == "complete"


async def test_a_refused_creation_does_not_count_towards_the_rate(world, caught) -> None:
    world.configure(limits={"creation_rate": 2})

    async def flow(params, step):
        return 1

    await world.start(flow)
    await world.create("a")
    await caught(world.flow.create({"id": "a"}))
    await world.create("b")

    assert world.status("b") == "complete"


async def test_the_profile_off_has_no_documented_limit(world) -> None:
    world.configure(limits=dict.fromkeys(("payload_bytes", "sleep_ms", "wait_timeout_min_ms")))

    async def flow(params, step):
        await step.sleep("z", "400 days")
        return len(params)

    await world.start(flow)
    await world.create("one", "x" * 2_000_000)
    await world.advance(400 * 86_400_000)

    assert await world.output() == 2_000_000


async def test_durations_beyond_what_a_database_holds_do_not_break_it(world, caught) -> None:
    world.configure(limits={"sleep_ms": None, "wait_timeout_max_ms": None, "retries_max": None})

    async def flow(params, step):
        def fail():
            raise RuntimeError("no")

        await asyncio.gather(
            step.sleep("z", 10**40),
            step.sleep("f", 1e300),
            step.wait("w", "go", 10**40),
            step.do("a", fail, {"retries": {"limit": 1, "delay": 10**40, "backoff": "constant"}}),
            step.do("b", fail, {"retries": {"limit": 1, "delay": 10**40, "backoff": "linear"}}),
            step.do("c", fail, {"retries": {"limit": 1, "delay": lambda given: 10**40}}),
        )

    await world.start(flow)
    await world.create()

    assert world.status() == "waiting"


async def test_a_timeout_beyond_every_calendar_is_fine(world) -> None:
    async def flow(params, step):
        async def brief():
            await asyncio.sleep(0)
            return Encoded("1")

        return await step.do("a", brief, {"timeout": 10**40})

    await world.start(flow)
    await world.create()

    assert await world.output() == 1


def test_the_defaults_of_the_engine_are_those_of_the_paid_profile() -> None:
    assert Limits() == Limits.profile("paid")


async def test_l2_a_workflow_has_limits_of_its_own(world, caught) -> None:
    async def flow(params, step):
        results = [await caught(step.do("big", lambda: "x" * 200, {"retries": {"limit": 0, "delay": 1}}))]
        results.append(await caught(step.sleep("long", 5_001)))
        results.append(await step.do("ctx", lambda ctx: ctx.to_json()["config"]["retries"]["limit"]))
        results.append(await caught(step.do("third", 1)))
        return [result[0] if isinstance(result, list) else result for result in results]

    own = {"flow.step_result_bytes": 100, "flow.sleep_ms": 5_000, "flow.retry_limit": 2, "flow.steps": 2}
    world.configure(limits=own)
    await world.start(flow)
    await world.create()

    assert await world.output() == ["WorkflowInternalError", "WorkflowFatalError", 2, "WorkflowFatalError"]


async def test_l2_requests_to_a_workflow_go_by_its_own_limits(world, caught) -> None:
    async def flow(params, step):
        return 1

    own = {
        "flow.payload_bytes": 10,
        "flow.batch_size": 1,
        "flow.instance_id_length": 3,
        "flow.event_type_length": 4,
    }
    world.configure(limits=own)
    world.define(flow, "other")
    await world.start(flow)
    big = {"id": "one", "params": encode("x" * 20)}

    assert (await caught(world.flow.create(big)))[0] == "WorkflowError"
    assert (await caught(world.flow.create({"id": "four"})))[1] == "Workflow instance has invalid id"
    assert (await caught(world.flow.create_batch([{}, {}])))[0] == "Error"
    assert await world.engine.workflow("other").create(big) == "one"
    await world.create()
    assert (await caught(world.flow.send_event("one", {"type": "fives"})))[0] == "WorkflowError"


async def test_l2_a_workflow_of_its_own_concurrency_queues(world) -> None:
    async def flow(params, step):
        await step.do("held", lambda: asyncio.Event().wait())

    world.configure(limits={"flow.concurrency": 1})
    await world.start(flow)
    await world.begin("one")
    await world.begin("two")

    assert (world.status("one"), world.status("two")) == ("running", "queued")


@pytest.mark.parametrize(("most", "named"), [(10, "10 bytes"), (2 << 20, "2097152 bytes (2 MiB)")])
async def test_an_error_about_large_params_names_the_limit_in_force(world, caught, most, named) -> None:
    world.configure(limits={"payload_bytes": most})
    await world.start(lambda params, step: params)

    _, message = await caught(world.flow.create({"params": encode("x" * (most + 1))}))

    assert message.endswith(f"the maximum is {named}")
