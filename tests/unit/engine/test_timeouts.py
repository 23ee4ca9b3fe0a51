"""The timeout of an attempt, and callbacks of all shapes under it."""

from __future__ import annotations

import asyncio
import gc

import pytest

from stepwell.emulator.clock import turns

pytestmark = pytest.mark.anyio

ONCE = {"retries": {"limit": 0, "delay": 1}, "timeout": 1000}


def once(timeout):
    return {"retries": {"limit": 0, "delay": 1}, "timeout": timeout}


async def test_an_attempt_that_takes_too_long_fails_with_cloudflares_error(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.do("a", asyncio.Event().wait, once(100)))

    await world.start(flow)
    await world.begin()
    await world.pass_time(100)

    assert await world.output() == ["WorkflowTimeoutError", "Execution timed out after 100ms"]


async def test_uncaught_it_folds_into_error(world) -> None:
    async def flow(params, step):
        await step.do("a", asyncio.Event().wait, once(100))

    await world.start(flow)
    await world.begin()
    await world.pass_time(100)

    assert await world.error() == ("Error", "WorkflowTimeoutError: Execution timed out after 100ms")


async def test_it_does_not_fire_early(world) -> None:
    async def flow(params, step):
        await step.do("a", asyncio.Event().wait, once(100))

    await world.start(flow)
    await world.begin()
    await world.pass_time(99)

    assert world.status() == "running"


async def test_the_default_is_ten_minutes(world) -> None:
    async def flow(params, step):
        await step.do("a", asyncio.Event().wait, {"retries": {"limit": 0, "delay": 1}})

    await world.start(flow)
    await world.begin()
    await world.pass_time(599_999)
    assert world.status() == "running"
    await world.pass_time(1)
    assert world.status() == "errored"


async def test_each_attempt_has_its_own_time(world) -> None:
    async def flow(params, step):
        async def slow_once(ctx):
            world.note(ctx.attempt)
            if ctx.attempt == 1:
                await asyncio.Event().wait()
            return ctx.attempt

        return await step.do("a", slow_once, {"retries": {"limit": 1, "delay": 50}, "timeout": 100})

    await world.start(flow)
    await world.begin()
    await world.pass_time(100)
    await world.advance(50)

    assert world.journal == [1, 2]
    assert await world.output() == 2


async def test_a_callback_that_outlives_its_timeout_is_abandoned_not_cancelled(world, caught) -> None:
    release = asyncio.Event()

    async def slow():
        try:
            await release.wait()
            world.note("late end")
            return "late"
        except asyncio.CancelledError:
            world.note("cancelled")
            raise

    async def flow(params, step):
        error = await caught(step.do("a", slow, ONCE))
        await step.sleep("nap", 10)
        return error[0]

    await world.start(flow)
    await world.begin()
    await world.pass_time(1000)
    release.set()
    await world.advance(10)

    assert world.journal == ["late end"]
    assert await world.output() == "WorkflowTimeoutError"
    assert world.steps()["a-1"].output is None


async def test_a_late_error_is_ignored(world, caught) -> None:
    release = asyncio.Event()

    async def slow():
        await release.wait()
        world.note("raises")
        raise ValueError("late")

    async def flow(params, step):
        return (await caught(step.do("a", slow, ONCE)))[0]

    await world.start(flow)
    await world.begin()
    await world.pass_time(1000)
    release.set()
    await turns(10)

    assert world.journal == ["raises"]
    assert await world.output() == "WorkflowTimeoutError"


async def test_a_late_sys_exit_is_ignored_too(world, caught) -> None:
    release = asyncio.Event()

    async def slow():
        await release.wait()
        raise SystemExit(3)

    async def flow(params, step):
        return (await caught(step.do("a", slow, ONCE)))[0]

    await world.start(flow)
    await world.begin()
    await world.pass_time(1000)
    release.set()
    await turns(10)

    assert await world.output() == "WorkflowTimeoutError"


