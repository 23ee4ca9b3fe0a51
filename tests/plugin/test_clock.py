"""Virtual time: it moves when it is told to, or by itself when everything waits; always in the same order."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest
from workers import WorkflowEntrypoint

from tests.plugin.flows import Asks, Fails, Nap, Order


async def test_the_clock_stands_still_until_it_is_moved(workflows, clock) -> None:
    workflows.define(Nap)
    before = clock.now()
    await (await workflows.NAP.create(params={"times": 0})).result()

    assert clock.now() == before


async def test_it_starts_at_the_present(clock) -> None:
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize("duration", ["1 day", 86_400_000, timedelta(days=1)])
async def test_advance_takes_texts_milliseconds_and_timedeltas(workflows, clock, duration) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()
    await instance.wait_until_sleeping()

    await clock.advance(duration)

    assert instance.current_status == "complete"


async def test_advance_by_less_leaves_it_sleeping(workflows, clock) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()

    await clock.advance("23 hours")

    assert instance.current_status == "waiting"


async def test_advance_to_a_moment(workflows, clock) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()

    await clock.advance_to(clock.now() + timedelta(days=1))

    assert instance.current_status == "complete"


async def test_the_clock_does_not_go_back(clock) -> None:
    with pytest.raises(ValueError, match="the clock cannot go back"):
        await clock.advance(-1)


async def test_what_becomes_due_happens_in_order_each_going_on_until_it_waits_again(workflows, clock) -> None:
    seen: list[str] = []

    class Ticks(WorkflowEntrypoint):
        async def run(self, event, step):
            for n in range(3):
                await step.sleep("tick", event.payload["every"])
                seen.append(f"{event.payload['name']} {n}")

    workflows.define(Ticks)
    await workflows.TICKS.create(params={"name": "slow", "every": "10 minutes"})
    await workflows.TICKS.create(params={"name": "fast", "every": "4 minutes"})

    await clock.advance("1 hour")

    assert list(dict.fromkeys(seen)) == ["fast 0", "fast 1", "slow 0", "fast 2", "slow 1", "slow 2"]


async def test_a_year_of_sleeps_retries_and_timeouts_takes_no_time(workflows, clock, auto_advance) -> None:
    class Year(WorkflowEntrypoint):
        async def run(self, event, step):
            for _ in range(12):
                await step.sleep("month", "30 days")

                @step.do("bill", config={"retries": {"limit": 4, "delay": "6 hours"}, "timeout": "1 hour"})
                async def bill(ctx):
                    if ctx["attempt"] < 4:
                        raise RuntimeError("the bank is closed")
                    return ctx["attempt"]

                await bill()

    workflows.define(Year)
    before, began = clock.now(), time.perf_counter()
    instance = await workflows.YEAR.create()
    await instance.wait_for_status("complete")

    assert clock.now() - before > timedelta(days=365)
    assert time.perf_counter() - began < 1.5  # a tenth of that on a quiet machine
    assert instance.steps["bill", 12].attempts == 4


async def test_the_same_run_gives_the_same_history_each_time(workflows) -> None:
    from stepwell.emulator.testing.emulation import Emulation, Options
    from stepwell.emulator.testing.workflows import Workflows

    async def history() -> list:
        emulation = Emulation(Options(start_at=1_800_000_000_000, auto_advance=True))
        own = Workflows(emulation)
        own.define(Order)
        prepared = own.ORDER.prepare(id="one", params={"cents": 1})
        prepared.mock_step_error("charge", ValueError("x"), 2)
        prepared.mock_event("approved", {"to": "Ada"})
        instance = await prepared.start()
        await instance.result()
        found = list(instance.history)
        await emulation.close()
        return found

    assert await history() == await history()


async def test_run_until_idle_leaves_waits_for_events_alone(workflows, clock) -> None:
    workflows.define(Order)
    instance = await workflows.ORDER.create(params={"cents": 1})

    await clock.run_until_idle()

    assert instance.steps["approval"].status == "waiting"
    assert instance.steps["cool down"].status == "completed"


async def test_run_until_idle_goes_through_retries(workflows, clock) -> None:
    workflows.define(Fails)
    instance = await workflows.FAILS.create()

    await clock.run_until_idle()

    assert instance.current_status == "errored"


async def test_an_event_times_out_when_the_clock_passes_its_timeout(workflows, clock) -> None:
    workflows.define(Asks)
    instance = await workflows.ASKS.create()

    await clock.advance("1 day")

    assert instance.history.types[-2:] == ["wait_timed_out", "workflow_errored"]


async def test_the_clock_moves_on_for_a_sleep_beside_a_wait_for_an_event(workflows, auto_advance) -> None:
    import asyncio

    class Race(WorkflowEntrypoint):
        async def run(self, event, step):
            async def ask():
                return (await step.wait_for_event("answer", "answered", timeout="1 day"))["payload"]

            async def late():
                await step.sleep("late", "2 days")
                return "late"

            results = await asyncio.gather(ask(), late(), return_exceptions=True)
            return [str(results[0]), results[1]]

    instance = await workflows.define(Race).create()

    assert await instance.result() == [
        "Error: WorkflowTimeoutError: Execution timed out after 86400000ms",
        "late",
    ]


@pytest.mark.workflows(start_at="2026-03-01T09:00:00Z")
async def test_a_schedule_fires_when_the_clock_passes_it(workflows, clock) -> None:
    class Report(WorkflowEntrypoint):
        async def run(self, event, step):
            return event.schedule.cron

    report = workflows.define(Report, schedules=("0 12 * * *",))
    await report.create({"id": "first"})

    await clock.advance("3 hours")

    assert await report.instance("0 12 * * *-1772366400000").result() == "0 12 * * *"


async def test_schedules_alone_do_not_keep_the_clock_running(workflows, clock) -> None:
    workflows.define(Nap, schedules=("0 12 * * *",))
    before = clock.now()
    await workflows.NAP.create(params={"times": 0})

    await clock.run_until_idle()

    assert clock.now() == before


async def test_auto_advance_can_be_switched(workflows, clock) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()

    clock.auto_advance = True

    assert await instance.result() == 1
    assert clock.auto_advance


def test_plain_tests_move_the_clock_too(workflows, clock) -> None:
    workflows.define(Nap)
    instance = workflows.NAP.create()
    before = clock.now_ms

    clock.advance("1 day")

    assert instance.current_status == "complete"
    assert clock.now_ms - before == 86_400_000


@pytest.mark.workflows(time_scale=600)
async def test_with_a_time_scale_time_passes_by_itself_and_step_timeouts_stay_real(workflows) -> None:
    class Slow(WorkflowEntrypoint):
        async def run(self, event, step):
            await step.sleep("nap", "2 minutes")

            @step.do("work", config={"timeout": "10 seconds"})
            async def work():
                await asyncio.sleep(0.1)  # a minute of the faster clock
                return "done"

            return await work()

    instance = await workflows.define(Slow).create()

    assert await instance.result() == "done"
