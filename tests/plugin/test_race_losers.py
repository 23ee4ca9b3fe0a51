"""Steps that nobody waits for any more: neither they nor their coroutines warn, whatever shape the race has."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from workers import WorkflowEntrypoint

pytestmark = pytest.mark.filterwarnings("error")

Shape = Callable[[Callable[[str, float], Awaitable[str]], Any], Awaitable[object]]


async def first_completed(step_of, step):
    tasks = [asyncio.create_task(step_of(name, s)) for name, s in (("fast", 0), ("slow", 0.01))]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    return done.pop().result()


async def first_completed_then_cancelled(step_of, step):
    tasks = [asyncio.create_task(step_of(name, s)) for name, s in (("fast", 0), ("slow", 0.01))]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return done.pop().result()


async def first_exception(step_of, step):
    tasks = [asyncio.create_task(step_of(name, s)) for name, s in (("bad", 0), ("slow", 0.01))]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    return "seen"


async def as_completed(step_of, step):
    for first in asyncio.as_completed([step_of("fast", 0), step_of("slow", 0.01)]):
        return await first
    return None


async def gather_with_an_exception(step_of, step):
    try:
        await asyncio.gather(step_of("bad", 0), step_of("slow", 0.01))
    except Exception as error:  # noqa: BLE001 - any error of a step
        return str(error)
    return None


async def gather_that_returns_exceptions(step_of, step):
    return len(await asyncio.gather(step_of("bad", 0), step_of("fast", 0), return_exceptions=True))


async def task_group_with_an_exception(step_of, step):
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(step_of("bad", 0))
            group.create_task(step_of("slow", 0.01))
    except* Exception as errors:  # noqa: BLE001 - any error of a step
        count = len(errors.exceptions)
    return count


async def wait_for_with_a_timeout(step_of, step):
    try:
        return await asyncio.wait_for(step_of("slow", 0.05), 0.001)
    except TimeoutError:
        return "too late"


async def timeout_block(step_of, step):
    try:
        async with asyncio.timeout(0.001):
            return await step_of("slow", 0.05)
    except TimeoutError:
        return "too late"


async def dropped_task(step_of, step):
    task = asyncio.create_task(step_of("slow", 0.01))
    await step_of("fast", 0)
    del task
    return "dropped"


async def task_that_never_began(step_of, step):
    asyncio.create_task(step_of("slow", 0.01))  # noqa: RUF006 - that is the point
    return "ended"


async def failed_task_nobody_asks(step_of, step):
    task = asyncio.create_task(step_of("bad", 0))
    await asyncio.wait([task])
    return "seen"


async def shielded(step_of, step):
    try:
        await asyncio.wait_for(asyncio.shield(step_of("slow", 0.01)), 0.001)
    except TimeoutError:
        return "too late"
    return None


async def sleep_against_event(step_of, step):
    tasks = [
        asyncio.create_task(step.sleep("nap", "1 minute")),
        asyncio.create_task(step.wait_for_event("go", "go", timeout="1 hour")),
    ]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    return "first"


async def async_generator_left_early(step_of, step):
    async def results():
        for name in ("fast", "next", "last"):
            yield await step_of(name, 0)

    async for result in results():
        return result
    return None


async def race_inside_of_a_step(step_of, step):
    @step.do("race")
    async def race():
        async def later(value, s):
            await asyncio.sleep(s)
            return value

        tasks = [asyncio.create_task(later(value, s)) for value, s in (("fast", 0), ("slow", 0.01))]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()

    return await race()


async def raise_while_another_runs(step_of, step):
    asyncio.create_task(step_of("slow", 0.01))  # noqa: RUF006 - that is the point
    await step_of("fast", 0)
    raise ValueError("given up")


SHAPES: list[Shape] = [
    first_completed,
    first_completed_then_cancelled,
    first_exception,
    as_completed,
    gather_with_an_exception,
    gather_that_returns_exceptions,
    task_group_with_an_exception,
    wait_for_with_a_timeout,
    timeout_block,
    dropped_task,
    task_that_never_began,
    failed_task_nobody_asks,
    shielded,
    sleep_against_event,
    async_generator_left_early,
    race_inside_of_a_step,
    raise_while_another_runs,
]


def flow_of(shape: Shape, *, naps: bool) -> type:
    class Race(WorkflowEntrypoint):
        async def run(self, event, step):
            async def step_of(name: str, seconds: float) -> str:
                @step.do(name, config={"retries": {"limit": 0, "delay": 0}})
                async def work():
                    await asyncio.sleep(seconds)
                    if name == "bad":
                        raise ValueError("bad")
                    return name

                return await work()

            result = await shape(step_of, step)
            if naps:
                await step.sleep("afterwards", "1 day")
            return result

    return Race


@pytest.mark.parametrize("naps", [False, True], ids=["ends", "goes on"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
async def test_a_loser_of_a_race_warns_nobody(workflows, clock, shape, naps) -> None:
    instance = await workflows.define(flow_of(shape, naps=naps)).create()
    await clock.run_until_idle()

    assert instance.current_status in ("complete", "errored")
    await asyncio.sleep(0.06)  # the losers end in real time
    gc.collect()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
async def test_a_loser_of_a_race_warns_nobody_after_a_restart(workflows, clock, engine, shape) -> None:
    await workflows.define(flow_of(shape, naps=True)).create()
    await engine.restart()
    await clock.run_until_idle()
    await asyncio.sleep(0.06)
    gc.collect()
