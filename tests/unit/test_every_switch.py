"""Every compat switch makes the difference that its row in the documentation promises."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import pytest

from stepwell.bindings.errors import ErrorInfo, WorkerError
from stepwell.bindings.values import Encoded
from stepwell.bindings.workflow import WorkflowInstance
from stepwell.emulator.switches import TABLE, SwitchRow

pytestmark = pytest.mark.anyio

DAY = 86_400_000
CYCLE = Encoded('{"self":{"$":"ref","v":0}}')


class Shown(NamedTuple):
    """What a probe sees at each value of its switch."""

    by_value: Mapping[object, object]
    probe: Callable[[Any], Awaitable[object]]


SHOWN: dict[str, Shown] = {}


def shows(by_value: Mapping[object, object]) -> Callable[[Any], Any]:
    """A probe for the switch that the function is named after."""

    def register(probe: Any) -> Any:
        SHOWN[probe.__name__] = Shown(by_value, probe)
        return probe

    return register


def test_each_switch_has_a_probe_that_tries_its_default_and_every_other_value() -> None:
    assert {name: set(shown.by_value) for name, shown in SHOWN.items()} == {row.name: _values(row) for row in TABLE}


def _values(row: SwitchRow) -> set[object]:
    return {"switch": {True, False}, "choice": set(row.choices), "milliseconds": {row.default, 1_000}}[row.kind]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "switch" in metafunc.fixturenames:
        cases = [(name, value) for name, shown in SHOWN.items() for value in shown.by_value]
        metafunc.parametrize(("switch", "value"), cases, ids=lambda part: str(part))


async def test_a_switch_does_what_it_says(world, switch, value) -> None:
    world.configure(**{switch: value})

    assert await SHOWN[switch].probe(world) == SHOWN[switch].by_value[value]


@pytest.mark.parametrize("name", [row.name for row in TABLE])
def test_the_values_of_a_switch_differ(name) -> None:
    seen = [str(outcome) for outcome in SHOWN[name].by_value.values()]

    assert len(set(seen)) > 1


# -- the probes ------------------------------------------------------------------------------------------------
async def fails(params, step):
    def fail():
        raise ValueError("no")

    await step.do("a", fail)


@shows({10_000: 10_000, 1_000: 1_000})
async def default_retry_delay(world):
    await world.start(fails)
    await world.create()
    return world.engine.next_at() - world.clock.now()


async def sleeps(params, step):
    await step.sleep("z", "1 day")


@shows({True: "waiting", False: "running"})
async def waiting_status(world):
    await world.start(sleeps)
    await world.create()
    return (await world.flow.status("one")).status


@shows({True: 4_000, False: 1_000})
async def dynamic_delay_backoff(world):
    def fail():
        raise ValueError("no")

    async def delay(_):
        return 1_000

    async def flow(params, step):
        await step.do("a", fail, {"retries": {"limit": 9, "delay": delay, "backoff": "exponential"}})

    await world.start(flow)
    await world.create()
    for _ in range(2):
        await world.advance(world.engine.next_at() - world.clock.now())
    return world.engine.next_at() - world.clock.now()


@shows({"auto": "generic", "on": "own", "off": "generic"})
async def preserve_non_retryable(world):
    def fail():
        raise WorkerError(ErrorInfo("NonRetryableError", "no"))

    async def flow(params, step):
        await step.do("a", fail)

    await world.start(flow, preserve_non_retryable=False)  # as with an old compatibility date
    await world.create()
    return "own" if await world.error() == ("NonRetryableError", "no") else "generic"


@shows({True: "refused", False: "ignored"})
async def resume_requires_paused(world):
    await world.start(sleeps)
    await world.create()
    try:
        await world.flow.resume("one")
    except Exception:  # noqa: BLE001 - whatever it is, it is a refusal
        return "refused"
    return "ignored"


@shows({True: ("errored", 0), False: ("complete", 1_100_002)})
async def enforce_documented_limits(world):
    async def flow(params, step):
        return await step.do("a", lambda: "x" * 1_100_000, {"retries": {"limit": 0, "delay": 1}})

    await world.start(flow)
    await world.create()
    output = (await world.flow.status("one")).output
    return world.status(), len(output or "")


@shows(
    {True: ["DataCloneError", "DataCloneError", "errored", "errored"], False: [None, None, "complete", "complete"]}
)
async def reject_cycles(world):
    async def in_step(params, step):
        await step.do("a", lambda: CYCLE)
        return await step.wait("w", "go", "1 day")

    async def in_output(params, step):
        return loop

    loop: dict[str, Any] = {}
    loop["self"] = loop
    world.define(in_output, "output")
    await world.start(in_step)
    await world.create()
    await world.engine.workflow("output").create({"id": "one"})
    await world.idle()
    return [
        await refusal(world.flow.create({"id": "two", "params": CYCLE})),
        await refusal(world.send("go", loop)),
        world.status("one"),
        world.status("one", "output"),
    ]


async def refusal(call):
    try:
        await call
    except Exception as error:  # noqa: BLE001 - its name is what is compared
        return error.info.name
    return None


@shows({"success": "gone", "error": "terminated"})
async def terminated_retention(world):
    await world.start(sleeps)
    await world.create(retention={"successRetention": "1 day", "errorRetention": "3 days"})
    await world.flow.terminate("one")
    await world.advance(2 * DAY)
    return world.status()


@shows({True: "running", False: "rollingBack"})
async def status_hides_rolling_back(world):
    gate = asyncio.Event()

    async def flow(params, step):
        await step.do("a", lambda: 1, rollback=lambda _: gate.wait())
        raise ValueError("no")

    await world.start(flow)
    await world.begin()
    status = (await world.flow.status("one")).status
    gate.set()
    return status


@shows({"rest": "absent", "both": {"outcome": "complete", "error": None}})
async def status_rollback_field(world):
    async def flow(params, step):
        await step.do("a", lambda: 1, rollback=lambda _: None)
        raise ValueError("no")

    await world.start(flow)
    await world.create()
    return (await WorkflowInstance(world.flow, "one").status()).get("rollback", "absent")


@shows({True: [1, {"paid": True}, "last"], False: "absent"})
async def local_dev_step_outputs(world):
    async def flow(params, step):
        await step.do("a", lambda: 1)
        await step.sleep("z", 1)
        await step.wait("w", "go", "1 day")
        await step.do("b", lambda: "last")

    await world.start(flow)
    await world.create()
    await world.advance(1)
    await world.send("go", {"paid": True})
    return (await WorkflowInstance(world.flow, "one").status()).get("__LOCAL_DEV_STEP_OUTPUTS", "absent")


@shows({"workerd": "refused", "lenient": "read"})
async def duration_grammar(world):
    async def flow(params, step):
        await step.sleep("z", "1 DAY")

    await world.start(flow)
    await world.create()
    return "read" if world.status() == "waiting" else "refused"


@shows({True: "cf_", False: "0 *"})
async def hashed_schedule_ids(world):
    async def flow(event, step):
        world.note(event.instance_id[:3])

    await world.start(flow, schedules=("0 * * * *",))
    await world.advance(DAY // 24)
    return world.journal[0]


@shows({True: "goes on", False: "failed"})
async def resume_rollbacks(world):
    gate = asyncio.Event()

    async def flow(params, step):
        await step.do("a", lambda: 1, rollback=lambda _: gate.wait())
        raise ValueError("no")

    await world.start(flow)
    await world.begin()
    await world.restart(until_idle=False)
    rollback = world.store.values(world.key()).rollback
    gate.set()
    return "failed" if rollback is not None and '"failed"' in rollback else "goes on"
