"""Code that is replaced while instances run, taken away, and brought back."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.values import encode
from stepwell.emulator.clock import turns

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


def version(world, name, *, steps=("a", "b")):
    async def flow(params, step):
        world.note(f"{name} runs")
        return [await step.do(one, lambda: name) for one in steps]

    return flow


async def test_the_current_step_ends_on_the_old_code_and_the_new_goes_on(world) -> None:
    release = asyncio.Event()

    async def old(params, step):
        async def slow():
            await release.wait()
            return "old"

        first = await step.do("a", slow)
        world.note("old goes on")
        return [first, await step.do("b", lambda: "old")]

    await world.start(old)
    await world.begin()
    world.define(version(world, "new"), version="v2")
    await turns(10)
    assert world.journal == []
    release.set()
    await world.idle()

    assert await world.output() == ["old", "new"]
    assert world.journal == ["new runs"]


async def test_nothing_of_the_handover_is_counted_as_an_attempt(world) -> None:
    release = asyncio.Event()

    async def old(params, step):
        await step.do("a", release.wait)
        await step.do("b", 2)

    await world.start(old)
    await world.begin()
    world.define(version(world, "new"), version="v2")
    release.set()
    await world.idle()

    assert [row.attempts for row in world.steps().values()] == [1, 1]
    assert "attempt_errored a-1 1" not in world.trace()


async def test_parallel_branches_go_over_together_when_all_their_steps_have_ended(world) -> None:
    first, second = asyncio.Event(), asyncio.Event()

    async def old(params, step):
        async def branch(name, gate):
            await step.do(name, gate.wait)
            await step.do(f"{name} next", lambda: world.note(f"old {name} next"))

        await asyncio.gather(branch("x", first), branch("y", second))

    async def new(params, step):
        async def branch(name):
            await step.do(name, 1)
            await step.do(f"{name} next", lambda: world.note(f"new {name} next"))

        await asyncio.gather(branch("x"), branch("y"))

    await world.start(old)
    await world.begin()
    world.define(new, version="v2")
    first.set()
    await turns(20)
    assert world.journal == []
    second.set()
    await world.idle()

    assert world.journal == ["new x next", "new y next"]


async def test_a_nested_step_belongs_to_the_step_that_ends_on_the_old_code(world) -> None:
    release = asyncio.Event()

    async def old(params, step):
        async def outer():
            await release.wait()
            return await step.do("inner", lambda: "old inner")

        return await step.do("a", outer)

    await world.start(old)
    await world.begin()
    world.define(version(world, "new"), version="v2")
    release.set()
    await world.idle()

    assert await world.output() == ["old inner", "new"]


@pytest.mark.parametrize("ms", [1000, 10 * HOUR])
async def test_a_sleeping_instance_wakes_in_the_new_code(world, ms) -> None:
    async def old(params, step):
        await step.sleep("z", ms)
        return "old"

    async def new(params, step):
        await step.sleep("z", 1)
        return "new"

    await world.start(old)
    await world.create()
    world.define(new, version="v2")
    await world.advance(ms - 1)
    assert world.status() == "waiting"
    await world.advance(1)

    assert await world.output() == "new"


async def test_an_instance_in_its_retry_delay_is_retried_in_the_new_code(world) -> None:
    async def old(params, step):
        await step.do("a", lambda: 1 / 0, {"retries": {"limit": 1, "delay": 1000}})

    async def new(params, step):
        return await step.do("a", lambda ctx: ctx.attempt, {"retries": {"limit": 1, "delay": 1000}})

    await world.start(old)
    await world.create()
    world.define(new, version="v2")
    await world.advance(1000)

    assert await world.output() == 2


async def test_a_wait_that_the_new_code_renamed_does_not_swallow_the_event(world) -> None:
    async def old(params, step):
        return await step.wait("approval", "go")

    async def new(params, step):
        return await step.wait("approve", "go")

    await world.start(old)
    await world.create()
    world.define(new, version="v2")
    await world.send("go", "yes")

    assert await world.output() == "yes"


async def test_old_records_that_the_new_code_does_not_reach_are_ignored(world) -> None:
    async def old(params, step):
        await step.do("removed", 1)
        await step.sleep("z", 1000)

    async def new(params, step):
        await step.sleep("z", 1000)
        return await step.do("added", 2)

    await world.start(old)
    await world.create()
    world.define(new, version="v2")
    await world.advance(1000)

    assert await world.output() == 2


async def test_two_reloads_during_one_step(world) -> None:
    release = asyncio.Event()

    async def old(params, step):
        await step.do("a", release.wait)
        await step.do("b", 2)

    await world.start(old)
    await world.begin()
    world.define(version(world, "second"), version="v2")
    world.define(version(world, "third"), version="v3")
    release.set()
    await world.idle()

    assert world.journal == ["third runs"]


async def test_a_new_limit_of_steps_holds_for_passes_that_begin_then(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)
        for n in range(3):
            await step.do("a", n)

    await world.start(flow)
    await world.create()
    world.define(flow, version="v2", steps_limit=2)
    await world.advance(1000)

    assert world.status() == "errored"


async def test_the_version_of_an_instance_is_the_one_that_created_or_restarted_it(world) -> None:
    await world.start(version(world, "old"))
    await world.create()
    first = world.store.instance(world.key()).version
    world.define(version(world, "new"), version="v2")
    assert world.store.instance(world.key()).version == first
    await world.flow.restart("one")
    await world.idle()
    second = world.store.instance(world.key()).version

    assert (world.store.version(first).id, world.store.version(second).id) == ("flow-v1", "flow-v2")


async def test_a_code_that_loads_but_throws_at_once_errors_the_instance_only(world) -> None:
    async def broken(params, step):
        raise RuntimeError("constructor")

    async def flow(params, step):
        await step.sleep("z", 1000)
        return "fine"

    world.define(flow, name="other")
    await world.start(flow)
    await world.create()
    await world.engine.workflow("other").create({"id": "two"})
    await world.idle()
    world.define(broken, version="v2")
    await world.advance(1000)

    assert await world.error() == ("Error", "RuntimeError: constructor")
    assert world.status("two", "other") == "complete"


# -- the class is gone


async def blocked(world, flow, *, reach):
    """An instance of a Workflow whose class has gone, `reach` having brought it where it is."""
    await world.start(flow)
    await reach()
    world.define(None, version="v2")
    await turns(20)


async def test_a_running_instance_stops_after_its_step_and_goes_on_when_the_class_is_back(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        world.note("run")
        await step.do("a", release.wait)
        return await step.do("b", lambda: "b")

    await blocked(world, flow, reach=world.begin)
    release.set()
    await world.idle()
    assert world.status() == "queued"
    assert world.journal == ["run"]
    world.define(flow, version="v3")
    await world.idle()

    assert await world.output() == "b"


async def test_a_sleeping_instance_is_not_woken_without_its_class_and_goes_on_with_it(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)
        return "woke"

    await blocked(world, flow, reach=world.create)
    await world.advance(HOUR)
    assert world.status() == "waiting"
    world.define(flow, version="v3")
    await world.idle()

    assert await world.output() == "woke"


async def test_an_event_for_a_blocked_instance_is_kept_for_its_return(world) -> None:
    async def flow(params, step):
        return await step.wait("w", "go")

    await blocked(world, flow, reach=world.create)
    await world.flow.send_event("one", {"type": "go", "payload": encode("kept")})
    await world.idle()
    world.define(flow, version="v3")
    await world.idle()

    assert await world.output() == "kept"


async def test_a_paused_instance_that_is_resumed_while_blocked_goes_on_later(world) -> None:
    async def flow(params, step):
        await step.sleep("z", 1000)
        return "woke"

    async def reach():
        await world.create()
        await world.flow.pause("one")

    await blocked(world, flow, reach=reach)
    await world.flow.resume("one")
    await world.idle()
    world.define(flow, version="v3")
    await world.advance(1000)

    assert await world.output() == "woke"


@pytest.mark.parametrize("command", ["pause", "terminate", "delete", "restart"])
async def test_commands_work_on_a_blocked_instance_and_slots_are_counted_right(world, command) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        await step.do("a", release.wait)
        await step.do("b", 1)

    await blocked(world, flow, reach=world.begin)
    release.set()
    await world.idle()
    await getattr(world.flow, command)("one")
    await world.idle()

    expected = {"pause": "paused", "terminate": "terminated", "delete": "gone", "restart": "queued"}
    assert world.status() == expected[command]
    assert world.engine._core.slots.total == 0


async def test_instances_created_while_blocked_are_queued(world) -> None:
    async def flow(params, step):
        return "ran"

    world.define(None)
    await world.start()
    await world.create()
    assert world.status() == "queued"
    world.define(flow, version="v2")
    await world.idle()

    assert await world.output() == "ran"


@pytest.mark.parametrize("where", ["running", "sleeping", "queued"])
async def test_a_process_that_starts_without_the_class_blocks_them_and_its_return_needs_no_restart(
    world, where
) -> None:
    async def flow(params, step):
        if where == "sleeping":
            await step.sleep("z", 1000)
        elif not params.get("second"):
            await step.do("a", lambda ctx: turns(0) if ctx.attempt > 1 else asyncio.Event().wait())
        return "done"

    await world.start(flow, concurrency_limit=1 if where == "queued" else None)
    await world.begin("one")
    if where == "queued":
        await world.begin("two", {"second": True})
    world._definitions["flow"] = (world._definitions["flow"][0], None, None)
    await world.restart()
    await world.advance(2000)
    assert world.status() in ("queued", "waiting")
    world.define(flow, version="v3")
    await world.idle()

    assert world.status() == "complete"


async def test_a_workflow_that_is_declared_only_after_the_start_takes_over_its_instances(world) -> None:
    async def flow(params, step):
        return await step.do("a", lambda ctx: ctx.attempt if ctx.attempt > 1 else asyncio.Event().wait())

    async def other(params, step):
        pass

    world.define(other, name="other")
    await world.start(flow)
    await world.begin()
    del world._definitions["flow"]
    await world.restart()
    world.define(flow)
    await world.idle()

    assert await world.output() == 2
    assert world.engine._core.slots.total == 0


async def test_waiting_for_pause_becomes_paused_without_the_class_too(world) -> None:
    async def flow(params, step):
        await step.do("a", asyncio.Event().wait)

    await world.start(flow)
    await world.begin()
    await world.flow.pause("one")
    world._definitions["flow"] = (world._definitions["flow"][0], None, None)
    await world.restart()

    assert world.status() == "paused"
    assert world.engine._core.slots.total == 0


async def test_a_class_that_throws_in_its_constructor_fails_the_instance_also_when_resumed(world) -> None:
    async def broken(params, step):
        raise RuntimeError("ctor")

    async def flow(params, step):
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.pause("one")
    world.define(broken, version="v2")
    await world.flow.resume("one")
    await world.advance(HOUR)

    assert await world.error() == ("Error", "RuntimeError: ctor")


async def test_an_instance_that_throws_leaves_the_others_untouched(world) -> None:
    async def flow(params, step):
        if params.get("bad"):
            raise RuntimeError("ctor")
        return await step.do("a", lambda: "fine")

    await world.start(flow)
    await world.create("bad", {"bad": True})
    await world.create("good")

    assert world.status("bad") == "errored"
    assert await world.output("good") == "fine"
