"""Concurrency limits and the queue."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.emulator.clock import turns
from stepwell.emulator.engine.admission import Admission, Slots
from stepwell.emulator.engine.definitions import WorkflowDefinition, WorkflowState
from stepwell.emulator.limits import Limits

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


class Gates:
    """A flow whose instances stay in a callback until their gate is opened."""

    def __init__(self, world) -> None:
        self.world = world
        self.open = {}

    def gate(self, name):
        return self.open.setdefault(name, asyncio.Event())

    async def flow(self, event, step):
        self.world.note(event.instance_id)
        await step.do("work", self.gate(event.instance_id).wait)

    async def let_go(self, name):
        self.gate(name).set()
        await turns(30)


@pytest.fixture
def gates(world):
    return Gates(world)


async def start(world, gates, **definition):
    async def flow(event, step):
        await gates.flow(event, step)

    await world.start(flow, **definition)


async def test_l3_more_than_the_limit_are_queued_and_the_oldest_starts_when_one_ends(world, gates) -> None:
    await start(world, gates, concurrency_limit=2)
    for name in "abcd":
        await world.begin(name)
    assert [world.status(name) for name in "abcd"] == ["running", "running", "queued", "queued"]
    await gates.let_go("b")
    assert [world.status(name) for name in "abcd"] == ["running", "complete", "running", "queued"]
    await gates.let_go("a")

    assert world.journal == list("abcd")


LEAVING = ["complete", "error", "terminate", "pause", "delete", "sleep", "retry", "wait"]


@pytest.mark.parametrize("way", LEAVING)
async def test_l3_every_way_to_leave_running_gives_the_slot_to_the_next(world, way) -> None:
    go_on = asyncio.Event()

    async def flow(event, step):
        world.note(event.instance_id)
        if event.instance_id != "a":
            return
        await step.do("work", go_on.wait)
        if way == "error":
            raise ValueError
        if way == "sleep":
            await step.sleep("z", HOUR)
        if way == "wait":
            await step.wait("w", "go")
        if way == "retry":
            await step.do("fails", lambda: 1 / 0)

    await world.start(flow, concurrency_limit=1)
    await world.begin("a")
    await world.begin("b")
    assert world.journal == ["a"]
    if way in ("terminate", "delete", "pause"):
        await getattr(world.flow, way)("a")
    go_on.set()
    await turns(40)

    assert world.journal == ["a", "b"]


async def test_a_woken_sleeper_needs_a_slot_and_is_queued_meanwhile(world, gates) -> None:
    async def flow(event, step):
        if event.instance_id == "sleeper":
            await step.sleep("z", 1000)
            world.note("woke")
        else:
            await gates.flow(event, step)

    await world.start(flow, concurrency_limit=1)
    await world.create("sleeper")
    await world.begin("busy")
    await world.pass_time(1000)
    assert world.status("sleeper") == "queued"
    await gates.let_go("busy")

    assert world.status("sleeper") == "complete"


@pytest.mark.parametrize("ms", [1000, 10 * HOUR])
async def test_resumed_and_woken_ones_go_before_new_ones(world, gates, ms) -> None:
    async def flow(event, step):
        if event.instance_id == "sleeper":
            await step.sleep("z", ms)
            world.note("woke")
        else:
            await gates.flow(event, step)

    await world.start(flow, concurrency_limit=1)
    await world.create("sleeper")
    await world.begin("busy")
    await world.begin("new")
    await world.pass_time(ms)
    await gates.let_go("busy")

    assert world.journal == ["busy", "woke", "new"]


async def test_new_ones_do_not_overtake_those_that_are_queued(world, gates) -> None:
    await start(world, gates, concurrency_limit=1)
    await world.begin("a")
    await world.begin("b")
    gates.gate("a").set()
    await world.begin("c")

    assert world.journal[:2] == ["a", "b"]


async def test_the_limit_of_all_workflows_together(world, gates) -> None:
    world.configure(limits={"concurrency": 2})

    async def flow(event, step):
        await gates.flow(event, step)

    world.define(flow, name="other")
    await world.start(flow)
    await world.begin("a")
    await world.engine.workflow("other").create({"id": "b"})
    await turns(20)
    await world.begin("c")
    assert world.status("c") == "queued"
    await gates.let_go("b")

    assert world.status("c") == "running"


async def test_one_full_workflow_does_not_hold_up_another(world, gates) -> None:
    async def flow(event, step):
        await gates.flow(event, step)

    world.define(flow, name="other")
    await world.start(flow, concurrency_limit=1)
    await world.begin("a")
    await world.begin("b")
    await world.engine.workflow("other").create({"id": "c"})
    await turns(20)

    assert world.status("c", "other") == "running"


async def test_waiting_instances_hold_no_slot(world) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow, concurrency_limit=1)
    for n in range(10):
        await world.create(f"i{n}")

    assert {world.status(f"i{n}") for n in range(10)} == {"waiting"}


async def test_a_batch_starts_as_many_as_there_are_slots(world, gates) -> None:
    await start(world, gates, concurrency_limit=3)
    await world.flow.create_batch([{"id": f"i{n}"} for n in range(10)])
    await turns(40)

    assert len(world.journal) == 3


async def test_a_thousand_queued_all_run_in_order_one_after_another(world) -> None:
    async def flow(event, step):
        world.note(int(event.instance_id[1:]))
        await step.do("a", lambda: turns(1))

    await world.start(flow, concurrency_limit=1)
    for part in range(10):
        await world.flow.create_batch([{"id": f"i{part * 100 + n}"} for n in range(100)])
    await world.idle()

    assert world.journal == list(range(1000))


async def queued(world, *names, count) -> None:
    """Instances of Workflows whose classes come later."""
    for name in names:
        world.define(None, name)
    await world.start()
    for name in names:
        for first in range(0, count, 100):
            batch = [{"id": str(n)} for n in range(first, first + 100)]
            await world.engine.workflow(name).create_batch(batch)


async def test_a_long_queue_starts_bit_by_bit_with_other_work_between(world) -> None:
    async def flow(event, step):
        world.note(event.instance_id)

    await queued(world, "flow", count=500)
    world.define(flow)
    await turns(6)
    begun = len(world.journal)
    await world.idle()

    assert 0 < begun < 250
    assert len(set(world.journal)) == 500


async def test_workflows_take_turns_where_both_have_a_long_queue(world) -> None:
    async def flow(event, step):
        world.note(event.workflow_name)

    await queued(world, "flow", "other", count=100)
    world.define(flow)
    world.define(flow, "other")
    await world.idle()

    assert len(world.journal) == 200
    assert 40 <= world.journal[:100].count("other") <= 60


async def test_a_queue_has_a_limit(world, gates, caught) -> None:
    world.configure(limits={"queue_max": 1})
    await start(world, gates, concurrency_limit=1)
    await world.begin("a")
    await world.begin("b")
    name, message = await caught(world.flow.create({"id": "c"}))

    assert name == "WorkflowError"
    assert message.startswith("(instance.queue_full) ")
    assert world.status("c") == "gone"


async def test_the_limit_of_the_queue_does_not_refuse_what_starts_at_once(world) -> None:
    world.configure(limits={"queue_max": 1})

    async def flow(params, step):
        return 1

    await world.start(flow)
    await world.flow.create_batch({"count": 5})
    await world.idle()

    assert world.engine._passes.queue.admission.queued_in_all == 0


async def test_a_raised_limit_lets_the_queue_go_on(world, gates) -> None:
    await start(world, gates, concurrency_limit=1)
    for name in "abc":
        await world.begin(name)

    async def flow(event, step):
        await gates.flow(event, step)

    world.define(flow, version="v2", concurrency_limit=3)
    await turns(30)

    assert [world.status(name) for name in "bc"] == ["running", "running"]


async def test_a_step_begun_beside_a_wait_needs_a_slot_too(world, gates) -> None:
    go_on = asyncio.Event()

    async def flow(event, step):
        if event.instance_id == "busy":
            await gates.flow(event, step)
            return

        async def own():
            await go_on.wait()
            await step.do("late", lambda: world.note("late step"))

        await asyncio.gather(step.sleep("z", 1000), own())

    await world.start(flow, concurrency_limit=1)
    await world.create("sleeper")
    assert world.status("sleeper") == "waiting"
    await world.begin("busy")
    go_on.set()
    await turns(20)
    assert world.status("sleeper") == "queued"
    assert world.journal == ["busy"]
    await gates.let_go("busy")

    assert world.journal == ["busy", "late step"]


async def test_a_queued_one_that_waits_for_its_slot_survives_a_crash_in_its_place(world, gates) -> None:
    async def flow(event, step):
        if event.instance_id == "sleeper":
            await step.sleep("z", 1000)
            world.note("woke")
        else:
            await gates.flow(event, step)

    await world.start(flow, concurrency_limit=1)
    await world.create("sleeper")
    await world.begin("busy")
    await world.begin("new")
    await world.pass_time(1000)
    await world.restart(until_idle=False)
    gates.gate("busy").set()
    gates.gate("new").set()
    await world.idle()

    assert world.journal == ["busy", "busy", "woke", "new"]


async def test_slots_do_not_leak_over_thousands_of_random_lives(world) -> None:
    async def flow(params, step):
        await step.do("a", lambda: turns(1))
        await step.sleep("z", 10)

    await world.start(flow, concurrency_limit=3)
    for n in range(60):
        await world.flow.create({"id": f"i{n}"})
        if n % 3 == 0:
            await world.flow.pause(f"i{n}")
        if n % 5 == 0:
            await world.flow.terminate(f"i{n}")
        if n % 6 == 1:
            await world.flow.restart(f"i{n}")
    await world.advance(1000)
    for n in range(0, 60, 3):
        if n % 5:
            await world.flow.resume(f"i{n}")
    await world.advance(1000)

    assert {world.status(f"i{n}") for n in range(60)} == {"complete", "terminated"}
    assert world.engine._core.slots.total == 0
    assert world.engine._passes.queue.admission.queued_in_all == 0
    assert world.store.count_queued() == {}


# -- the counting itself


def state(limit=None):
    return WorkflowState(1, WorkflowDefinition("w", "W", concurrency_limit=limit), 1, "v", None)


def test_admission_counts_the_busy_of_a_workflow_and_of_all() -> None:
    slots = Slots()
    admission = Admission(slots, Limits().with_overrides({"concurrency": 3}), {})

    slots.change(1, 2)
    assert not admission.may_run(state(limit=2))
    assert admission.may_run(state(limit=3))
    slots.change(2, 1)
    assert not admission.may_run(state(limit=3))


def test_nobody_overtakes_the_queue_of_the_workflow() -> None:
    admission = Admission(Slots(), Limits(), {1: 1})

    assert admission.may_run(state())
    assert not admission.may_overtake(state())
    admission.left(1)
    assert admission.may_overtake(state())


def test_a_freed_slot_is_announced_a_taken_one_is_not() -> None:
    slots, freed = Slots(), []
    slots.on_freed(freed.append)
    slots.change(7, 1)
    slots.change(7, -1)

    assert freed == [7]