async def test_two_attempts_of_one_step_may_run_at_the_same_time_and_only_the_live_one_counts(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        async def slow_once(ctx):
            if ctx.attempt == 1:
                await release.wait()
                return "first"
            release.set()
            await turns(5)
            return "second"

        return await step.do("a", slow_once, {"retries": {"limit": 1, "delay": 0}, "timeout": 100})

    await world.start(flow)
    await world.begin()
    await world.pass_time(100)
    await world.idle()

    assert await world.output() == "second"


async def test_a_callback_that_never_suspends_may_take_its_time(world) -> None:
    def blocking():
        world.clock.move_to(world.clock.now() + 5000)
        return "done"

    async def flow(params, step):
        return await step.do("a", blocking, ONCE)

    await world.start(flow)
    await world.create()

    assert await world.output() == "done"


async def test_a_callback_that_only_yields_is_timed_too(world, caught) -> None:
    async def spin():
        while True:
            await asyncio.sleep(0)
            if world.journal:
                return "stopped"

    async def flow(params, step):
        return (await caught(step.do("a", spin, ONCE)))[0]

    await world.start(flow)
    await world.begin()
    await world.pass_time(1000)
    world.note("stop")
    await turns(10)

    assert await world.output() == "WorkflowTimeoutError"


async def test_the_timer_of_a_callback_that_ended_does_nothing(world) -> None:
    async def brief():
        await turns(3)
        return 1

    async def flow(params, step):
        await step.do("a", brief, ONCE)
        return await step.do("b", asyncio.Event().wait, once(5000))

    await world.start(flow)
    await world.begin()
    await world.pass_time(4999)

    assert world.status() == "running"


# -- cancellation


async def test_terminate_stops_the_callback_where_it_waits(world) -> None:
    async def slow():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            world.note("cancelled")
            raise
        finally:
            world.note("finally")

    async def flow(params, step):
        await step.do("a", slow)

    await world.start(flow)
    await world.begin()
    await world.flow.terminate("one")
    await turns(10)

    assert world.journal == ["cancelled", "finally"]
    assert world.status() == "terminated"


async def test_a_callback_that_only_yields_hears_of_the_cancellation(world) -> None:
    async def spin():
        try:
            while not world.journal:
                await turns(1)
        except asyncio.CancelledError:
            world.note("cancelled")
            raise
        finally:
            await asyncio.sleep(0)
            world.note("cleaned up")

    async def flow(params, step):
        await step.do("a", spin)

    await world.start(flow)
    await world.begin()
    await world.flow.terminate("one")
    await turns(10)

    assert world.journal == ["cancelled", "cleaned up"]


async def test_a_cancellation_reaches_a_callback_whose_future_has_just_ended(world) -> None:
    ready = asyncio.get_running_loop().create_future()

    async def slow():
        try:
            await ready
            await asyncio.sleep(0)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            world.note("cancelled")
            raise

    async def flow(params, step):
        await step.do("a", slow)

    await world.start(flow)
    await world.begin()
    ready.set_result(None)
    await world.flow.terminate("one")
    await turns(10)

    assert world.journal == ["cancelled"]


async def test_a_callback_may_swallow_the_cancellation_and_still_records_nothing(world) -> None:
    async def stubborn():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            world.note("swallowed")
        return "kept on"

    async def flow(params, step):
        world.note(await step.do("a", stubborn))

    await world.start(flow)
    await world.begin()
    before = len(world.history())
    await world.flow.terminate("one")
    await turns(10)

    assert world.journal == ["swallowed"]
    assert len(world.history()) == before + 1
    assert world.steps()["a-1"].output is None


async def test_cancelling_a_future_of_its_own_fails_the_attempt_like_an_error(world) -> None:
    async def own():
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.cancel)
        await future

    async def flow(params, step):
        await step.do("a", own, ONCE)

    await world.start(flow)
    await world.create()

    assert await world.error() == ("Error", "CancelledError")


# -- asyncio's own structures inside callbacks


async def test_asyncio_timeout_works_inside_a_callback(world) -> None:
    async def callback():
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"

    async def flow(params, step):
        return await step.do("a", callback)

    await world.start(flow)
    await world.create()

    assert await world.output() == "timed out"


