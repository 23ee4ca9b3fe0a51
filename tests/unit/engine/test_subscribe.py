"""subscribe(): what has happened, then what happens."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.values import encode, jsnull
from stepwell.emulator.clock import turns
from stepwell.emulator.storage.records import EventType

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


async def all_of(subscription):
    events = []
    while (event := await subscription.next()) is not None:
        events.append(event)
    return events


async def two_steps(params, step):
    await step.do("a", 1)
    await step.do("b", 2)
    return 3


async def test_after_completion_the_whole_history_comes_and_then_the_end(world) -> None:
    await world.start(two_steps)
    await world.create()
    subscription = await world.flow.subscribe("one")
    events = await all_of(subscription)

    assert [event["type"] for event in events] == [
        "workflow_queued",
        "workflow_started",
        "workflow_running",
        "step_started",
        "attempt_started",
        "attempt_completed",
        "step_completed",
        "step_started",
        "attempt_started",
        "attempt_completed",
        "step_completed",
        "workflow_completed",
    ]
    assert [event["eventId"] for event in events] == list(range(1, 13))
    assert await subscription.next() is None


async def test_every_event_says_whose_it_is_and_when(world) -> None:
    await world.start(two_steps)
    await world.create()

    for event in await all_of(await world.flow.subscribe("one")):
        assert event["instanceId"] == "one"
        assert event["timestamp"] == world.clock.START_AT


@pytest.mark.parametrize("cursor", range(13))
async def test_a_cursor_leaves_out_the_events_up_to_it(world, cursor) -> None:
    await world.start(two_steps)
    await world.create()
    events = await all_of(await world.flow.subscribe("one", {"cursor": cursor}))

    assert [event["eventId"] for event in events] == list(range(cursor + 1, 13))


async def test_a_filter_by_type(world) -> None:
    await world.start(two_steps)
    await world.create()
    wanted = ["step_completed", "workflow_queued"]
    events = await all_of(await world.flow.subscribe("one", {"filter": wanted}))

    assert [event["type"] for event in events] == ["workflow_queued", "step_completed", "step_completed"]


async def test_a_filter_that_is_empty_shows_nothing_and_ends(world) -> None:
    await world.start(two_steps)
    await world.create()

    assert await all_of(await world.flow.subscribe("one", {"filter": []})) == []


async def test_it_ends_after_the_last_event_even_if_that_is_filtered_out(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)

    await world.start(flow)
    await world.create()
    reading = asyncio.ensure_future(all_of(await world.flow.subscribe("one", {"filter": ["sleep_completed"]})))
    await world.advance(1000)

    assert [event["type"] for event in await reading] == ["sleep_completed"]


BAD = [
    {"cursor": -1},
    {"cursor": "1"},
    {"cursor": 1.5},
    {"cursor": jsnull},
    {"cursor": True},
    {"filter": "step_completed"},
    {"filter": ["step_finished"]},
    {"filter": [5]},
    {"filter": jsnull},
    {"from": 1},
    [],
    5,
    "text",
]


@pytest.mark.parametrize("options", BAD)
async def test_bad_options_are_refused(world, caught, options) -> None:
    await world.start(two_steps)
    await world.create()

    assert await caught(world.flow.subscribe("one", options)) == ["Error", "Invalid Workflow subscription options"]


async def test_an_unknown_instance_is_not_found(world, caught) -> None:
    await world.start(two_steps)

    assert await caught(world.flow.subscribe("nobody")) == ["Error", "instance.not_found"]


async def test_while_it_runs_events_come_as_they_happen(world) -> None:
    async def flow(params, step):
        await step.wait("w", "go")
        return "end"

    await world.start(flow)
    await world.create()
    seen = []

    async def follow():
        subscription = await world.flow.subscribe("one")
        while (event := await subscription.next()) is not None:
            seen.append(event["type"])

    following = asyncio.ensure_future(follow())
    await turns(10)
    assert seen[-1] == "workflow_waiting"
    await world.send("go", 1)
    await following

    assert seen[-2:] == ["wait_completed", "workflow_completed"]


async def test_several_subscribers_each_get_everything(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)

    await world.start(flow)
    await world.create()
    subscriptions = [await world.flow.subscribe("one", {"cursor": n}) for n in range(3)]
    reading = [asyncio.ensure_future(all_of(one)) for one in subscriptions]
    await world.advance(1000)
    lengths = [len(await one) for one in reading]

    assert lengths == [lengths[0], lengths[0] - 1, lengths[0] - 2]


async def test_close_ends_a_waiting_next(world) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    subscription = await world.flow.subscribe("one", {"cursor": 1000})
    waiting = asyncio.ensure_future(subscription.next())
    await turns(3)
    subscription.close()

    assert await waiting is None
    assert await subscription.next() is None


async def test_cancelling_a_waiting_next_loses_no_event(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)

    await world.start(flow)
    await world.create()
    last = world.history()[-1].event_id
    subscription = await world.flow.subscribe("one", {"cursor": last})
    waiting = asyncio.ensure_future(subscription.next())
    await turns(3)
    waiting.cancel()
    await turns(3)
    await world.advance(1000)

    assert (await subscription.next())["type"] == "sleep_completed"


async def test_it_ends_when_the_instance_is_deleted(world) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    reading = asyncio.ensure_future(all_of(await world.flow.subscribe("one")))
    await turns(5)
    await world.flow.delete("one")

    assert [event["type"] for event in await reading][-1] == "workflow_waiting"


async def test_it_goes_on_over_a_restart_of_the_instance(world) -> None:
    async def flow(params, step):
        world.note("run")
        if len(world.journal) == 1:
            await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    reading = asyncio.ensure_future(all_of(await world.flow.subscribe("one")))
    await turns(5)
    await world.flow.restart("one")
    events = await reading

    ids = [event["eventId"] for event in events]
    assert ids == sorted(set(ids))
    assert [event["type"] for event in events].count("workflow_queued") == 2
    assert events[-1]["type"] == "workflow_completed"


async def test_nothing_is_shown_that_a_crash_could_take_back(world) -> None:
    async def flow(params, step):
        await step.wait("w", "go")

    async def busy(params, step):
        await step.do("a", asyncio.Event().wait)

    world.define(busy, name="busy")
    await world.start(flow)
    for n in range(2):
        await world.engine.workflow("busy").create({"id": f"b{n}"})
    await turns(10)
    await world.begin()
    subscription = await world.flow.subscribe("one", {"filter": ["wait_completed"]})
    seen = []

    async def follow():
        seen.append(await subscription.next())
        seen.append(world.store.dirty)

    following = asyncio.ensure_future(follow())
    await turns(5)
    await world.flow.send_event("one", {"type": "go"})
    await following

    assert seen[1] is False


async def test_what_each_type_carries(world, caught) -> None:
    async def flow(params, step):
        await step.do("a", lambda: 1)
        await step.do("undefined", lambda: None)
        await caught(step.do("bad", _fail, {"retries": {"limit": 1, "delay": 10}}))
        await step.sleep("z", 50)
        await step.wait("w", "go", "1 minute")
        await caught(step.wait("late", "never", "1 second"))
        return {"out": True}

    await world.start(flow)
    await world.create("one", {"n": 1})
    await world.advance(100)
    await world.send("go")
    await world.advance(1000)
    events = await all_of(await world.flow.subscribe("one"))
    by_step = {}
    for event in events:
        by_step.setdefault(event.get("stepName"), {}).setdefault(event["type"], []).append(event)

    own = by_step[None]
    assert own["workflow_started"][0]["params"] == encode({"n": 1})
    assert own["workflow_completed"][0]["output"] == encode({"out": True})
    assert by_step["a-1"]["step_started"][0]["config"]["retries"]["limit"] == 5
    assert by_step["a-1"]["attempt_started"][0]["attempt"] == 1
    assert by_step["a-1"]["step_completed"][0]["output"] == "1"
    assert by_step["bad-1"]["attempt_errored"][0]["retryDelayMs"] == 10
    assert "retryDelayMs" not in by_step["bad-1"]["attempt_errored"][1]
    assert by_step["bad-1"]["attempt_errored"][1]["error"] == {"name": "ValueError", "message": "no"}
    assert by_step["z-1"]["sleep_started"][0]["durationMs"] == 50
    assert by_step["w-1"]["wait_started"][0]["eventType"] == "go"
    assert set(by_step["late-1"]) == {"wait_started", "wait_timed_out"}


def _fail():
    raise ValueError("no")


async def test_an_errored_instance_ends_with_its_error(world) -> None:
    async def flow(params, step):
        raise TypeError("t")

    await world.start(flow)
    await world.create()
    events = await all_of(await world.flow.subscribe("one"))

    assert events[-1]["error"] == {"name": "TypeError", "message": "t"}


async def test_w17_the_engine_tells_an_observer_which_instances_changed(world) -> None:
    await world.start(two_steps)
    changed = []
    world.engine.observe(changed.append)
    await world.create()

    assert changed
    assert set().union(*changed) == {world.key()}


async def test_w12_the_history_tells_the_life_of_an_instance(world) -> None:
    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.pause("one")
    await world.flow.resume("one")
    await world.idle()
    await world.flow.terminate("one")

    own = [str(row.type) for row in world.history() if row.step is None]
    assert [kind for kind in own if kind not in ("workflow_waiting", "workflow_running")] == [
        "workflow_queued",
        "workflow_started",
        "workflow_paused",
        "workflow_terminated",
    ]


async def test_a_history_of_thousands_of_entries_is_read_in_full(world) -> None:
    async def flow(params, step):
        for n in range(700):
            await step.do("a", n)

    await world.start(flow)
    await world.create()
    events = await all_of(await world.flow.subscribe("one"))

    assert [event["eventId"] for event in events] == list(range(1, 4 + 4 * 700 + 1))


def test_every_type_of_the_history_is_known_to_subscribers() -> None:
    assert len({str(kind) for kind in EventType}) == len(EventType) == 29
