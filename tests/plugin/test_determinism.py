"""Code outside of steps must do the same each time: what differs is named with file and line."""

from __future__ import annotations

import asyncio
import random
import sys
import time
import uuid
from datetime import UTC, datetime

import httpx
import pytest
from workers import WorkflowEntrypoint

from stepwell.emulator.testing.pace import Pace
from stepwell.testing import NotDeterministic, assert_deterministic
from stepwell.testing import WorkflowEntrypoint as Entrypoint
from tests.plugin.flows import Asks, Fails, Nap, Order

COUNTER: list[int] = []


def line_after(marker: str) -> int:
    """The number of the line that follows a comment in this file."""
    with open(__file__, encoding="utf-8") as file:
        return next(n for n, line in enumerate(file, 1) if line.strip() == f"# {marker}") + 1


async def differences(workflow, *args, **options) -> list[str]:
    """The findings, without the heading."""
    with pytest.raises(NotDeterministic) as caught:
        await assert_deterministic(workflow, *args, **options)
    heading, *found = str(caught.value).splitlines()
    assert heading == f"run() of {workflow.name} is not deterministic:"
    return [one.strip() for one in found]


@pytest.mark.parametrize(("flow", "options"), [(Nap, {}), (Fails, {}), (Asks, {"events": {"answered": 1}})])
async def test_code_that_repeats_passes(workflows, flow, options) -> None:
    await assert_deterministic(workflows.define(flow), **options)


async def test_params_events_and_mocks_are_given(workflows) -> None:
    await assert_deterministic(
        workflows.define(Order),
        {"cents": 1},
        events={"approved": {"to": "Ada"}},
        mocks=lambda m: m.mock_step_error("charge", ValueError("x"), 2),
    )


