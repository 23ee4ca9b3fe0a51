"""Cron schedules: each firing creates one instance."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from stepwell.emulator.engine.time.schedules import ScheduledHandler, next_firing, schedule_id
from stepwell.emulator.storage.records import Page, PageFilter, Trigger

pytestmark = pytest.mark.anyio

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR

#: 2001-09-09T01:46:40Z, a Sunday
START = 1_000_000_000_000


def iso(ms):
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%a %d %H:%M")


FIRINGS = {
    "* * * * *": ["Sun 09 01:47", "Sun 09 01:48"],
    "*/15 * * * *": ["Sun 09 02:00", "Sun 09 02:15"],
    "0 6 * * MON-FRI": ["Mon 10 06:00", "Tue 11 06:00"],
    "30 2 1 * *": ["Mon 01 02:30", "Thu 01 02:30"],
    "0 0 * * SUN": ["Sun 16 00:00", "Sun 23 00:00"],
}


@pytest.mark.parametrize(("cron", "times"), FIRINGS.items())
def test_the_next_firings_of_an_expression_in_utc(cron, times) -> None:
    first = next_firing(cron, START)

    assert [iso(first), iso(next_firing(cron, first))] == times


def test_a_firing_is_after_not_at_the_time_given() -> None:
    at = next_firing("*/15 * * * *", START)

    assert next_firing("*/15 * * * *", at - 1) == at
    assert next_firing("*/15 * * * *", at) == at + 15 * MINUTE
    assert next_firing("*/15 * * * *", at + 500) == at + 15 * MINUTE


def test_days_of_the_week_count_as_cloudflare_counts_them() -> None:
    assert iso(next_firing("0 0 * * 1", START)) == iso(next_firing("0 0 * * SUN", START))


def test_ids_say_the_expression_and_the_time_or_a_hash() -> None:
    assert schedule_id("*/5 * * * *", 1234, hashed=False) == "*/5 * * * *-1234"
    hashed = schedule_id("*/5 * * * *", 1234, hashed=True)
    assert hashed.startswith("cf_")
    assert len(hashed) == 67


async def scheduled(world, cron, **switches):
    async def flow(event, step):
        world.note((event.instance_id, event.schedule and (event.schedule.cron, event.schedule.scheduled_at)))

    if switches:
        world.configure(**switches)
    await world.start(flow, schedules=(cron,))


async def test_each_firing_creates_one_instance_that_knows_its_schedule(world) -> None:
    await scheduled(world, "0 * * * *")
    await world.advance(3 * HOUR)

    first = next_firing("0 * * * *", START)
    times = [first, first + HOUR, first + 2 * HOUR]
    assert world.journal == [(f"0 * * * *-{at}", ("0 * * * *", at)) for at in times]


async def test_the_trigger_of_such_an_instance_is_cron(world) -> None:
    await scheduled(world, "0 * * * *")
    await world.advance(HOUR)

    (row,) = world.store.instances(PageFilter(), Page(10))
    assert row.trigger is Trigger.CRON


async def test_with_the_switch_ids_are_hashed(world) -> None:
    await scheduled(world, "0 * * * *", hashed_schedule_ids=True)
    await world.advance(HOUR)

    assert world.journal[0][0].startswith("cf_")


async def test_firings_that_were_missed_while_nothing_ran_are_not_made_up_for(world) -> None:
    await scheduled(world, "0 * * * *")
    world.engine.crash()
    world.clock.move_to(world.clock.now() + 10 * HOUR)
    await world.restart()
    await world.advance(HOUR)

    assert len(world.journal) == 1


async def test_a_restart_within_the_minute_of_a_firing_makes_no_second_instance(world) -> None:
    await scheduled(world, "0 * * * *")
    await world.advance(next_firing("0 * * * *", START) - START)
    await world.restart()
    await world.advance(1000)

    assert len(world.journal) == 1


async def test_the_next_firing_is_known_by_expression(world) -> None:
    await scheduled(world, "0 * * * *")
    (state,) = world.engine.workflows()

    assert world.engine.schedules.next_of(state.key) == {"0 * * * *": next_firing("0 * * * *", START)}
    assert world.engine.next_at() == next_firing("0 * * * *", START)


async def test_a_schedule_that_is_taken_away_fires_no_more(world) -> None:
    await scheduled(world, "0 * * * *")

    async def flow(event, step):
        world.note("other")

    world.define(flow, version="v2", schedules=())
    await world.advance(DAY)

    assert world.journal == []


async def test_several_schedules_fire_each_in_their_order(world) -> None:
    async def flow(event, step):
        world.note(event.schedule.cron)

    await world.start(flow, schedules=("0 */2 * * *", "0 * * * *"))
    await world.advance(2 * HOUR + 14 * MINUTE)

    assert sorted(world.journal) == ["0 * * * *"] * 3 + ["0 */2 * * *"] * 2


async def test_a_blocked_workflow_fires_nothing(world) -> None:
    world.define(None, schedules=("0 * * * *",))
    await world.start()
    await world.advance(DAY)

    assert world.store.count_instances(PageFilter()) == 0


async def test_a_week_of_a_daily_schedule_plays_back(world) -> None:
    await scheduled(world, "0 6 * * MON-FRI")
    await world.advance(7 * DAY)

    assert [iso(at) for _, (_, at) in world.journal] == [
        "Mon 10 06:00",
        "Tue 11 06:00",
        "Wed 12 06:00",
        "Thu 13 06:00",
        "Fri 14 06:00",
    ]


def cron_trigger(world, *crons):
    """A Worker with cron triggers, whose handler takes down what it is called with."""

    async def call(cron, at):
        world.note((cron, iso(at)))

    world.engine.schedules.handle("worker", ScheduledHandler(crons, call))


async def test_cron_triggers_of_a_worker_fire_by_the_same_clock(world) -> None:
    await world.start()
    cron_trigger(world, "0 * * * *", "30 3 * * *")
    await world.advance(2 * HOUR)

    assert world.journal == [
        ("0 * * * *", "Sun 09 02:00"),
        ("0 * * * *", "Sun 09 03:00"),
        ("30 3 * * *", "Sun 09 03:30"),
    ]


async def test_a_trigger_that_is_no_longer_configured_fires_no_more(world) -> None:
    await world.start()
    cron_trigger(world, "0 * * * *")
    cron_trigger(world)
    await world.advance(DAY)

    assert world.journal == []


async def test_switched_off_nothing_fires_at_its_time(world) -> None:
    world.configure(fire_schedules=False)
    await scheduled(world, "0 * * * *")
    cron_trigger(world, "0 * * * *")
    await world.advance(DAY)

    assert world.journal == []
    assert world.engine.next_at() is None


async def test_a_schedule_fired_by_hand_is_told_its_expression_and_the_time(world) -> None:
    world.configure(fire_schedules=False)
    await scheduled(world, "0 * * * *")

    made = await world.engine.fire_schedule("flow")
    await world.idle()

    assert world.journal == [(made, ("0 * * * *", START))]


async def test_firing_by_hand_moves_no_firing(world) -> None:
    await scheduled(world, "0 * * * *")
    before = world.engine.next_at()

    await world.engine.fire_schedule("flow")

    assert world.engine.next_at() == before


@pytest.mark.parametrize(
    ("schedules", "cron", "message"),
    [
        ((), None, "has no schedule in the wrangler file"),
        (("0 1 * * *", "0 2 * * *"), None, 'has several schedules; choose one of "0 1 * * *", "0 2 * * *"'),
        (("0 1 * * *",), "0 9 * * *", 'has no schedule "0 9 * * *"; it has "0 1 * * *"'),
    ],
)
async def test_what_cannot_be_fired_is_told_with_what_can(world, caught, schedules, cron, message) -> None:
    async def flow(params, step): ...

    await world.start(flow, schedules=schedules)

    _, text = await caught(world.engine.fire_schedule("flow", cron))

    assert message in text
