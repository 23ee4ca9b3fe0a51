"""waitForEvent and sendEvent."""

from __future__ import annotations

import asyncio
import json

import pytest

from stepwell.bindings.values import UNDEFINED_TEXT, decode, encode, jsnull
from stepwell.emulator.storage.records import StepState

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


async def test_an_event_ends_the_wait_for_its_type(world) -> None:
    async def flow(params, step):
        return await step.wait("w", "go")

    await world.start(flow)
    await world.create()
    await world.send("go", {"n": 1})

    assert await world.output() == {"n": 1}


async def test_the_event_has_its_type_its_payload_and_when_it_was_received(world) -> None:
    async def flow(params, step):
        return await step.port.wait_for_event("w", {"type": "go"})

    await world.start(flow)
    await world.flow.create({"id": "one"})
    await world.idle()
    await world.advance(1500)
    await world.send("go", "x")

    event = decode((await world.flow.status("one")).output)
    assert isinstance(event, str)
    assert json.loads(event) == {
        "payload": "x",
        "type": "go",
        "timestamp": {"$": "date", "v": world.clock.START_AT + 1500},
    }


async def test_l9_events_sent_before_the_wait_are_kept_oldest_first(world) -> None:
    async def flow(params, step):
        await step.sleep("z", "1 hour")
        return [await step.wait("w", "go") for _ in range(3)]

    await world.start(flow)
    await world.create()
    for n in range(3):
        await world.send("go", n)
    await world.advance(HOUR)

    assert await world.output() == [0, 1, 2]


async def test_an_event_sent_right_after_create_is_kept(world) -> None:
    async def flow(params, step):
        return await step.wait("w", "go")

    await world.start(flow)
    await world.flow.create({"id": "one"})
    await world.send("go", "early")

    assert await world.output() == "early"


async def test_types_do_not_disturb_each_other(world) -> None:
    async def flow(params, step):
        return [await step.wait("w", "b"), await step.wait("w", "a")]

    await world.start(flow)
    await world.create()
    await world.send("a", "for a")
    assert world.status() == "waiting"
    await world.send("b", "for b")

    assert await world.output() == ["for b", "for a"]


async def test_w6_one_event_ends_one_wait_the_one_that_waits_longest_first(world) -> None:
    async def flow(params, step):
        return await asyncio.gather(*(step.wait(f"w{n}", "go") for n in range(3)))

    await world.start(flow)
    await world.create()
    for n in ("first", "second", "third"):
        await world.send("go", n)

    assert await world.output() == ["first", "second", "third"]


@pytest.mark.parametrize("replay_always", [False, True])
async def test_w6_the_longest_waiting_gets_it_however_the_code_is_ordered(world, replay_always) -> None:
    world.configure(replay_always=replay_always)

    async def late(step):
        await step.sleep("z", 10)
        return await step.wait("late", "go")

    async def flow(params, step):
        return await asyncio.gather(late(step), step.wait("early", "go"))

    await world.start(flow)
    await world.create()
    await world.advance(10)
    await world.send("go", "first")
    await world.send("go", "second")

    assert await world.output() == ["second", "first"]


async def test_an_event_is_claimed_by_the_wait_that_took_it(world) -> None:
    async def flow(params, step):
        await step.wait("w", "go")
        await step.sleep("z", "1 hour")

    await world.start(flow)
    await world.create()
    await world.send("go", 1)
    await world.send("go", 2)

    events = world.store.events(world.key())
    assert [event.claimed_by for event in events] == [world.steps()["w-1"].seq, None]


async def test_w7_an_absent_payload_and_a_null_one_stay_different(world) -> None:
    async def flow(params, step):
        first = await step.port.wait_for_event("w", {"type": "go"})
        return [str(first), str(await step.port.wait_for_event("w", {"type": "go"}))]

    await world.start(flow)
    await world.create()
    await world.flow.send_event("one", {"type": "go"})
    await world.flow.send_event("one", {"type": "go", "payload": encode(None)})
    await world.idle()

    absent, null = await world.output()
    assert "payload" not in json.loads(absent)
    assert json.loads(null)["payload"] is None
    assert world.store.events(world.key())[0].payload == UNDEFINED_TEXT


async def test_a_wait_that_timed_out_is_gone_and_the_next_gets_the_event(world, caught) -> None:
    async def flow(params, step):
        first = await caught(step.wait("w1", "go", "1 second"))
        return [first, await step.wait("w2", "go", "20 seconds")]

    await world.start(flow)
    await world.create()
    await world.advance(2500)
    await world.send("go", {"n": 2})

    assert await world.output() == [["WorkflowTimeoutError", "Execution timed out after 1000ms"], {"n": 2}]


async def test_a_wait_that_times_out_uncaught_errors_the_instance(world) -> None:
    async def flow(params, step):
        await step.wait("w", "go", "1 second")

    await world.start(flow)
    await world.create()
    await world.advance(1000)

    assert await world.error() == ("Error", "WorkflowTimeoutError: Execution timed out after 1000ms")
    assert world.trace()[-2:] == ["wait_timed_out w-1", "workflow_errored"]


