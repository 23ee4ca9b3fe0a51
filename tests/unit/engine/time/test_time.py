"""The engine's own time: advance, idle, what is due next, and the skew of a real clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from stepwell.bindings.errors import EngineError
from stepwell.bindings.values import UNDEFINED_TEXT, decode, encode
from stepwell.emulator.clock import SystemClock, monotonic_ns, turns
from stepwell.emulator.engine.binding import Binding
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.engine.time.travel import SKEW_SETTING
from stepwell.emulator.storage.sqlite import SqliteStore

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


async def test_deadlines_are_taken_in_order_each_instance_going_on_until_it_waits_again(world) -> None:
    async def flow(event, step):
        first, second = (10, 5) if event.instance_id == "a" else (20, 5)
        await step.sleep("x", first)
        world.note((event.instance_id, world.clock.now() - world.clock.START_AT))
        await step.sleep("y", second)
        world.note((event.instance_id, world.clock.now() - world.clock.START_AT))

    await world.start(flow)
    await world.create("b")
    await world.create("a")
    await world.advance(100)

    assert world.journal == [("a", 10), ("a", 15), ("b", 20), ("b", 25)]


async def test_a_week_plays_back_the_same_way_each_time(worlds) -> None:
    async def play():
        world = worlds()

        async def flow(event, step):
            for n in range(5):
                await step.sleep("z", 86_400_000 + int(event.instance_id) * 1_000)
                world.note((event.instance_id, n, world.clock.now()))

        await world.start(flow)
        for name in ("3", "1", "2"):
            await world.create(name)
        await world.advance(7 * 86_400_000)
        world.engine.crash()
        return world.journal

    assert await play() == await play()


async def test_advance_to_next_stops_at_what_is_due_next(world) -> None:
    async def flow(params, step):
        await step.sleep("x", 1000)
        await step.sleep("y", 5000)

    await world.start(flow)
    await world.create()
    start = world.clock.START_AT

    assert await world.engine.advance_to_next() == start + 1000
    assert await world.engine.advance_to_next() == start + 6000
    assert await world.engine.advance_to_next() is None
    assert world.status() == "complete"


async def test_next_at_knows_wakes_timeouts_and_schedules(world) -> None:
    async def flow(params, step):
        if params.get("step"):
            await step.do("a", asyncio.Event().wait, {"timeout": 500})
        else:
            await step.sleep("z", 1000)

    await world.start(flow, schedules=("0 * * * *",))
    schedule = world.engine.next_at()
    await world.create("sleeper")
    assert world.engine.next_at() == world.clock.START_AT + 1000
    await world.begin("busy", {"step": True})

    assert world.engine.next_at() == world.clock.START_AT + 500
    assert schedule > world.clock.START_AT + 1000


async def test_an_engine_is_idle_when_nothing_goes_on_without_time_or_a_call(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.sleep("z", 1000)
        await step.do("a", release.wait)

    await world.start(flow)
    assert world.engine.is_idle
    await world.create()
    assert world.engine.is_idle
    world.clock.move_to(world.clock.now() + 1000)
    await turns(20)
    assert not world.engine.is_idle
    release.set()
    await world.idle()

    assert world.engine.is_idle


async def test_a_clock_of_another_kind_cannot_be_moved(world) -> None:
    class Fixed:
        def __getattr__(self, name):
            return getattr(world.clock, name)

    engine = Engine(world.store, Fixed())

    with pytest.raises(EngineError, match="cannot be moved: Fixed"):
        await engine.advance(10)


async def test_advancing_a_real_clock_keeps_its_skew_for_the_next_process(tmp_path) -> None:
    async def run(event, step):
        await step.sleep("z", "1 day")
        return UNDEFINED_TEXT

    path = str(tmp_path / "stepwell.sqlite")
    store = SqliteStore(path)
    engine = Engine(store, SystemClock())
    engine.define(WorkflowDefinition("flow", "Flow"), run, Version("v1"))
    await engine.start()
    await engine.workflow("flow").create({"id": "one"})
    await engine.idle()
    await engine.advance(24 * HOUR)
    async with asyncio.timeout(5):
        while (await engine.workflow("flow").status("one")).status != "complete":
            await turns(5)
    await engine.stop()
    store.close()

    again = SqliteStore(path)
    assert int(again.setting(SKEW_SETTING)) >= 24 * HOUR
    again.close()


@pytest.fixture
async def real() -> AsyncIterator[Callable[..., Awaitable[Binding]]]:
    """Starts an engine on real time whose Workflow is the given run(); gives the engine and its binding."""
    engine = Engine(SqliteStore(":memory:"), SystemClock())

    async def begin(run) -> tuple[Engine, Binding]:
        engine.define(WorkflowDefinition("flow", "Flow"), run, Version("v1"))
        await engine.start()
        return engine, engine.workflow("flow")

    yield begin
    await engine.stop()
    engine.store.close()


async def test_a_step_that_works_for_a_while_is_not_timed_out_by_a_clock_that_is_moved_a_day(real) -> None:
    async def work(context):
        await asyncio.sleep(0.3)  # real time, as a request would take
        return encode(context.attempt)

    async def run(event, step):
        await step.sleep("z", "1 hour")
        return await step.do("a", None, work)

    engine, flow = await real(run)
    await flow.create({"id": "one"})
    await engine.advance(24 * HOUR)

    assert decode((await flow.status("one")).output) == 1


async def test_everything_that_was_created_before_has_gone_on_when_the_clock_was_moved(real) -> None:
    async def run(event, step):
        await step.sleep("z", "1 hour")
        return UNDEFINED_TEXT

    engine, flow = await real(run)
    for part in range(20):
        await flow.create_batch([{"id": f"i{part * 100 + n}"} for n in range(100)])
    await engine.advance(HOUR)

    assert {(await flow.status(f"i{n}")).status for n in range(0, 2000, 7)} == {"complete"}


async def test_a_move_waits_for_instances_that_start_however_long_a_turn_takes(real) -> None:
    async def run(event, step):
        await step.sleep("z", "1 hour")
        return UNDEFINED_TEXT

    engine, flow = await real(run)
    await flow.create({"id": "one"})
    asyncio.get_running_loop().call_soon(hold_the_loop, 120)
    await engine.advance(HOUR)

    assert (await flow.status("one")).status == "complete"


def hold_the_loop(ms: int) -> None:
    """As a busy machine does."""
    end = monotonic_ns() + ms * 1_000_000
    while monotonic_ns() < end:
        pass


async def test_what_is_due_next_on_real_time_is_no_timeout_of_a_step_that_works(real) -> None:
    release = asyncio.Event()

    async def run(event, step):
        return await step.do("a", None, lambda context: _until(release))

    engine, flow = await real(run)
    await flow.create({"id": "one"})

    asyncio.get_running_loop().call_later(0.2, release.set)
    assert await engine.advance_to_next() is None


async def test_a_move_that_waits_for_a_step_tells_where_it_leads_and_can_be_stopped(real) -> None:
    release = asyncio.Event()

    async def run(event, step):
        return await step.do("a", {"timeout": "1 hour"}, lambda context: _until(release))

    engine, flow = await real(run)
    await flow.create({"id": "one"})
    before = engine.clock.now()
    move = asyncio.create_task(engine.advance(24 * HOUR))
    await turns(3)

    assert engine.clock_move is not None
    assert engine.clock_move.end >= before + 24 * HOUR
    engine.stop_clock()
    await move
    assert engine.clock_move is None
    assert engine.clock.now() < before + HOUR
    release.set()


async def pauses_during(work) -> int:
    """How often the loop waited for real time to pass."""
    loop = asyncio.get_running_loop()
    selector = loop._selector
    select, waited = selector.select, []

    def counting(timeout=None):
        waited.append(timeout is None or timeout > 0)
        return select(timeout)

    selector.select = counting
    try:
        await work
    finally:
        selector.select = select
    return sum(waited)


async def _until(event: asyncio.Event) -> str:
    await event.wait()
    return UNDEFINED_TEXT


async def test_the_clock_stays_within_the_times_that_can_be_written_as_a_date(world) -> None:
    def fail():
        raise RuntimeError("no")

    async def flow(params, step):
        await step.do("a", fail, {"retries": {"limit": 1, "delay": 1e308}})

    await world.start(flow)
    await world.create()
    with pytest.raises(EngineError, match="past the year 8999"):
        await world.engine.advance_to_next()
    with pytest.raises(EngineError, match="past the year 8999"):
        await world.engine.advance(10**15)

    assert world.clock.now() == world.clock.START_AT


async def test_v14_commands_on_one_instance_never_interleave(world) -> None:
    async def flow(params, step):
        await step.do("a", lambda: turns(3))
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    calls = [
        world.flow.pause("one"),
        world.flow.restart("one"),
        world.flow.pause("one"),
        world.flow.resume("one"),
        world.flow.skip_sleep("one"),
        world.flow.restart("one"),
        world.flow.terminate("one"),
        world.flow.restart("one"),
    ]
    await asyncio.gather(*calls, return_exceptions=True)
    await world.idle()

    from tests.property.invariants import check_store

    check_store(world.store)
    assert world.status() == "waiting"
    assert world.engine._core.slots.total == 0


async def test_w11_calls_on_finished_instances_change_nothing(world, caught) -> None:
    async def flow(params, step):
        return await step.do("a", 1)

    await world.start(flow)
    await world.create()
    before = (world.history(), world.store.instance(world.key()), world.steps())
    await world.flow.pause("one")
    for call in (world.flow.resume, world.flow.terminate, world.flow.skip_sleep):
        await caught(call("one"))

    assert (world.history(), world.store.instance(world.key()), world.steps()) == before


async def test_l1_the_port_has_every_method_of_the_handle(world) -> None:
    async def flow(params, step):
        pass

    await world.start(flow)
    methods = "create create_batch delete_batch get status pause resume terminate restart delete send_event"

    for name in (*methods.split(), "skip_sleep", "subscribe"):
        assert callable(getattr(world.flow, name))


async def test_a_move_counts_the_instances_that_it_wakes(real) -> None:
    seen = []

    async def run(event, step):
        await step.sleep("nap", HOUR)
        move = engine.clock_move
        seen.append((move.woken, round(move.share(engine.clock.now()), 1)))
        return ""

    engine, flow = await real(run)
    for n in range(3):
        await flow.create({"id": f"i{n}"})
    await engine.idle()
    await engine.advance(2 * HOUR)

    assert seen[-1][0] == 3  # those that are due at the same time may be woken together
    assert {share for _, share in seen} == {0.5}


async def test_a_move_over_many_sleepers_takes_no_real_time_for_each(real) -> None:
    """Pausing the loop between wakes made 100,000 of them take minutes, whatever the machine."""

    async def run(event, step):
        await step.sleep("nap", HOUR + int(event.instance_id) * 100)
        return ""

    engine, flow = await real(run)
    for n in range(100):
        await flow.create({"id": str(n)})
    await engine.idle()

    pauses = await pauses_during(engine.advance(2 * HOUR))

    assert pauses < 20


async def test_a_move_does_not_pause_for_wakes_that_take_long(real) -> None:
    async def run(event, step):
        await step.sleep("nap", HOUR + int(event.instance_id) * 100)
        hold_the_loop(3)
        return ""

    engine, flow = await real(run)
    for n in range(20):
        await flow.create({"id": str(n)})
    await engine.idle()

    assert await pauses_during(engine.advance(2 * HOUR)) < 10


async def test_a_second_move_is_refused_while_the_clock_moves(real) -> None:
    release = asyncio.Event()

    async def run(event, step):
        return await step.do("a", {"timeout": "1 hour"}, lambda context: _until(release))

    engine, flow = await real(run)
    await flow.create({"id": "one"})
    move = asyncio.create_task(engine.advance(24 * HOUR))
    await turns(3)
    end = engine.clock_move.end

    for second in (engine.advance(HOUR), engine.advance_to_next()):
        with pytest.raises(EngineError, match=r"already moving to .*\. Wait until it has arrived, or stop"):
            await second
    assert engine.clock_move.end == end
    engine.stop_clock()
    await move
    release.set()
    await engine.advance(HOUR)
