"""step.do: what a step is, what of it is stored, and what a later pass gets."""

from __future__ import annotations

import pytest

from stepwell.bindings.values import UNDEFINED_TEXT
from stepwell.emulator.storage.records import StepKind, StepState

pytestmark = pytest.mark.anyio


async def test_the_callbacks_value_is_the_steps_result(world) -> None:
    async def flow(params, step):
        return await step.do("a", lambda: {"n": 5})

    await world.start(flow)
    await world.create()

    assert await world.output() == {"n": 5}


async def test_a_plain_function_is_a_callback_too(world) -> None:
    async def flow(params, step):
        async def later():
            return 2

        return [await step.do("plain", lambda: 1), await step.do("async", later)]

    await world.start(flow)
    await world.create()

    assert await world.output() == [1, 2]


async def test_a_completed_step_is_not_run_again_in_a_later_pass(world) -> None:
    async def flow(params, step):
        world.note("run")
        first = await step.do("a", lambda: world.note("a") or 1)
        await step.sleep("nap", "1 hour")
        return first

    await world.start(flow)
    await world.create()
    await world.advance(3_600_000)

    assert world.journal == ["run", "a", "run"]
    assert await world.output() == 1


async def test_the_run_gets_a_copy_of_what_the_callback_returned(world) -> None:
    async def flow(params, step):
        kept = {"n": 1}
        result = await step.do("a", lambda: kept)
        kept["n"] = result["m"] = 2
        return [result["n"], await step.do("b", lambda: kept)]

    await world.start(flow)
    await world.create()

    assert await world.output() == [1, {"n": 2}]


async def test_undefined_is_a_result_that_is_stored(world) -> None:
    async def flow(params, step):
        await step.do("a", lambda: world.note("a") or UNDEFINED_TEXT)
        await step.sleep("nap", "1 hour")
        return await step.do("b", lambda: "end")

    await world.start(flow)
    await world.create()
    await world.advance(3_600_000)

    assert world.journal == ["a"]
    assert world.steps()["a-1"].output == UNDEFINED_TEXT


async def test_equal_names_are_counted(world) -> None:
    async def flow(params, step):
        return [await step.do("same", lambda ctx: [ctx.name, ctx.count]) for _ in range(2)]

    await world.start(flow)
    await world.create()

    assert await world.output() == [["same", 1], ["same", 2]]
    assert list(world.steps()) == ["same-1", "same-2"]


async def test_w18_each_type_of_step_counts_its_names_apart(world) -> None:
    async def flow(params, step):
        await step.do("x", 1)
        await step.sleep("x", 10)
        await step.wait("x", "go", "1 second")

    await world.start(flow)
    await world.create()
    await world.advance(10)
    await world.send("go")

    kinds = [(row.kind, row.name, row.count) for row in world.store.steps(world.key())]
    assert kinds == [(StepKind.DO, "x", 1), (StepKind.SLEEP, "x", 1), (StepKind.WAIT_FOR_EVENT, "x", 1)]


async def test_a_name_may_be_used_again_in_one_run(world) -> None:
    async def flow(params, step):
        return [await step.do("same", n) for n in range(3)]

    await world.start(flow)
    await world.create()

    assert await world.output() == [0, 1, 2]


async def test_steps_are_ordered_by_first_arrival(world) -> None:
    async def flow(params, step):
        for name in ("c", "a", "b"):
            await step.do(name, None)

    await world.start(flow)
    await world.create()

    assert [(row.seq, row.name) for row in world.store.steps(world.key())] == [(1, "c"), (2, "a"), (3, "b")]


async def test_the_history_of_a_step_says_started_and_completed(world) -> None:
    async def flow(params, step):
        await step.do("a", 1)

    await world.start(flow)
    await world.create()

    assert world.trace() == [
        "workflow_queued",
        "workflow_started",
        "step_started a-1",
        "attempt_started a-1 1",
        "attempt_completed a-1 1",
        "step_completed a-1",
        "workflow_completed",
    ]


async def test_event_ids_count_from_1_without_gaps(world) -> None:
    async def flow(params, step):
        await step.do("a", 1)
        await step.sleep("nap", "1 hour")
        await step.do("b", 1)

    await world.start(flow)
    await world.create()
    await world.advance(3_600_000)

    ids = [row.event_id for row in world.history()]
    assert ids == list(range(1, len(ids) + 1))