async def test_the_timeout_is_cached(world, caught) -> None:
    async def flow(params, step):
        first = await caught(step.wait("w", "go", "1 second"))
        await step.sleep("z", "1 day")
        return first

    await world.start(flow)
    await world.create()
    await world.advance(1000)
    await world.send("go", "too late")
    await world.advance(24 * HOUR)

    assert (await world.output())[0] == "WorkflowTimeoutError"


async def test_the_default_timeout_is_24_hours(world) -> None:
    async def flow(params, step):
        await step.port.wait_for_event("w", {"type": "go"})

    await world.start(flow)
    await world.create()
    await world.advance(24 * HOUR - 1)
    assert world.status() == "waiting"
    await world.advance(1)

    assert world.status() == "errored"


@pytest.mark.parametrize("timeout", [999, 0, -5, "999 milliseconds", "366 days", 366 * 24 * HOUR])
async def test_a_timeout_out_of_range_is_refused(world, caught, timeout) -> None:
    async def flow(params, step):
        return (await caught(step.wait("w", "go", timeout)))[0]

    await world.start(flow)
    await world.create()

    assert await world.output() == "WorkflowFatalError"
    assert world.steps() == {}


async def test_without_the_limits_a_short_timeout_is_fine(world) -> None:
    world.configure(limits={"wait_timeout_min_ms": None, "wait_timeout_max_ms": None})

    async def flow(params, step):
        await step.wait("w", "go", 100)

    await world.start(flow)
    await world.create()
    await world.advance(100)

    assert world.status() == "errored"


@pytest.mark.parametrize(("timeout", "text"), [("soon", "soon"), (jsnull, "null"), ("5s", "5s")])
async def test_a_timeout_that_is_no_duration_is_a_type_error(world, caught, timeout, text) -> None:
    async def flow(params, step):
        return await caught(step.wait("w", "go", timeout))

    await world.start(flow)
    await world.create()

    assert await world.output() == ["TypeError", f'Invalid duration "{text}"']


BAD_TYPES = ["", "with blank", "dot.ted", "-dash", "a" * 101, None, 5, "ü", "new\nline"]


@pytest.mark.parametrize("kind", BAD_TYPES)
async def test_a_type_that_cloudflare_refuses_is_refused_by_the_wait(world, caught, kind) -> None:
    async def flow(params, step):
        return await caught(step.wait("w", kind))

    await world.start(flow)
    await world.create()

    name, message = await world.output()
    assert name == "WorkflowError"
    assert message.startswith("(workflow.invalid_event_type) ")


@pytest.mark.parametrize("kind", BAD_TYPES)
async def test_a_type_that_cloudflare_refuses_is_refused_by_send_event(world, caught, kind) -> None:
    async def flow(params, step):
        await step.wait("w", "go")

    await world.start(flow)
    await world.create()
    name, message = await caught(world.flow.send_event("one", {"type": kind}))

    assert (name, message.split(")")[0]) == ("WorkflowError", "(workflow.invalid_event_type")
    assert world.store.events(world.key()) == []


@pytest.mark.parametrize("kind", ["dot.ted", "ü", 'quo"te', "with blank", "back\\slash"])
async def test_without_the_limit_any_text_is_a_type_and_wakes_a_rested_wait(world, kind) -> None:
    world.configure(limits={"event_type_length": None}, replay_always=True)

    async def flow(params, step):
        return await step.wait("w", kind)

    await world.start(flow)
    await world.create()
    await world.send(kind, "here")

    assert await world.output() == "here"


@pytest.mark.parametrize("kind", ["a", "A9_-z", "_x", "9", "a" * 100])
async def test_the_types_that_cloudflare_accepts_are_accepted(world, kind) -> None:
    async def flow(params, step):
        return await step.wait("w", kind)

    await world.start(flow)
    await world.create()
    await world.send(kind, "here")

    assert await world.output() == "here"


async def test_an_event_of_the_type_sensitive_is_no_secret(world) -> None:
    async def flow(params, step):
        return await step.wait("w", "sensitive")

    await world.start(flow)
    await world.create()
    await world.restart()
    await world.send("sensitive", "plain")

    assert await world.output() == "plain"
    assert "plain" in (world.store.reader().step(world.key(), 1).output or "")


async def test_l8_send_event_to_a_finished_instance_is_accepted_silently_and_warned_about(world, caplog) -> None:
    async def flow(params, step):
        return 1

    await world.start(flow)
    await world.create()
    await world.send("go", 1)

    assert world.status() == "complete"
    assert 'event "go": the instance is already complete' in caplog.text


