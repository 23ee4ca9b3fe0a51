"""delete: an instance and everything it owns are gone."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.ports import StreamOutput
from stepwell.emulator.clock import turns

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


def rows_of_everything(world):
    counts = {}
    for table in ("instance", "step", "history", "event", "chunk", "log"):
        counts[table] = world.store._db.execute(f"SELECT count(*) FROM {table}").get
    return counts


async def test_everything_an_instance_owns_is_removed(world) -> None:
    async def flow(params, step):
        async def chunks():
            yield b"data"

        await step.do("s", lambda: StreamOutput(chunks()))
        await step.wait("w", "go")

    await world.start(flow)
    await world.create()
    await world.send("go")
    await world.send("spare")
    await world.flow.delete("one")

    assert set(rows_of_everything(world).values()) == {0}


async def test_afterwards_it_is_unknown_and_its_id_free(world, caught) -> None:
    async def flow(params, step):
        world.note("run")

    await world.start(flow)
    await world.create()
    await world.flow.delete("one")
    assert await caught(world.flow.get("one")) == ["Error", "instance.not_found"]
    await world.create()

    assert world.journal == ["run", "run"]


async def test_deleting_twice_is_not_found(world, caught) -> None:
    async def flow(params, step):
        pass

    await world.start(flow)
    await world.create()
    await world.flow.delete("one")

    assert await caught(world.flow.delete("one")) == ["Error", "instance.not_found"]


@pytest.mark.parametrize("where", ["running", "waiting", "paused", "waitingForPause", "queued", "rollingBack"])
async def test_it_works_in_any_status_and_frees_the_slot(world, where) -> None:
    async def flow(params, step):
        if where in ("running", "waitingForPause", "queued"):
            await step.do("a", asyncio.Event().wait)
        if where == "rollingBack":
            await step.do("a", 1, rollback=asyncio.Event().wait)
            raise ValueError
        await step.sleep("z", HOUR)

    await world.start(flow, concurrency_limit=1)
    if where == "queued":
        await world.begin("first")
    await world.begin()
    if where in ("paused", "waitingForPause"):
        await world.flow.pause("one")
    assert world.status() == where
    await world.flow.delete("one")
    if where == "queued":
        await world.flow.delete("first")
    await turns(20)

    assert world.status() == "gone"
    assert set(rows_of_everything(world).values()) == {0}
    assert world.engine._core.slots.total == 0
    assert world.engine._passes.queue.admission.queued_in_all == 0


async def test_no_rollback_runs(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, rollback=lambda: world.note("never"))
        await step.sleep("z", HOUR)

    await world.start(flow)
    await world.create()
    await world.flow.delete("one")

    assert world.journal == []


async def test_a_step_in_flight_is_stopped_and_leaves_nothing(world) -> None:
    release = asyncio.Event()

    async def stubborn():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await release.wait()
        return "late"

    async def flow(params, step):
        await step.do("a", stubborn)

    await world.start(flow)
    await world.begin()
    await world.flow.delete("one")
    await turns(5)
    release.set()
    await turns(10)

    assert set(rows_of_everything(world).values()) == {0}


async def test_deleting_itself_ends_the_code_at_the_call(world) -> None:
    async def flow(params, step):
        world.note("before")
        await world.flow.delete("one")
        world.note("after")

    await world.start(flow)
    await world.create()

    assert world.status() == "gone"
    assert world.journal == ["before"]
    assert set(rows_of_everything(world).values()) == {0}


async def test_deleting_itself_inside_a_callback_ends_the_code_at_the_call(world) -> None:
    async def flow(params, step):
        async def callback():
            await world.flow.delete("one")
            world.note("after")

        await step.do("a", callback)
        world.note("after the step")

    await world.start(flow)
    await world.create()
    await turns(10)

    assert world.status() == "gone"
    assert world.journal == []
    assert set(rows_of_everything(world).values()) == {0}


async def test_deleted_and_created_again_in_one_moment(world) -> None:
    async def flow(params, step):
        world.note(params["n"])
        await step.do("a", asyncio.Event().wait)

    await world.start(flow)
    await world.begin("one", {"n": 1})
    await world.flow.delete("one")
    await world.begin("one", {"n": 2})

    assert world.journal == [1, 2]
    assert world.status() == "running"
    assert world.trace() == ["workflow_queued", "workflow_started", "step_started a-1", "attempt_started a-1 1"]


async def test_deleted_in_the_moment_of_its_creation_it_never_runs(world) -> None:
    async def flow(params, step):
        world.note("ran")

    async def busy(params, step):
        await step.do("a", asyncio.Event().wait)

    world.define(busy, name="busy")
    await world.start(flow)
    for n in range(2):
        await world.engine.workflow("busy").create({"id": f"b{n}"})
    await turns(10)

    creating = asyncio.ensure_future(world.flow.create({"id": "one"}))
    await asyncio.sleep(0)
    await world.flow.delete("one")
    await creating
    await turns(20)

    assert world.status() == "gone"
    assert world.journal == []


# -- deleteBatch


async def test_delete_batch_deletes_and_reports_by_position(world) -> None:
    async def flow(params, step):
        pass

    await world.start(flow)
    await world.create("a")
    await world.create("b")
    answer = await world.flow.delete_batch(["a", "nobody", "b"])

    assert answer == {
        "deleted": [{"id": "a"}, {"id": "b"}],
        "errors": [{"id": "nobody", "code": 10400, "message": "workflows.api.error.instance.not_found"}],
    }
    assert world.status("a") == "gone"


async def test_repeated_ids_are_deleted_once_and_reported_at_every_position(world) -> None:
    async def flow(params, step):
        pass

    await world.start(flow)
    await world.create("a")

    assert await world.flow.delete_batch(["a", "a"]) == {"deleted": [{"id": "a"}, {"id": "a"}], "errors": []}


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("a", "(body) Provided argument is invalid"),
        (None, "(body) Provided argument is invalid"),
        ([], "(body) batchDeleteInstances should have at least 1 instance"),
        (["x"] * 101, "(body) batchDeleteInstances only supports 100 instances at a time"),
        (["a", "what?"], "(instance.invalid_id) Instance ID is invalid"),
        (["a", "x" * 272], "(instance.invalid_id) Instance ID is invalid"),
        (["a", 5], "(instance.invalid_id) Instance ID is invalid"),
    ],
)
async def test_a_bad_batch_is_refused_before_anything_is_deleted(world, caught, ids, message) -> None:
    async def flow(params, step):
        pass

    await world.start(flow)
    await world.create("a")

    assert await caught(world.flow.delete_batch(ids)) == ["WorkflowError", message]
    assert world.status("a") == "complete"


async def test_ids_of_the_form_of_a_schedule_may_be_deleted(world) -> None:
    async def flow(params, step):
        pass

    await world.start(flow)
    answer = await world.flow.delete_batch(["*/5 * * * *-1700000000000", "x" * 271])

    assert [error["code"] for error in answer["errors"]] == [10400, 10400]
