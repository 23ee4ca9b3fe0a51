"""PATCH .../status, events, and deleting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepwell.bindings.errors import WorkerError

pytestmark = pytest.mark.anyio

INSTANCE_CODES = {
    "cannot_terminate": 10401,
    "cannot_resume": 10402,
    "cannot_restart": 10403,
    "not_sleeping": 10407,
    "not_waiting": 10408,
}


async def nap(payload: Any, step: Any) -> str:
    await step.do("before", lambda: None)
    await step.sleep("nap", "1 day")
    return "rested"


async def test_pause_answers_the_status_and_the_time(world: Any, api: Any) -> None:
    """In the envelope, with the field `status`."""
    await world.start(nap)
    await world.create()

    assert await api.patch("one", status="pause") == {"status": "paused", "timestamp": "2001-09-09T01:46:40.000Z"}


async def test_the_older_field_action_is_refused(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create()

    refused = await api.refused("PATCH", "/one/status", json={"action": "pause"})

    assert refused == (400, 10002, "workflows.api.error.body")
    assert world.status() == "waiting"


async def test_a_paused_instance_is_resumed(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create()
    await api.patch("one", status="pause")

    assert (await api.patch("one", status="resume"))["status"] == "waiting"


async def test_an_answer_does_not_wait_for_long_rollbacks_which_go_on(world: Any, api: Any) -> None:
    """Official clients ask again when a minute has brought no answer; that would end the rollbacks."""
    undoing, undone = asyncio.Event(), asyncio.Event()

    async def undo() -> None:
        undoing.set()
        await undone.wait()

    async def flow(payload: Any, step: Any) -> None:
        await step.do("a", lambda: 1, rollback=undo)
        await step.sleep("nap", "1 day")

    await world.start(flow)
    await world.create()
    api.parts.rollback_patience_s = 0.05

    answered = await api.patch("one", status="terminate", rollback=True)
    await undoing.wait()
    undone.set()
    await world.idle()

    assert answered["status"] == "rollingBack"
    assert (await api.get("/one"))["rollback"] == {"outcome": "complete", "error": None}
    assert world.status() == "terminated"


async def test_an_instance_is_terminated(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create()

    assert (await api.patch("one", status="terminate"))["status"] == "terminated"


async def test_terminate_with_rollback_runs_the_handlers(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.do("a", lambda: 1, rollback=lambda: world.note("undone"))
        await step.sleep("nap", "1 day")

    await world.start(flow)
    await world.create()

    await api.patch("one", status="terminate", rollback=True)

    assert world.journal == ["undone"]


async def test_a_restart_runs_from_the_top(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create()
    await api.patch("one", status="terminate")

    await api.patch("one", status="restart")
    await world.advance(86_400_000)

    assert await world.output() == "rested"


async def test_a_restart_from_a_step_keeps_those_before(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.do("a", lambda: world.note("a"))
        await step.do("b", lambda: world.note("b"))

    await world.start(flow)
    await world.create()

    await api.patch("one", status="restart", **{"from": {"name": "b", "count": 1, "type": "do"}})
    await world.idle()

    assert world.journal == ["a", "b", "b"]


async def test_skip_sleep_ends_the_sleep(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create()

    await api.patch("one", status="skipSleep")
    await world.idle()

    assert await world.output() == "rested"


async def test_skip_sleep_takes_the_name_of_one(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create()

    refused = await api.refused("PATCH", "/one/status", json={"status": "skipSleep", "name": "other"})

    assert refused == (400, 10407, "workflows.api.error.instance.not_sleeping")


async def test_time_out_ends_the_wait_of_that_name(world: Any, api: Any) -> None:
    async def flow(params: Any, step: Any) -> str:
        try:
            await step.wait("answer", "answer", "1 day")
        except WorkerError:
            return "gave up"
        return "answered"

    await world.start(flow)
    await world.create()

    await api.patch("one", status="timeOut", name="answer")
    await world.idle()

    assert await world.output() == "gave up"


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"status": "terminate"}, "cannot_terminate"),
        ({"status": "resume"}, "cannot_resume"),
        ({"status": "restart", "from": {"name": "nope"}}, "cannot_restart"),
        ({"status": "restart", "from": {"name": "before", "type": "nope"}}, "cannot_restart"),
        ({"status": "skipSleep"}, "not_sleeping"),
        ({"status": "timeOut"}, "not_waiting"),
    ],
)
async def test_what_a_finished_instance_refuses(world: Any, api: Any, body: object, key: str) -> None:
    await world.start(nap)
    await world.create()
    await world.flow.terminate("one")

    refused = await api.refused("PATCH", "/one/status", json=body)

    assert refused == (400, INSTANCE_CODES[key], f"workflows.api.error.instance.{key}")


async def test_pausing_a_finished_instance_changes_nothing(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create()
    await world.flow.terminate("one")

    assert (await api.patch("one", status="pause"))["status"] == "terminated"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"status": None},
        {"status": "sleep"},
        {"status": ["pause"]},
        {"status": "pause", "rollback": True},
        {"status": "terminate", "rollback": "yes"},
        {"status": "restart", "from": "before"},
        {"status": "restart", "from": {}},
        {"status": "restart", "from": {"name": 5}},
        {"status": "restart", "from": {"name": "before", "count": 0}},
        {"status": "restart", "from": {"name": "before", "count": True}},
        {"status": "restart", "from": {"name": "\ud83d"}},
        {"status": "skipSleep", "name": 5},
        [],
    ],
)
async def test_a_body_that_asks_for_nothing_known_changes_nothing(world: Any, api: Any, body: object) -> None:
    await world.start(nap)
    await world.create()

    refused = await api.refused("PATCH", "/one/status", json=body)

    assert refused[:2] == (400, 10002)
    assert world.status() == "waiting"


async def test_the_status_of_an_unknown_instance_is_not_found(world: Any, api: Any) -> None:
    await world.start(nap)

    assert (await api.refused("PATCH", "/nope/status", json={"status": "pause"}))[:2] == (404, 10400)


# -- events
async def waits(payload: Any, step: Any) -> Any:
    return await step.wait("approval", "approve")


async def test_an_event_arrives_with_its_payload(world: Any, api: Any) -> None:
    await world.start(waits)
    await world.create()

    sent = await api.post("/one/events/approve", {"by": "me"})
    await world.idle()

    assert sent == {"instanceId": "one", "timestamp": "2001-09-09T01:46:40.000Z"}
    assert await world.output() == {"by": "me"}


@pytest.mark.parametrize(
    ("body", "payload"), [(b"", None), (b"null", None), (b"3", 3), (b'"text"', "text"), (b"[1]", [1])]
)
async def test_the_body_is_the_payload_whatever_it_is(world: Any, api: Any, body: bytes, payload: object) -> None:
    await world.start(waits)
    await world.create()

    await api.send("POST", "/one/events/approve", content=body)
    await world.idle()

    assert await world.output() == payload


async def test_an_event_type_that_cannot_be_one_is_refused(world: Any, api: Any) -> None:
    await world.start(waits)
    await world.create()

    refused = await api.refused("POST", "/one/events/a.b", json={})

    assert refused == (400, 10202, "workflows.api.error.workflow.invalid_event_type")


async def test_a_payload_that_is_no_json_is_refused(world: Any, api: Any) -> None:
    await world.start(waits)
    await world.create()

    assert (await api.refused("POST", "/one/events/approve", content=b"{"))[:2] == (400, 10002)


async def test_an_event_for_an_unknown_instance_is_not_found(world: Any, api: Any) -> None:
    await world.start(waits)

    assert (await api.refused("POST", "/nope/events/approve", json={}))[:2] == (404, 10400)


# -- deleting
async def test_a_batch_deletes_by_position(world: Any, api: Any) -> None:
    """Repeats count as deleted, what is missing is an error."""
    await world.start(nap)
    await world.create("b1")

    outcome = await api.post("/batch/delete", {"instances": ["b1", "missing", "b1"]})

    assert outcome == {
        "deleted": [{"id": "b1"}, {"id": "b1"}],
        "errors": [
            {
                "id": "missing",
                "code": 10400,
                "message": "workflows.api.error.instance.not_found",
            }
        ],
    }


@pytest.mark.parametrize(
    ("instances", "code"), [([], 10002), (["a"] * 101, 10002), ("a", 10002), (None, 10002), (["a.b"], 10406)]
)
async def test_a_batch_of_another_form_deletes_nothing(world: Any, api: Any, instances: object, code: int) -> None:
    await world.start(nap)
    await world.create("a")

    refused = await api.refused("POST", "/batch/delete", json={"instances": instances})

    assert refused[:2] == (400, code)
    assert world.status("a") == "waiting"


async def test_one_instance_is_deleted_by_its_path(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create()

    await api.ok("DELETE", "/one")

    assert world.status() == "gone"


async def test_deleting_a_workflow_deletes_its_instances_and_keeps_it(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)
    for one in ("a", "b"):
        await world.create(one)

    assert await api.ok("DELETE", f"{rest}/flow") == {"status": "ok", "success": True}

    assert await api.get("") == []
    assert [row["name"] for row in await api.get(rest)] == ["flow"]
    await world.create("a")  # its id is free again


async def test_deleting_a_workflow_without_code_removes_it(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)
    world.store.put_workflow("other-id", "other", "Other", "worker", 0)

    await api.ok("DELETE", f"{rest}/other")

    assert [row["name"] for row in await api.get(rest)] == ["flow"]


async def test_terminate_all_ends_what_has_not_ended(world: Any, api: Any) -> None:
    await world.start(nap)
    for one in ("a", "b", "c"):
        await world.create(one)
    await world.flow.pause("b")
    await world.flow.terminate("c")

    assert await api.ok("PUT", "/terminate") == {"status": "ok"}

    assert [world.status(one) for one in "abc"] == ["terminated"] * 3


async def test_terminate_all_can_be_narrowed_to_a_status(world: Any, api: Any) -> None:
    await world.start(nap)
    for one in ("a", "b"):
        await world.create(one)
    await world.flow.pause("b")

    await api.ok("PUT", "/terminate", params={"status": "paused"})

    assert [world.status(one) for one in "ab"] == ["waiting", "terminated"]


async def test_terminate_all_takes_no_finite_status(world: Any, api: Any) -> None:
    await world.start(nap)

    assert (await api.refused("PUT", "/terminate", params={"status": "complete"}))[:2] == (400, 10003)


@pytest.mark.parametrize("column", ["output", "error"])
async def test_a_step_whose_stored_json_is_damaged_is_refused_with_its_name(
    api: Any, world: Any, column: str
) -> None:
    async def flow(params: Any, step: Any) -> None:
        await step.do("a", 1)

    await world.start(flow)
    await world.create("one")
    world.store._db.execute(f"UPDATE step SET {column} = '[1, '")

    answer = await api.send("GET", "/one")

    assert answer.status_code == 500
    assert "damaged" in answer.text
    assert 'step \\"a-1\\" of the instance \\"one\\"' in answer.text


async def test_an_instance_whose_stored_json_is_damaged_is_refused_with_its_id(api: Any, world: Any) -> None:
    async def flow(params: Any, step: Any) -> None:
        raise ValueError("no")

    await world.start(flow)
    await world.create("one")
    world.store._db.execute("UPDATE instance SET error = '[1, '")

    answer = await api.send("GET", "/one")

    assert answer.status_code == 500
    assert "damaged" in answer.text
    assert "flow/one" in answer.text