async def test_what_steps_read_is_stored_and_so_repeats(workflows) -> None:
    class Reads(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do("read")
            async def read():
                return [random.random(), time.time(), str(uuid.uuid4())]

            found = await read()
            await step.sleep("nap", "1 hour")
            return found

    await assert_deterministic(workflows.define(Reads))


async def test_branches_side_by_side_may_change_their_order(workflows) -> None:
    class Branches(WorkflowEntrypoint):
        async def run(self, event, step):
            async def branch(name, naps):
                for _ in range(naps):
                    await step.sleep(f"{name} nap", f"{naps} minutes")

                @step.do(f"{name} end")
                async def end():
                    return name

                return await end()

            return await asyncio.gather(branch("a", 3), branch("b", 2), branch("c", 1))

    await assert_deterministic(workflows.define(Branches))


async def test_a_step_with_another_name_is_found_with_both_places(workflows) -> None:
    class Names(WorkflowEntrypoint):
        async def run(self, event, step):
            COUNTER.append(1)
            await step.sleep("first", "1 hour")
            if len(COUNTER) % 2:
                # odd
                await step.sleep("odd", "1 hour")
            else:
                # even
                await step.sleep("even", "1 hour")
            await step.sleep("last", "1 hour")

    (found,) = await differences(workflows.define(Names))

    odd, even = f"{__file__}:{line_after('odd')}", f"{__file__}:{line_after('even')}"
    assert found in (
        f'{odd}: replay called sleep "odd-1", but the original run called sleep "even-1" ({even})',
        f'{even}: replay called sleep "even-1", but the original run called sleep "odd-1" ({odd})',
    )


async def test_a_step_with_another_config_is_found(workflows) -> None:
    attempts = iter(range(1, 100))

    class Configs(WorkflowEntrypoint):
        async def run(self, event, step):
            # config
            @step.do("call", config={"retries": {"limit": next(attempts), "delay": "1 hour"}})
            async def call():
                return 1

            # call
            await call()
            await step.sleep("nap", "1 hour")

    (found,) = await differences(workflows.define(Configs))

    assert found == (
        f'{__file__}:{line_after("call")}: replay called step "call-1" with '
        '{"retries": {"delay": "1 hour", "limit": 2}}, but the original run passed '
        '{"retries": {"delay": "1 hour", "limit": 1}}'
    )


async def test_a_sleep_of_another_length_is_found(workflows) -> None:
    lengths = iter(range(1_000, 2_000))

    class Lengths(WorkflowEntrypoint):
        async def run(self, event, step):
            await step.sleep("nap", next(lengths))

    (found,) = await differences(workflows.define(Lengths))

    assert 'replay called sleep "nap-1" with 1001, but the original run passed 1000' in found


async def test_a_step_that_a_replay_leaves_out_is_found(workflows) -> None:
    runs: list[int] = []

    class Skips(WorkflowEntrypoint):
        async def run(self, event, step):
            runs.append(1)

            @step.do("once")
            async def once():
                return 1

            await step.sleep("first", "1 hour")
            if len(runs) == 2:
                # once
                await once()
            else:
                return
            await step.sleep("second", "1 hour")

    (found,) = await differences(workflows.define(Skips))

    assert found == (
        f'{__file__}:{line_after("once")}: replay never reached step "once-1", which the original run called'
    )


async def test_a_step_in_a_task_of_its_own_is_found_by_its_function(workflows) -> None:
    names = iter("abcdefgh")

    class Tasks(WorkflowEntrypoint):
        async def run(self, event, step):
            # in a task
            @step.do("same", config={"timeout": f"{ord(next(names))} minutes"})
            async def same():
                return 1

            await asyncio.gather(same())
            await step.sleep("nap", "1 hour")

    (found,) = await differences(workflows.define(Tasks))

    assert found.startswith(f'{__file__}:{line_after("in a task")}: replay called step "same-1" with')


async def test_another_result_is_found_where_no_step_differs(workflows) -> None:
    runs: list[int] = []

    class Results(WorkflowEntrypoint):
        async def run(self, event, step):
            runs.append(1)
            return len(runs)

    (found,) = await differences(workflows.define(Results))

    assert found == "run() ended complete with output 1, but the replay returned 2"


async def test_a_step_that_only_the_last_replay_comes_to_is_found(workflows) -> None:
    runs: list[int] = []

    class Late(WorkflowEntrypoint):
        async def run(self, event, step):
            runs.append(1)
            if len(runs) > 1:
                await step.sleep("late", "1 hour")

    (found,) = await differences(workflows.define(Late))

    assert found == "replaying the finished run() reached a step that was never recorded"


async def test_reads_of_the_clock_and_of_randomness_are_found(workflows) -> None:
    class Reads(WorkflowEntrypoint):
        async def run(self, event, step):
            # time
            time.time()
            # now
            datetime.now(UTC)
            # choice
            random.choice("ab")
            # uuid
            uuid.uuid4()
            random.Random(7).random()
            time.perf_counter()
            await step.sleep("nap", "1 hour")

    found = await differences(workflows.define(Reads))

    assert [one.partition(" outside")[0] for one in found] == [
        f"{__file__}:{line_after('time')}: run() reads the clock",
        f"{__file__}:{line_after('now')}: run() reads the clock",
        f"{__file__}:{line_after('choice')}: run() reads randomness",
        f"{__file__}:{line_after('uuid')}: run() reads randomness",
    ]


async def test_requests_outside_of_steps_are_found(workflows) -> None:
    class Requests(WorkflowEntrypoint):
        async def run(self, event, step):
            try:
                async with httpx.AsyncClient(trust_env=False) as client:
                    # request
                    await client.get("http://127.0.0.1:9/")
            except httpx.TransportError:
                pass

    (found,) = await differences(workflows.define(Requests))

    assert found.startswith(f"{__file__}:{line_after('request')}: run() reads the network outside a step")


async def test_logging_reads_the_clock_and_decides_nothing(workflows, caplog) -> None:
    import logging

    class Logs(WorkflowEntrypoint):
        async def run(self, event, step):
            logging.getLogger("shop").warning("here")
            await asyncio.sleep(0)

    await assert_deterministic(workflows.define(Logs))


async def test_the_class_can_come_from_the_testing_library(workflows) -> None:
    class Own(Entrypoint):
        async def run(self, event, step):
            return 1

    await assert_deterministic(workflows.define(Own))


def test_plain_tests_check_too(workflows) -> None:
    workflows.define(Nap)

    assert_deterministic(workflows.NAP)


def race_of_two_steps(*, in_a_step: bool, nap: bool, by: str = "wait") -> type:
    class Race(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do("slow")
            async def slow():
                await asyncio.sleep(0.02)
                return "slow"

            @step.do("fast")
            async def fast():
                return "fast"

            async def race():
                tasks = [asyncio.ensure_future(each()) for each in (slow, fast)]
                if by == "as_completed":
                    return await next(iter(asyncio.as_completed(tasks)))
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                return next(iter(done)).result()

            winner = await (step.do("race")(race)() if in_a_step else race())
            if nap:
                await step.sleep("nap", "1 hour")
            return winner

    return Race


@pytest.mark.parametrize("by", ["wait", "as_completed"])
@pytest.mark.parametrize("nap", [False, True])
async def test_a_race_of_steps_outside_of_a_step_is_found(workflows, nap, by) -> None:
    found = await differences(workflows.define(race_of_two_steps(in_a_step=False, nap=nap, by=by)))

    assert 'step "fast-1" races with another call outside a step' in found[0]


@pytest.mark.parametrize("nap", [False, True])
async def test_a_race_inside_of_a_step_is_deterministic(workflows, nap) -> None:
    await assert_deterministic(workflows.define(race_of_two_steps(in_a_step=True, nap=nap)))


@pytest.mark.parametrize("in_a_step", [False, True])
async def test_the_check_of_a_recorded_run_judges_a_race_alike(workflows, auto_advance, in_a_step) -> None:
    workflow = workflows.define(race_of_two_steps(in_a_step=in_a_step, nap=True))
    instance = await workflow.create({"id": "one"})
    await instance.wait_for_status("complete")

    key = workflows._emulation.find(workflow.name, "one")
    check = await workflows._emulation.engine.check_replay(key)

    assert ("races with another call" in check.difference) is not in_a_step


async def test_all_of_several_steps_are_no_race(workflows) -> None:
    class All(WorkflowEntrypoint):
        async def run(self, event, step):
            tasks = [asyncio.ensure_future(step.do(name)(lambda: 1)()) for name in "ab"]
            await asyncio.wait(tasks)
            await step.sleep("nap", "1 hour")
            return sum(task.result() for task in tasks)

    await assert_deterministic(workflows.define(All))


async def test_a_step_within_a_step_repeats(workflows) -> None:
    class Nested(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do("outer")
            async def outer():
                @step.do("inner")
                async def inner():
                    return 1

                return await inner() + 1

            found = await outer()
            await step.sleep("nap", "1 hour")
            return found

    await assert_deterministic(workflows.define(Nested))


async def check(workflow, **params):
    """What the dashboard's check says of an instance that has ended."""
    emulation = workflow.emulation
    instance = await workflow.create({"id": "one", "params": params})
    await Pace(emulation).run_until_idle()
    assert instance.current_status == "complete"
    return await emulation.engine.check_replay(emulation.find(workflow.name, "one"))


async def test_the_check_of_the_dashboard_names_reads_as_the_tests_do(workflows) -> None:
    class Reads(WorkflowEntrypoint):
        async def run(self, event, step):
            # dashboard read
            time.time()
            await step.sleep("nap", "1 hour")

    workflow = workflows.define(Reads)
    (said,) = await differences(workflow)
    found = await check(workflow)

    assert f"{found.place}: {found.difference}" == said
    assert found.place.line == line_after("dashboard read")


async def test_the_check_of_the_dashboard_does_not_take_what_steps_read(workflows) -> None:
    class Reads(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do("read")
            async def read():
                return time.time()

            await read()

    assert (await check(workflows.define(Reads))).difference == ""


async def test_the_profiling_hook_is_given_back_after_a_check(workflows) -> None:
    before = sys.getprofile()

    await assert_deterministic(workflows.define(Nap))

    assert sys.getprofile() is before
