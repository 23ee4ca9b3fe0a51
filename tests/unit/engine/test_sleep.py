"""step.sleep and step.sleepUntil."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from stepwell.bindings.values import jsnull
from stepwell.emulator.storage.records import StepKind, StepState

pytestmark = pytest.mark.anyio

DAY = 86_400_000


def at(world, ms):
    return world.clock.START_AT + ms


DURATIONS = {
    30: 30,
    "1 second": 1000,
    "5 seconds": 5000,
    "1 minute": 60_000,
    "2 hours": 7_200_000,
    "1 day": DAY,
    "2 weeks": 14 * DAY,
    "1 month": 30 * DAY,
    "1 year": 365 * DAY,
    "1000 millisecond": 1000,
    "3 hour": 3 * 3_600_000,
    "  10   seconds ": 10_000,
    "10seconds": 10_000,
    "1.5 hours": 5_400_000,
    365 * DAY: 365 * DAY,
}


@pytest.mark.parametrize(("duration", "ms"), DURATIONS.items())
async def test_a_sleep_lasts_as_long_as_it_says(world, duration, ms) -> None:
    async def flow(params, step):
        await step.sleep("z", duration)
        return "woke"

    await world.start(flow)
    await world.create()
    await world.advance(ms - 1)
    assert world.status() == "waiting"
    await world.advance(1)

    assert await world.output() == "woke"


async def test_a_sleep_of_zero_ends_at_once(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 0)

    await world.start(flow)
    await world.create()

    assert world.status() == "complete"
    assert world.trace(moods=True) == [
        "workflow_queued",
        "workflow_started",
        "workflow_running",
        "sleep_started z-1",
        "workflow_waiting",
        "sleep_completed z-1",
        "workflow_completed",
    ]


BAD = {
    "a while": "a while",
    "10": "10",
    "-5 seconds": "-5 seconds",
    "5s": "5s",
    "1 hour 5 minutes": "1 hour 5 minutes",
    "": "",
    "1 SECOND": "1 SECOND",
    None: "undefined",
    jsnull: "null",
    True: "true",
    float("nan"): "NaN",
    float("inf"): "Infinity",
}


@pytest.mark.parametrize(("duration", "text"), BAD.items())
async def test_what_is_no_duration_is_a_type_error(world, caught, duration, text) -> None:
    async def flow(params, step):
        return await caught(step.sleep("z", duration))

    await world.start(flow)
    await world.create()

    assert await world.output() == ["TypeError", f'Invalid duration "{text}"']
    assert world.steps() == {}


async def test_a_sleep_in_the_past_is_refused_and_not_stored(world, caught) -> None:
    async def flow(params, step):
        return [
            await caught(step.sleep("z", -10)),
            await caught(step.sleep_until("u", 0)),
            await caught(step.sleep_until("u", datetime(1999, 1, 1, tzinfo=UTC))),
            await caught(step.sleep_until("u", "1999-01-01T00:00:00Z")),
        ]

    await world.start(flow)
    await world.create()

    assert await world.output() == [["Error", "You can't sleep until a time in the past, time-traveler"]] * 4
    assert world.steps() == {}


async def test_a_sleep_beyond_the_limit_is_refused(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.sleep("z", "366 days"))

    await world.start(flow)
    await world.create()

    name, message = await world.output()
    assert name == "WorkflowFatalError"
    assert str(366 * DAY) in message


async def test_without_the_limit_two_years_are_fine(world) -> None:
    world.configure(limits={"sleep_ms": None})

    async def flow(params, step):
        await step.sleep("z", "2 years")

    await world.start(flow)
    await world.create()
    await world.advance(2 * 365 * DAY)

    assert world.status() == "complete"


@pytest.mark.parametrize(
    "until",
    [
        lambda at: at,
        lambda at: float(at),
        lambda at: datetime.fromtimestamp(at / 1000, UTC),
        lambda at: datetime.fromtimestamp(at / 1000, UTC).isoformat(),
    ],
    ids=["ms", "float", "datetime", "text"],
)
async def test_sleep_until_takes_ms_a_date_and_a_date_text(world, until) -> None:
    async def flow(params, step):
        await step.sleep_until("u", until(at(world, 5000)))

    await world.start(flow)
    await world.create()
    await world.advance(4999)
    assert world.status() == "waiting"
    await world.advance(1)

    assert world.status() == "complete"


@pytest.mark.parametrize("until", ["soon", None, float("nan"), float("inf"), [], 10**30])
async def test_sleep_until_what_is_no_time_is_refused(world, caught, until) -> None:
    async def flow(params, step):
        return (await caught(step.sleep_until("u", until)))[0]

    await world.start(flow)
    await world.create()

    assert await world.output() in ("TypeError", "WorkflowFatalError")


async def test_true_is_a_time_in_the_past_as_in_javascript(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.sleep_until("u", True))

    await world.start(flow)
    await world.create()

    assert await world.output() == ["Error", "You can't sleep until a time in the past, time-traveler"]


async def test_a_naive_datetime_is_utc(world) -> None:
    naive = datetime.fromtimestamp(at(world, 5000) / 1000, UTC).replace(tzinfo=None)

    async def flow(params, step):
        await step.sleep_until("u", naive)

    await world.start(flow)
    await world.create()
    await world.advance(5000)

    assert world.status() == "complete"


async def test_sleep_and_sleep_until_share_a_counter(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 10)
        await step.sleep_until("z", at(world, 20))

    await world.start(flow)
    await world.create()
    await world.advance(20)

    assert [(row.kind, row.public_name) for row in world.steps().values()] == [
        (StepKind.SLEEP, "z-1"),
        (StepKind.SLEEP, "z-2"),
    ]


async def test_on_replay_the_first_stored_wake_time_wins_moved_on_by_a_pause(world) -> None:
    async def flow(params, step):
        began = await step.do("t0", lambda: world.clock.now())
        await step.sleep_until("u", datetime.now(UTC) if False else world.clock.now() + 5000)
        return await step.do("t1", lambda: world.clock.now() - began)

    await world.start(flow)
    await world.create()
    await world.advance(1000)
    await world.flow.pause("one")
    await world.advance(1000)
    await world.flow.resume("one")
    await world.restart()
    await world.advance(10_000)

    assert await world.output() == 6000


async def test_sleep_until_on_replay_does_not_mind_that_its_time_has_passed(world) -> None:
    until = at(world, 1000)

    async def flow(params, step):
        await step.sleep_until("u", until)
        await step.sleep("z", "1 day")
        return "end"

    await world.start(flow)
    await world.create()
    await world.advance(1000)
    await world.restart()
    await world.advance(DAY)

    assert await world.output() == "end"


async def test_the_record_of_a_sleep_says_when_it_is_over(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 5000)

    await world.start(flow)
    await world.create()

    row = world.steps()["z-1"]
    assert (row.state, row.due_at, row.config) == (StepState.PENDING, at(world, 5000), '{"durationMs":5000}')


async def test_an_instance_shows_waiting_while_it_sleeps(world) -> None:
    async def flow(params, step):
        await step.sleep("z", "1 hour")

    await world.start(flow)
    await world.create()

    status = await world.flow.status("one")
    assert (status.status, status.output) == ("waiting", None)


async def test_the_switch_for_wrangler_dev_shows_running_instead(world) -> None:
    world.configure(waiting_status=False)

    async def flow(params, step):
        await step.sleep("z", "1 hour")
        return "woke"

    await world.start(flow)
    await world.create()
    assert (await world.flow.status("one")).status == "running"
    assert "workflow_waiting" not in world.trace(moods=True)
    await world.advance(3_600_000)

    assert await world.output() == "woke"


async def test_a_thousand_sleepers_wake_in_the_order_of_their_deadlines(world) -> None:
    async def flow(params, step):
        await step.sleep("z", params["ms"])
        world.note(params["ms"])

    await world.start(flow)
    for ms in (50, 10, 40, 30, 20):
        await world.create(f"i{ms}", {"ms": ms * 60_000})
    await world.advance(DAY)

    assert world.journal == [ms * 60_000 for ms in (10, 20, 30, 40, 50)]


async def test_a_year_of_sleeps_plays_back_deterministically(world) -> None:
    async def flow(params, step):
        for n in range(52):
            await step.sleep(f"week {n}", "1 week")
        return world.clock.now()

    await world.start(flow)
    await world.create()
    await world.advance(365 * DAY)

    assert await world.output() == at(world, 52 * 7 * DAY)


async def test_w16_nothing_wakes_a_finished_instance(world) -> None:
    async def flow(params, step):
        await step.sleep("z", "1 hour")
        world.note("woke")

    await world.start(flow)
    await world.create()
    await world.flow.terminate("one")
    await world.advance(DAY)

    assert world.journal == []
    assert world.engine.next_at() is None


async def test_a_sleep_that_user_code_gives_up_leaves_nothing_that_wakes_for_ever(world) -> None:
    import asyncio

    async def flow(params, step):
        sleeping = asyncio.ensure_future(step.sleep("given up", 1000))
        await asyncio.sleep(0)
        sleeping.cancel()
        await step.sleep("z", 5000)
        return "end"

    await world.start(flow)
    await world.create()
    await world.advance(5000)

    assert await world.output() == "end"


async def test_timedelta_is_no_duration(world, caught) -> None:
    async def flow(params, step):
        return (await caught(step.sleep("z", timedelta(seconds=1))))[0]

    await world.start(flow)
    await world.create()

    assert await world.output() == "TypeError"


@pytest.mark.parametrize(("duration", "shown"), [(2.5, 2.5), ("0.0015 seconds", 1.5), (2.0, 2), (3, 3)])
async def test_a_fraction_of_a_millisecond_stays_in_the_history(world, duration, shown) -> None:
    async def flow(params, step):
        await step.sleep("nap", duration)

    await world.start(flow)
    await world.create("one")
    await world.advance(10)

    assert json.loads(world.steps()["nap-1"].config)["durationMs"] == shown


async def test_a_fraction_of_a_millisecond_of_a_timeout_stays_in_the_history(world) -> None:
    async def flow(params, step):
        await step.wait("go", "go", "1.0005 seconds")

    await world.start(flow)
    await world.create("one")
    await world.idle()

    assert json.loads(world.steps()["go-1"].config)["timeoutMs"] == 1000.5


async def test_a_fraction_of_a_millisecond_of_a_moment_stays_in_the_history(world) -> None:
    async def flow(params, step):
        await step.sleep_until("nap", world.clock.now() + 5000.5)

    await world.start(flow)
    await world.create("one")
    await world.idle()

    assert json.loads(world.steps()["nap-1"].config)["durationMs"] == 5000.5
