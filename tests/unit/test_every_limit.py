"""Every limit holds at its figure: what one value allows, another refuses or changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stepwell.bindings.ports import StreamOutput
from stepwell.bindings.values import encode
from stepwell.emulator.config import ConfigError, Settings
from stepwell.emulator.config.model import WorkflowConfig
from stepwell.emulator.config.problems import Problems
from stepwell.emulator.config.settings import check_workflows
from stepwell.emulator.limits import TABLE

pytestmark = pytest.mark.anyio

DAY = 86_400_000
ONCE = {"retries": {"limit": 0, "delay": 1}}


class Shown(NamedTuple):
    """What a probe sees at each value of its limit."""

    by_value: Mapping[object, object]
    probe: Callable[[Any], Awaitable[object]]


SHOWN: dict[str, Shown] = {}


def shows(by_value: Mapping[object, object]) -> Callable[[Any], Any]:
    """A probe for the limit that the function is named after; it is given a world with that limit."""

    def register(probe: Any) -> Any:
        SHOWN[probe.__name__] = Shown(by_value, probe)
        return probe

    return register


def allows(at_least: int) -> Callable[[Any], Any]:
    """A probe that answers whether something passes which needs a limit of `at_least`."""
    return shows({at_least: "passes", at_least - 1: "refused"})


def test_each_limit_has_a_probe() -> None:
    assert set(SHOWN) == {row.name for row in TABLE}


@pytest.mark.parametrize("name", [row.name for row in TABLE])
def test_the_values_of_a_probe_differ(name) -> None:
    assert len(set(map(str, SHOWN[name].by_value.values()))) > 1


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "limit" in metafunc.fixturenames:
        cases = [(name, value) for name, shown in SHOWN.items() for value in shown.by_value]
        metafunc.parametrize(("limit", "value"), cases, ids=lambda part: str(part))


async def test_a_limit_holds_at_its_figure(world, limit, value) -> None:
    world.configure(limits={limit: value})
    world.value = value

    assert await SHOWN[limit].probe(world) == SHOWN[limit].by_value[value]


# -- what the probes share ---------------------------------------------------------------------------------------
async def result_of(call: Awaitable[Any]) -> str:
    """Whether a call passes or is refused."""
    try:
        await call
    except asyncio.CancelledError:
        raise
    except Exception:  # noqa: BLE001 - which error it is, other tests say
        return "refused"
    return "passes"


async def ended(world, flow) -> str:
    """Whether an instance of a Workflow completes."""
    await world.start(flow)
    await world.create()
    return "passes" if world.status() in ("complete", "waiting") else "refused"


async def nothing(params, step):
    return None


async def created(world, *options: Mapping[str, object]) -> str:
    """How the last of some calls of create() ends."""
    await world.start(nothing)
    for one in options[:-1]:
        await world.flow.create(one)
    return await result_of(world.flow.create(options[-1]))


async def fails(params, step):
    def fail():
        raise ValueError("no")

    await step.do("a", fail)


async def due_in(world, flow) -> int:
    """How far away the next deadline is of an instance that has begun."""
    await world.start(flow)
    await world.create()
    return world.engine.next_at() - world.clock.now()


def checked(name: str, schedules: tuple[str, ...], limits: Mapping[str, object]) -> str:
    """Whether a configuration with one Workflow is taken."""
    workflow = WorkflowConfig("FLOW", name, "Flow", schedules=schedules)
    settings = Settings(Path(), Path(), Path(), limits=limits)
    try:
        check_workflows((workflow,), settings, Problems())
    except ConfigError:
        return "refused"
    return "passes"


# -- steps and values ----------------------------------------------------------------------------------------------
@allows(3)
async def steps(world):
    async def flow(params, step):
        for _ in range(3):
            await step.do("a", 1)

    return await ended(world, flow)


@allows(12)
async def step_result_bytes(world):
    return await ended(world, lambda params, step: step.do("a", lambda: "x" * 10, ONCE))


@allows(12)
async def payload_bytes(world):
    return await created(world, {"params": encode("x" * 10)})


@allows(12)
async def output_bytes(world):
    async def flow(params, step):
        return "x" * 10

    return await ended(world, flow)


@allows(10)
async def stream_chunk_bytes(world):
    async def chunks():
        yield b"x" * 10

    async def flow(params, step):
        await step.do("a", lambda: StreamOutput(chunks()), ONCE)

    return await ended(world, flow)


@shows({10_000: "passes", 50: "refused"})
async def instance_storage_bytes(world):
    return await ended(world, lambda params, step: step.do("a", lambda: "x" * 100, ONCE))


@allows(DAY)
async def sleep_ms(world):
    return await ended(world, lambda params, step: step.sleep("z", "1 day"))


@shows({5_000: "passes", 5_001: "refused"})
async def wait_timeout_min_ms(world):
    return await ended(world, lambda params, step: step.wait("w", "go", "5 seconds"))


@allows(DAY)
async def wait_timeout_max_ms(world):
    return await ended(world, lambda params, step: step.wait("w", "go", "1 day"))


@shows({DAY: DAY, 5_000: 5_000})
async def wait_timeout_default_ms(world):
    return await due_in(world, lambda params, step: step.port.wait_for_event("w", {"type": "go"}))


@allows(5)
async def event_type_length(world):
    return await ended(world, lambda params, step: step.wait("w", "abcde", "1 day"))


# -- attempts ------------------------------------------------------------------------------------------------------
@shows({0: 1, 2: 3})
async def retry_limit(world):
    await world.start(fails)
    await world.create()
    await world.advance(DAY)
    return world.steps()["a-1"].attempts


@shows({10_000: 10_000, 7: 7})
async def retry_delay_ms(world):
    return await due_in(world, fails)


@shows({"exponential": 20_000, "constant": 10_000})
async def retry_backoff(world):
    await world.start(fails)
    await world.create()
    await world.advance(10_000)
    return world.engine.next_at() - world.clock.now()


@allows(7)
async def retries_max(world):
    return await ended(world, lambda params, step: step.do("a", 1, {"retries": {"limit": 7, "delay": 1}}))


async def never_answers(params, step):
    await step.do("a", lambda: asyncio.Event().wait(), ONCE)


async def timed_out_within(world, ms: int, flow: Any = never_answers) -> bool:
    await world.start(flow)
    await world.begin()
    await world.pass_time(ms)
    return bool(world.status() == "errored")


@shows({600_000: False, 5_000: True})
async def step_timeout_ms(world):
    return await timed_out_within(world, 5_000)


@allows(60_000)
async def step_timeout_max_ms(world):
    return await ended(world, lambda params, step: step.do("a", 1, {**ONCE, "timeout": "1 minute"}))


@shows({5_000: False, 1_000: True})
async def delay_function_ms(world):
    async def never(_):
        await asyncio.Event().wait()

    def fail():
        raise ValueError("no")

    async def flow(params, step):
        await step.do("a", fail, {"retries": {"limit": 3, "delay": never}})

    return await timed_out_within(world, 1_000, flow)


# -- names ---------------------------------------------------------------------------------------------------------
@allows(5)
async def step_name_length(world):
    return await ended(world, lambda params, step: step.do("abcde", 1))


@allows(5)
async def instance_id_length(world):
    return await created(world, {"id": "abcde"})


@allows(5)
async def workflow_name_length(world):
    return checked("abcde", (), {"workflow_name_length": world.value})


@allows(2)
async def schedules_max(world):
    return checked("flow", ("0 1 * * *", "0 2 * * *"), {"schedules_max": world.value})


@allows(9)
async def cron_length(world):
    return checked("flow", ("0 1 * * *",), {"cron_length": world.value})


# -- many instances ------------------------------------------------------------------------------------------------
@allows(3)
async def batch_size(world):
    await world.start(nothing)
    return await result_of(world.flow.create_batch({"count": 3}))


@allows(24)
async def batch_bytes(world):
    await world.start(nothing)
    return await result_of(world.flow.create_batch([{"params": encode("x" * 10)}] * 2))


async def holds_a_slot(params, step):
    await step.do("a", lambda: asyncio.Event().wait())


@shows({2: "running", 1: "queued"})
async def concurrency(world):
    await world.start(holds_a_slot)
    await world.begin("one")
    await world.begin("two")
    return world.status("two")


@allows(1)
async def queue_max(world):
    await world.start(holds_a_slot, concurrency_limit=1)
    await world.begin("one")
    return await result_of(world.flow.create({"id": "two"}))


@allows(2)
async def creation_rate(world):
    return await created(world, {"id": "one"}, {"id": "two"})


async def kept_for(world, ms: int, flow: Any, **options: Any) -> str:
    world.configure(limits=world.limits, enforce_retention=True)
    await world.start(flow)
    await world.create(**options)
    await world.advance(ms)
    return "kept" if world.status() != "gone" else "gone"


@shows({2 * DAY: "kept", DAY: "gone"})
async def retention_success_ms(world):
    world.limits = {"retention_success_ms": world.value}
    return await kept_for(world, DAY, nothing)


@shows({2 * DAY: "kept", DAY: "gone"})
async def retention_error_ms(world):
    async def flow(params, step):
        raise ValueError("no")

    world.limits = {"retention_error_ms": world.value}
    return await kept_for(world, DAY, flow)


@shows({9 * DAY: "kept", DAY: "gone"})
async def retention_max_ms(world):
    world.limits = {"retention_max_ms": world.value}
    return await kept_for(world, DAY, nothing, retention={"successRetention": "9 days"})