async def test_wait_for_works_inside_a_callback(world) -> None:
    async def callback():
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.001)
        except TimeoutError:
            return "timed out"

    async def flow(params, step):
        return await step.do("a", callback)

    await world.start(flow)
    await world.create()

    assert await world.output() == "timed out"


async def test_a_task_group_works_inside_a_callback(world) -> None:
    async def child(n):
        await turns(n)
        return n

    async def callback():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(child(n)) for n in range(3)]
        return [task.result() for task in tasks]

    async def flow(params, step):
        return await step.do("a", callback)

    await world.start(flow)
    await world.create()

    assert await world.output() == [0, 1, 2]


async def test_an_error_in_a_task_group_is_the_attempts_error(world) -> None:
    async def fail():
        await asyncio.sleep(0)
        raise ValueError("child")

    async def callback():
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            group.create_task(asyncio.Event().wait())

    async def flow(params, step):
        await step.do("a", callback, ONCE)

    await world.start(flow)
    await world.create()

    _, message = await world.error()
    assert message.startswith("ExceptionGroup: ")


async def test_a_timeout_inside_an_abandoned_callback_does_not_disturb_the_run(world, caught) -> None:
    heard = asyncio.Event()

    async def slow():
        try:
            async with asyncio.timeout(0.2):
                await asyncio.Event().wait()
        finally:
            heard.set()

    async def flow(params, step):
        error = await caught(step.do("a", slow, ONCE))
        await step.do("b", heard.wait)
        await step.do("c", lambda: turns(5))
        return error[0]

    await world.start(flow)
    await world.begin()
    await world.pass_time(1000)
    await world.idle()

    assert await world.output() == "WorkflowTimeoutError"


async def test_a_task_group_inside_an_abandoned_callback_does_not_disturb_the_run(world, caught) -> None:
    release = asyncio.Event()

    async def fail_later():
        await release.wait()
        raise ValueError("late child")

    async def slow():
        async with asyncio.TaskGroup() as group:
            group.create_task(fail_later())
            group.create_task(asyncio.Event().wait())

    async def flow(params, step):
        error = await caught(step.do("a", slow, ONCE))
        release.set()
        await step.do("b", lambda: turns(10))
        return error[0]

    await world.start(flow)
    await world.begin()
    await world.pass_time(1000)
    await world.idle()

    assert await world.output() == "WorkflowTimeoutError"


async def test_the_current_task_is_one_task_throughout_a_callback(world) -> None:
    async def callback():
        before = asyncio.current_task()
        await turns(2)
        return before is asyncio.current_task()

    async def flow(params, step):
        return await step.do("a", callback)

    await world.start(flow)
    await world.create()

    assert await world.output() is True


async def test_context_variables_set_in_a_callback_stay_set_in_it(world) -> None:
    from contextvars import ContextVar

    colour: ContextVar[str] = ContextVar("colour", default="none")

    async def callback():
        colour.set("red")
        await turns(2)
        return colour.get()

    async def flow(params, step):
        return await step.do("a", callback)

    await world.start(flow)
    await world.create()

    assert await world.output() == "red"


async def test_nothing_is_left_over_of_an_abandoned_callback_when_the_engine_stops(world, caught) -> None:
    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            world.note("ended")

    async def flow(params, step):
        return (await caught(step.do("a", slow, ONCE)))[0]

    await world.start(flow)
    await world.begin()
    await world.pass_time(1000)
    assert world.journal == []
    await world.engine.stop()
    await turns(5)
    gc.collect()

    assert world.journal == ["ended"]


@pytest.mark.parametrize(("timeout", "warned"), [("30 minutes", []), ("31 minutes", ["a-1"])])
async def test_a_timeout_beyond_what_cloudflare_advises_is_warned_of_once(world, caplog, timeout, warned) -> None:
    async def flow(params, step):
        await step.do("a", 1, {"timeout": timeout})
        await step.do("b", 1, {"timeout": timeout})

    await world.start(flow)
    await world.create()

    text = 'step "{}" has a timeout of 31 minutes; Cloudflare recommends at most 30 minutes'
    assert [record.getMessage() for record in caplog.records] == [text.format(name) for name in warned]