async def test_replays_log_nothing_of_completed_steps(world) -> None:
    async def flow(params, step):
        for n in range(3):
            await step.do("a", n)
            await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()
    for _ in range(3):
        await world.advance(3_600_000)

    assert world.trace().count("step_started a-1") == 1
    assert world.trace().count("step_completed a-1") == 1


@pytest.mark.parametrize("name", ["", "with blanks and / slashes", "ünïcödé", "🙂", "\x7f", "a" * 256, "🙂" * 128])
async def test_names_of_many_kinds_are_accepted(world, name) -> None:
    async def flow(params, step):
        return await step.do(name, 1)

    await world.start(flow)
    await world.create()

    assert await world.output() == 1


@pytest.mark.parametrize("method", ["do", "sleep", "wait"])
@pytest.mark.parametrize("name", ["a" * 257, "🙂" * 129, "line\nend", "nul\0", "tab\t", 7, None])
async def test_a_name_too_long_or_with_control_characters_is_refused(world, caught, method, name) -> None:
    async def flow(params, step):
        arguments = {"do": (1,), "sleep": (10,), "wait": ("go",)}[method]
        return await caught(getattr(step, method)(name, *arguments))

    await world.start(flow)
    await world.create()

    assert await world.output() == [
        "WorkflowFatalError",
        f'Step name "{name or "undefined"}" exceeds max length (256 chars) or invalid characters found',
    ]
    assert world.steps() == {}


@pytest.mark.parametrize("callback", [None, 42, "text"])
async def test_a_step_without_a_function_is_refused(world, caught, callback) -> None:
    async def flow(params, step):
        return await caught(step.port.do("a", None, callback))

    await world.start(flow)
    await world.create()

    assert await world.output() == ["WorkflowFatalError", 'Step "a" requires a callback function']


async def test_the_context_has_the_step_the_attempt_and_the_config(world) -> None:
    async def flow(params, step):
        return await step.do("a", lambda ctx: ctx.to_json())

    await world.start(flow)
    await world.create()

    assert await world.output() == {
        "step": {"name": "a", "count": 1},
        "attempt": 1,
        "config": {"retries": {"limit": 5, "delay": 10000, "backoff": "exponential"}, "timeout": "10 minutes"},
    }


async def test_a_step_is_stored_with_its_attempt_before_its_callback_runs(world) -> None:
    reader_saw = []

    async def flow(params, step):
        def look():
            step_row = world.steps()["a-1"]
            reader_saw.append((step_row.state, step_row.attempts, world.store.dirty))

        await step.do("a", look)

    await world.start(flow)
    await world.create()

    assert reader_saw == [(StepState.IN_FLIGHT, 1, False)]


async def test_a_result_is_committed_before_do_returns(world) -> None:
    async def flow(params, step):
        await step.do("a", 1)
        world.note(world.store.dirty)

    await world.start(flow)
    await world.create()

    assert world.journal == [False]


async def test_run_needs_no_step(world) -> None:
    async def flow(params, step):
        return "done"

    await world.start(flow)
    await world.create()

    assert await world.output() == "done"
    assert world.trace() == ["workflow_queued", "workflow_started", "workflow_completed"]


async def test_w19_an_error_outside_of_steps_errors_the_instance(world) -> None:
    async def flow(params, step):
        await step.do("a", 1)
        raise ValueError("outside")

    await world.start(flow)
    await world.create()

    assert await world.error() == ("Error", "ValueError: outside")


async def test_w20_several_steps_run_without_time_passing(world) -> None:
    async def flow(params, step):
        return [await step.do("a", n) for n in range(20)]

    await world.start(flow)
    await world.create()

    assert await world.output() == list(range(20))
    assert world.history()[-1].at == world.clock.START_AT


async def test_the_return_value_of_run_is_the_output(world) -> None:
    async def flow(params, step):
        return {"of": "run"}

    await world.start(flow)
    await world.create()

    assert await world.output() == {"of": "run"}


async def test_code_outside_of_steps_runs_again_in_each_pass_with_the_original_event(world) -> None:
    async def flow(params, step):
        world.note(dict(params))
        params["n"] = 99
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create(params={"n": 1})
    await world.advance(3_600_000)

    assert world.journal == [{"n": 1}, {"n": 1}]


async def test_half_of_a_surrogate_pair_in_a_name_is_replaced_as_in_utf_8(world) -> None:
    async def flow(params, step):
        return [await step.do("a\ud800", lambda: 1), await step.do("😀", lambda: 2)]

    await world.start(flow)
    await world.create()

    assert await world.output() == [1, 2]
    assert set(world.steps()) == {"a\ufffd-1", "😀-1"}
