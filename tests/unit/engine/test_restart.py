"""restart: the whole instance, or from a step."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.values import encode
from stepwell.emulator.clock import turns
from stepwell.emulator.storage.records import EventType

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


def noting(world, name, value=None):
    return lambda: world.note(name) or value


async def three_steps(world, step):
    return [await step.do(name, noting(world, name, name)) for name in "abc"]


async def test_a_restart_runs_everything_again(world) -> None:
    async def flow(params, step):
        return await three_steps(world, step)

    await world.start(flow)
    await world.create()
    await world.flow.restart("one")
    await world.idle()

    assert world.journal == list("abcabc")
    assert await world.output() == list("abc")
    assert [row.attempts for row in world.steps().values()] == [1, 1, 1]


async def test_the_log_starts_anew_and_event_ids_go_on(world) -> None:
    async def flow(params, step):
        await step.do("a", 1)

    await world.start(flow)
    await world.create()
    last = world.history()[-1].event_id
    await world.flow.restart("one")
    await world.idle()

    assert world.trace() == [
        "workflow_queued",
        "workflow_started",
        "step_started a-1",
        "attempt_started a-1 1",
        "attempt_completed a-1 1",
        "step_completed a-1",
        "workflow_completed",
    ]
    assert [row.event_id for row in world.history()] == list(range(last + 1, 2 * last + 1))


async def test_w10_params_and_creation_time_stay_the_first_ones(world) -> None:
    async def flow(event, step):
        world.note((str(event.payload), event.timestamp_at, event.instance_id))

    await world.start(flow)
    await world.create(params={"n": 1})
    await world.advance(5000)
    await world.flow.restart("one")
    await world.idle()

    assert world.journal == [('{"n":1}', world.clock.START_AT, "one")] * 2


async def test_a_restarted_instance_has_neither_output_nor_error(world) -> None:
    async def flow(params, step):
        world.note("run")
        if len(world.journal) > 1:
            await step.sleep("z", HOUR)
        raise ValueError("first")

    await world.start(flow)
    await world.create()
    assert world.status() == "errored"
    await world.flow.restart("one")
    await world.idle()

    status = await world.flow.status("one")
    assert (status.status, status.output, status.error) == ("waiting", None, None)


async def test_events_that_were_not_taken_are_dropped(world) -> None:
    async def flow(params, step):
        return await step.wait("w", "go")

    await world.start(flow)
    await world.create()
    await world.send("other", 1)
    await world.flow.restart("one")
    await world.idle()

    assert world.store.events(world.key()) == []


@pytest.mark.parametrize("where", ["sleeping", "in a step", "in a retry", "paused", "waiting for pause", "queued"])
async def test_it_works_from_any_unfinished_status(world, where) -> None:
    async def flow(params, step):
        world.note("run")
        if len(world.journal) > 1 or params.get("busy"):
            if params.get("busy"):
                await step.do("busy", asyncio.Event().wait)
            return "second"
        if where in ("sleeping", "paused"):
            await step.sleep("z", HOUR)
        if where in ("in a step", "waiting for pause"):
            await step.do("a", asyncio.Event().wait)
        if where == "in a retry":
            await step.do("a", _raise)
        return None

    await world.start(flow, concurrency_limit=1)
    if where == "queued":
        await world.begin("busy", {"busy": True})
        world.journal.clear()
        await world.flow.create({"id": "one"})
        world.note("counted")
    else:
        await world.begin()
    if where in ("paused", "waiting for pause"):
        await world.flow.pause("one")
    await world.flow.restart("one")
    if where == "queued":
        await world.flow.terminate("busy")
    await world.idle()

    assert await world.output() == "second"
    assert world.engine._core.slots.total == 0


def _raise():
    raise RuntimeError("no")


async def test_the_old_pass_is_stopped_and_records_nothing_more(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        world.note("run")
        if len(world.journal) == 1:
            await step.do("a", release.wait)
            world.note("never")
        return await step.do("a", lambda: "second")

    await world.start(flow)
    await world.begin()
    await world.flow.restart("one")
    release.set()
    await world.idle()

    assert await world.output() == "second"
    assert world.journal == ["run", "run"]


async def test_a_restart_while_rolling_back_stops_the_handlers(world) -> None:
    release = asyncio.Event()

    async def flow(params, step):
        world.note("run")
        if len(world.journal) > 1:
            return "second"
        await step.do("a", 1, rollback=lambda: world.note("never"))
        await step.do("b", 2, rollback=release.wait)
        await step.sleep("z", 1000)
        return None

    await world.start(flow)
    await world.create()
    first = asyncio.ensure_future(world.flow.terminate("one", {"rollback": True}))
    await turns(20)
    await world.flow.restart("one")
    release.set()
    await world.idle()
    await first

    assert await world.output() == "second"
    assert world.journal == ["run", "run"]


async def test_restarting_itself_ends_the_code_at_the_call(world) -> None:
    async def flow(params, step):
        world.note("run")
        if len(world.journal) == 1:
            await world.flow.restart("one")
            world.note("never")
        return "second"

    await world.start(flow)
    await world.create()

    assert await world.output() == "second"
    assert world.journal == ["run", "run"]


async def test_a_restart_goes_through_the_queue_like_a_new_instance(world) -> None:
    async def flow(params, step):
        if params.get("busy"):
            await step.do("busy", asyncio.Event().wait)

    await world.start(flow, concurrency_limit=1)
    await world.create()
    await world.begin("busy", {"busy": True})
    await world.flow.restart("one")

    assert world.status() == "queued"


async def test_restart_of_an_unknown_instance_is_not_found(world, caught) -> None:
    async def flow(params, step):
        pass

    await world.start(flow)

    assert await caught(world.flow.restart("nobody")) == ["Error", "instance.not_found"]


# -- from a step


async def test_from_a_step_those_before_it_keep_their_results(world) -> None:
    async def flow(params, step):
        return await three_steps(world, step)

    await world.start(flow)
    await world.create()
    await world.flow.restart("one", {"from": {"name": "b"}})
    await world.idle()

    assert world.journal == list("abcbc")
    assert await world.output() == list("abc")


async def test_the_log_keeps_the_start_and_the_kept_steps(world) -> None:
    async def flow(params, step):
        return await three_steps(world, step)

    await world.start(flow)
    await world.create()
    before = world.history()
    await world.flow.restart("one", {"from": {"name": "b"}})
    await world.idle()

    kept = [row for row in world.history() if row.event_id <= before[-1].event_id]
    assert [row.type for row in kept] == [
        "workflow_queued",
        "workflow_started",
        "step_started",
        "attempt_started",
        "attempt_completed",
        "step_completed",
    ]
    assert world.trace(moods=True) == [
        "workflow_queued",
        "workflow_started",
        "step_started a-1",
        "attempt_started a-1 1",
        "attempt_completed a-1 1",
        "step_completed a-1",
        "workflow_running",
        "step_started b-1",
        "attempt_started b-1 1",
        "attempt_completed b-1 1",
        "step_completed b-1",
        "step_started c-1",
        "attempt_started c-1 1",
        "attempt_completed c-1 1",
        "step_completed c-1",
        "workflow_completed",
    ]


async def test_from_a_count_of_a_name(world) -> None:
    async def flow(params, step):
        return [await step.do("same", noting(world, n, n)) for n in range(3)]

    await world.start(flow)
    await world.create()
    await world.flow.restart("one", {"from": {"name": "same", "count": 3}})
    await world.idle()

    assert world.journal == [0, 1, 2, 2]


@pytest.mark.parametrize(("kind", "again"), [("do", ["a", "c"]), ("sleep", ["c"]), ("waitForEvent", ["c"])])
async def test_from_a_step_of_a_type_that_shares_its_name(world, kind, again) -> None:
    async def flow(params, step):
        await step.do("x", noting(world, "a"))
        await step.sleep("x", 10)
        await step.wait("x", "go")
        await step.do("c", noting(world, "c"))

    await world.start(flow)
    await world.create()
    await world.advance(10)
    await world.send("go")
    world.journal.clear()
    await world.flow.restart("one", {"from": {"name": "x", "type": kind}})
    await world.advance(10)
    await world.send("go")

    assert world.journal == again


async def test_from_a_step_the_later_parallel_ones_are_wiped_too(world) -> None:
    async def flow(params, step):
        await asyncio.gather(*(step.do(name, noting(world, name)) for name in "abc"))

    await world.start(flow)
    await world.create()
    await world.flow.restart("one", {"from": {"name": "b"}})
    await world.idle()

    assert sorted(world.journal) == sorted("abcbc")


async def test_from_the_step_that_failed(world) -> None:
    async def flow(params, step):
        await step.do("a", noting(world, "a"))

        def fail_once():
            world.note("b")
            if world.journal.count("b") == 1:
                raise RuntimeError("no")

        await step.do("b", fail_once, {"retries": {"limit": 0, "delay": 1}})
        return "ok"

    await world.start(flow)
    await world.create()
    await world.flow.restart("one", {"from": {"name": "b"}})
    await world.idle()

    assert await world.output() == "ok"
    assert world.journal == ["a", "b", "b"]


async def test_an_event_taken_by_a_kept_wait_stays_taken(world) -> None:
    async def flow(params, step):
        first = await step.wait("w", "go")
        return [first, await step.do("a", noting(world, "a", 1))]

    await world.start(flow)
    await world.create()
    await world.send("go", "kept")
    await world.send("go", "spare")
    await world.flow.restart("one", {"from": {"name": "a"}})
    await world.idle()

    assert await world.output() == ["kept", 1]
    assert [event.payload for event in world.store.events(world.key())] == [encode("kept")]


@pytest.mark.parametrize(
    "origin",
    [
        {"name": "nothing"},
        {"name": "a", "count": 2},
        {"name": "a", "count": 0},
        {"name": "a", "type": "sleep"},
        {"name": "a", "type": "nonsense"},
        {"name": "a", "count": "1"},
        {"name": "a", "count": True},
        {"name": "a", "count": 1.5},
        {"name": "a-1"},
        {"name": 5},
        {"name": None},
        {},
        "a",
        5,
        [],
    ],
)
async def test_an_unknown_step_is_refused_and_nothing_changes(world, caught, origin) -> None:
    async def flow(params, step):
        await step.do("a", 1)

    await world.start(flow)
    await world.create()
    before = world.history()
    name, message = await caught(world.flow.restart("one", {"from": origin}))

    assert name == "WorkflowError"
    wanted = origin.get("name") if isinstance(origin, dict) else None
    shown = "undefined" if wanted is None else wanted
    assert message == f'(instance.cannot_restart) Step "{shown}" not found in execution history'
    assert world.status() == "complete"
    assert world.history() == before


@pytest.mark.parametrize("origin", [{"name": "a", "count": None, "type": None}, None, False, ""])
async def test_count_and_type_may_be_null_and_no_origin_means_from_the_top(world, origin) -> None:
    async def flow(params, step):
        await step.do("a", noting(world, "a"))

    await world.start(flow)
    await world.create()
    await world.idle()
    await world.flow.restart("one", {"from": origin})
    await world.idle()

    assert world.journal == ["a", "a"]


async def test_from_a_step_while_the_instance_runs(world) -> None:
    async def flow(params, step):
        await step.do("a", noting(world, "a"))
        await step.do("b", noting(world, "b"))
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.restart("one", {"from": {"name": "b"}})
    await world.idle()

    assert world.journal == ["a", "b", "b"]
    assert world.status() == "waiting"


async def test_rollbacks_of_kept_steps_run_too(world) -> None:
    async def flow(params, step):
        for name in "ab":
            await step.do(name, noting(world, name), rollback=noting(world, f"undo {name}"))
        raise ValueError("undo")

    await world.start(flow)
    await world.create()
    world.journal.clear()
    await world.flow.restart("one", {"from": {"name": "b"}})
    await world.idle()

    assert world.journal == ["b", "undo b", "undo a"]


async def test_twice_from_a_step_and_then_whole(world) -> None:
    async def flow(params, step):
        return await three_steps(world, step)

    await world.start(flow)
    await world.create()
    for origin in ({"from": {"name": "c"}}, {"from": {"name": "b"}}, None):
        await world.flow.restart("one", origin)
        await world.idle()

    assert world.journal == list("abc") + list("c") + list("bc") + list("abc")
    ids = [row.event_id for row in world.history()]
    assert ids == sorted(set(ids))


async def test_a_crash_right_after_a_restart_leaves_it_restarted(world) -> None:
    async def flow(params, step):
        return await three_steps(world, step)

    await world.start(flow)
    await world.create()
    await world.flow.restart("one", {"from": {"name": "b"}})
    await world.restart()

    assert await world.output() == list("abc")
    assert world.trace()[-1] == EventType.WORKFLOW_COMPLETED


async def test_a_restart_from_a_step_knows_which_results_it_kept(world) -> None:
    await world.start(lambda params, step: three_steps(world, step))
    await world.create()
    await world.idle()
    before = world.store.instance(world.key("one"))
    await world.flow.restart("one", {"from": {"name": "b"}})
    world.clock.move_to(world.clock.now() + 1)
    await world.idle()

    row = world.store.instance(world.key("one"))
    assert before.restarted_at is None
    assert [row.kept(step) for step in world.steps().values()] == [True, False, False]


async def test_a_restart_from_the_top_keeps_nothing(world) -> None:
    await world.start(lambda params, step: three_steps(world, step))
    await world.create()
    await world.idle()
    await world.flow.restart("one", {"from": {"name": "c"}})
    await world.idle()
    await world.flow.restart("one")
    await world.idle()

    assert world.store.instance(world.key("one")).restarted_at is None
