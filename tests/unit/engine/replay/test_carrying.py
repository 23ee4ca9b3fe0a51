"""A new instance that begins with results of another: what was done there counts as done."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from stepwell.bindings.errors import WorkflowError
from stepwell.bindings.ports import StreamOutput
from stepwell.bindings.values import encode
from stepwell.emulator.engine.replay.carrying import Carried
from stepwell.emulator.storage.records import StepState

pytestmark = pytest.mark.anyio


async def carry(world, until, result=None, source="one"):
    given = None if result is None else encode(result)
    made = await world.flow.create_carrying({"id": "two"}, Carried(world.key(source), until, given))
    await world.idle()
    return made


def three_steps(world):
    async def flow(params, step):
        def note(name):
            def callback():
                world.note(name)
                return name

            return callback

        return [await step.do(name, note(name)) for name in ("a", "b", "c")]

    return flow


async def test_steps_up_to_the_chosen_one_do_not_run_again(world) -> None:
    await world.start(three_steps(world))
    await world.create()
    await carry(world, 2)

    assert world.journal == ["a", "b", "c", "c"]
    assert await world.output("two") == ["a", "b", "c"]


async def test_another_result_takes_the_place_of_the_last_one(world) -> None:
    await world.start(three_steps(world))
    await world.create()
    await carry(world, 2, {"other": True})

    assert await world.output("two") == ["a", {"other": True}, "c"]


async def test_an_error_is_carried_too_and_can_be_replaced_by_a_result(world) -> None:
    async def flow(params, step):
        def fail():
            raise ValueError("no")

        return await step.do("a", fail, {"retries": {"limit": 0, "delay": 0}})

    await world.start(flow)
    await world.create()
    await carry(world, 1)
    assert (await world.error("two"))[1] == "ValueError: no"

    await world.flow.delete("two")
    await carry(world, 1, "yes")
    assert await world.output("two") == "yes"


async def test_a_step_that_is_still_open_may_be_given_a_result(world) -> None:
    async def flow(params, step):
        return await step.wait("answer", "answer", "1 day")

    await world.start(flow)
    await world.create()
    with pytest.raises(WorkflowError, match="answer-1 has no result yet"):
        await carry(world, 1)
    await carry(world, 1, {"payload": 7, "type": "answer"})

    assert await world.output("two") == 7


async def test_a_sleep_is_carried_and_cannot_be_given_a_result(world) -> None:
    async def flow(params, step):
        await step.sleep("nap", 1)
        return await step.do("a", 1)

    await world.start(flow)
    await world.create()
    await world.advance(10)
    with pytest.raises(WorkflowError, match="nap-1 is a sleep"):
        await carry(world, 1, 5)
    await carry(world, 1)

    assert world.status("two") == "complete"


async def test_steps_inside_a_carried_step_come_with_it(world) -> None:
    async def flow(params, step):
        async def outer():
            return await step.do("inner", "first")

        await step.do("outer", outer)
        return await step.do("inner", "second")

    await world.start(flow)
    await world.create()
    await carry(world, 1)

    assert await world.output("two") == "second"
    assert [row.parent for row in world.steps("two").values()] == [None, 1, None]


async def test_what_had_not_ended_beside_it_runs_in_the_new_one(world) -> None:
    gate = asyncio.Event()

    async def flow(params, step):
        async def held():
            world.note("held")
            await gate.wait()

        await asyncio.gather(step.do("held", held), step.do("quick", 1))

    await world.start(flow)
    await world.begin()
    made = asyncio.create_task(world.flow.create_carrying({"id": "two"}, Carried(world.key(), 2)))
    await made
    gate.set()
    await world.idle()

    assert world.journal == ["held", "held"]
    assert [row.state for row in world.steps("two").values()] == [StepState.COMPLETED] * 2


async def test_a_stream_is_copied(world) -> None:
    async def flow(params, step):
        async def pieces():
            yield b"one "
            yield b"two"

        stream = await step.do("a", lambda: StreamOutput(pieces()))
        return b"".join([piece async for piece in stream.chunks]).decode()

    await world.start(flow)
    await world.create()
    await carry(world, 1)

    assert await world.output("two") == "one two"


async def test_a_carried_step_has_no_attempt_and_no_entry_of_its_own(world) -> None:
    await world.start(three_steps(world))
    await world.create()
    await carry(world, 3)

    assert {row.attempts for row in world.steps("two").values()} == {0}
    assert all(entry.step is None for entry in world.history("two"))


async def test_the_copy_survives_a_crash(world) -> None:
    await world.start(three_steps(world))
    await world.create()
    await world.flow.create_carrying({"id": "two"}, Carried(world.key(), 2))
    await world.restart()

    assert await world.output("two") == ["a", "b", "c"]
    assert world.journal == ["a", "b", "c", "c"]


async def test_a_used_id_is_refused(world) -> None:
    await world.start(three_steps(world))
    await world.create()

    with pytest.raises(WorkflowError, match="already exists"):
        await world.flow.create_carrying({"id": "one"}, Carried(world.key(), 1))


async def test_a_step_that_is_not_there_is_refused(world) -> None:
    await world.start(three_steps(world))
    await world.create()

    with pytest.raises(WorkflowError, match="no step number 9"):
        await carry(world, 9)


async def test_a_copy_may_be_paused_before_a_step(world) -> None:
    await world.start(three_steps(world))
    await world.create()
    await world.flow.create_carrying({"id": "two"}, Carried(world.key(), 3, before=True), paused=True)
    await world.idle()
    before = list(world.journal)
    await world.flow.resume("two")
    await world.idle()

    assert (before, world.journal) == (["a", "b", "c"], ["a", "b", "c", "c"])
    assert await world.output("two") == ["a", "b", "c"]


async def test_a_copy_paused_before_the_first_step_has_no_results(world) -> None:
    await world.start(three_steps(world))
    await world.create()
    await world.flow.create_carrying({"id": "two"}, Carried(world.key(), 1, before=True), paused=True)

    assert (world.status("two"), world.steps("two")) == ("paused", {})


async def test_a_paused_copy_stays_paused_over_a_restart(world) -> None:
    await world.start(three_steps(world))
    await world.create()
    await world.flow.create_carrying({"id": "two"}, Carried(world.key(), 2, before=True), paused=True)
    await world.restart()
    await world.idle()

    assert world.status("two") == "paused"
    await world.flow.resume("two")
    await world.idle()
    assert await world.output("two") == ["a", "b", "c"]


async def test_results_may_come_from_an_instance_that_is_not_stored(world) -> None:
    await world.start(three_steps(world))
    await world.create()
    rows = [replace(row, output=encode(f"imported {row.name}")) for row in world.steps().values()]
    await world.flow.create_carrying({"id": "two"}, Carried(rows, 2))
    await world.idle()

    assert await world.output("two") == ["imported a", "imported b", "c"]