async def test_w8_events_that_arrive_while_paused_are_kept_and_not_delivered_before_resume(world) -> None:
    async def flow(params, step):
        return await step.wait("w", "go")

    await world.start(flow)
    await world.create()
    await world.flow.pause("one")
    await world.send("go", "while paused")
    assert world.status() == "paused"
    assert world.steps()["w-1"].state is StepState.PENDING

    await world.flow.resume("one")
    await world.idle()

    assert await world.output() == "while paused"


async def test_an_event_during_a_callback_reaches_the_wait_beside_it(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        return await asyncio.gather(step.do("a", release.wait), step.wait("w", "go"))

    await world.start(flow)
    await world.begin()
    await world.flow.send_event("one", {"type": "go", "payload": encode(1)})
    assert world.steps()["w-1"].state is StepState.COMPLETED
    release.set()
    await world.idle()

    assert await world.output() == [True, 1]


async def test_an_event_that_comes_while_a_pause_is_pending_is_delivered_after_its_undoing(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        return await asyncio.gather(step.do("a", release.wait), step.wait("w", "go"))

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    await world.flow.send_event("one", {"type": "go", "payload": encode(1)})
    await world.flow.resume("one")
    release.set()
    await world.idle()

    assert await world.output() == [True, 1]


async def test_events_of_one_instance_do_not_reach_another(world) -> None:
    async def flow(params, step):
        return await step.wait("w", "go")

    await world.start(flow)
    await world.create("one")
    await world.create("two")
    await world.send("go", 1, "one")

    assert (world.status("one"), world.status("two")) == ("complete", "waiting")


async def test_an_event_and_a_timeout_of_one_moment_end_the_wait_once(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.wait("w", "go", "1 second"))

    await world.start(flow)
    await world.create()
    world.clock.move_to(world.clock.now() + 1000)
    await world.flow.send_event("one", {"type": "go", "payload": encode(1)})
    await world.idle()

    ended = [line for line in world.trace() if line in ("wait_completed w-1", "wait_timed_out w-1")]
    assert len(ended) == 1


async def test_a_payload_over_a_mebibyte_is_refused(world, caught) -> None:
    async def flow(params, step):
        await step.wait("w", "go")

    await world.start(flow)
    await world.create()
    name, message = await caught(
        world.flow.send_event("one", {"type": "go", "payload": encode("x" * (1024**2 - 1))})
    )

    assert name == "WorkflowError"
    assert "1048576 bytes" in message
    assert world.store.events(world.key()) == []


async def test_a_payload_of_just_a_mebibyte_is_accepted(world) -> None:
    async def flow(params, step):
        return len(await step.wait("w", "go"))

    await world.start(flow)
    await world.create()
    await world.send("go", "x" * (1024**2 - 2))

    assert await world.output() == 1024**2 - 2


async def test_the_size_counts_bytes_not_characters(world, caught) -> None:
    async def flow(params, step):
        await step.wait("w", "go")

    await world.start(flow)
    await world.create()

    assert (await caught(world.flow.send_event("one", {"type": "go", "payload": encode("ü" * 600_000)})))[
        0
    ] == "WorkflowError"


async def test_send_event_to_an_unknown_instance_is_not_found(world, caught) -> None:
    async def flow(params, step):
        pass

    await world.start(flow)

    assert await caught(world.flow.send_event("nobody", {"type": "go"})) == ["Error", "instance.not_found"]


async def test_w13_a_race_lets_the_code_go_on_while_the_loser_waits(world) -> None:
    async def flow(params, step):
        waiting = asyncio.ensure_future(step.wait("w", "go"))
        sleeping = asyncio.ensure_future(step.sleep("z", 1000))
        done, _ = await asyncio.wait({waiting, sleeping}, return_when=asyncio.FIRST_COMPLETED)
        return sleeping in done

    await world.start(flow)
    await world.create()
    await world.advance(1000)

    assert await world.output() is True


async def test_v13_finishing_releases_the_waits(world) -> None:
    async def flow(params, step):
        waiting = asyncio.ensure_future(step.wait("w", "go", "30 days"))
        await asyncio.sleep(0)
        await step.do("a", 1)
        waiting.cancel()
        return "end"

    await world.start(flow)
    await world.create()

    assert await world.output() == "end"
    assert world.engine.next_at() is None


async def test_a_run_that_catches_a_timeout_is_no_alarm(world, caught, caplog) -> None:
    async def flow(params, step):
        await caught(step.wait("w", "go", "1 second"))
        return {"fine": True}

    await world.start(flow)
    await world.create()
    await world.advance(1000)

    assert world.status() == "complete"
    assert caplog.records == []


async def test_many_events_to_one_instance_do_not_replay_it_each_time(world) -> None:
    """A replay at every event would make each event cost a step of every step before."""
    passes = 0

    async def flow(params, step):
        nonlocal passes
        passes += 1
        for n in range(300):
            await step.wait(f"turn {n}", "go", timeout="1 day")

    await world.start(flow)
    await world.create()
    for _ in range(300):
        await world.send("go")

    assert world.status() == "complete"
    assert passes < 100
