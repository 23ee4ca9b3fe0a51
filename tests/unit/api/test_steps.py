"""GET .../instances/I: the instance with its steps."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import jsonschema_rs
import pytest

from stepwell.bindings.errors import NonRetryableError
from stepwell.bindings.values import UNDEFINED_TEXT
from stepwell.emulator.api.descriptions import rest_description
from stepwell.emulator.api.steps_view import termination
from stepwell.emulator.clock import turns
from stepwell.emulator.storage.records import EventType, HistoryRow

pytestmark = pytest.mark.anyio

PREFIX = "/client/v4/accounts/{account_id}/workflows/{workflow_name}/instances"
START = "2001-09-09T01:46:40.000Z"
DEFAULT = {"retries": {"limit": 5, "delay": 10_000, "backoff": "exponential"}, "timeout": "10 minutes"}


async def test_a_finished_instance_with_a_step(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> Any:
        return await step.do("double", lambda: payload["n"] * 2)

    await world.start(flow)
    await world.create("one", {"n": 21})

    assert await api.get("/one") == {
        "status": "complete",
        "params": {"n": 21},
        "queued": START,
        "start": START,
        "end": START,
        "output": 42,
        "error": None,
        "success": True,
        "trigger": {"source": "binding"},
        "versionId": "flow-v1",
        "rollback": None,
        "step_count": 1,
        "steps": [
            {
                "name": "double-1",
                "type": "step",
                "start": START,
                "end": START,
                "success": True,
                "config": DEFAULT,
                "output": 42,
                "attempts": [{"start": START, "end": START, "success": True, "error": None}],
            }
        ],
    }


async def test_attempts_carry_their_errors_and_times(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> Any:
        def fail(context: Any) -> str:
            if context.attempt < 3:
                raise ValueError(f"attempt {context.attempt}")
            return "done"

        return await step.do("try", fail, {"retries": {"limit": 2, "delay": 1000, "backoff": "constant"}})

    await world.start(flow)
    await world.create()
    await world.advance(2_000)

    (step,) = (await api.get("/one"))["steps"]
    assert step["attempts"] == [
        {
            "start": START,
            "end": START,
            "success": False,
            "error": {"name": "ValueError", "message": "attempt 1"},
        },
        {
            "start": "2001-09-09T01:46:41.000Z",
            "end": "2001-09-09T01:46:41.000Z",
            "success": False,
            "error": {"name": "ValueError", "message": "attempt 2"},
        },
        {"start": "2001-09-09T01:46:42.000Z", "end": "2001-09-09T01:46:42.000Z", "success": True, "error": None},
    ]
    assert step["output"] == "done"


async def test_a_step_between_two_attempts_is_open(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        def fail() -> None:
            raise RuntimeError("not yet")

        await step.do("try", fail)

    await world.start(flow)
    await world.create()

    detail = await api.get("/one")
    (step,) = detail["steps"]
    assert (step["success"], step["end"]) == (None, None)
    assert [attempt["success"] for attempt in step["attempts"]] == [False]
    assert (detail["success"], detail["end"]) == (None, None)


async def test_an_instance_that_failed(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        def fail() -> None:
            raise NonRetryableError("no")

        await step.do("try", fail)

    await world.start(flow)
    await world.create()

    detail = await api.get("/one")
    assert detail["status"] == "errored"
    assert detail["success"] is False
    assert detail["error"] == {"name": "NonRetryableError", "message": "no"}
    assert detail["output"] is None
    (step,) = detail["steps"]
    assert step["success"] is False
    assert "output" not in step
    assert step["attempts"][0]["error"] == {"name": "NonRetryableError", "message": "no"}


async def test_a_sleep_shows_when_it_will_end(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.sleep("nap", "1 hour")

    await world.start(flow)
    await world.create()

    assert (await api.get("/one"))["steps"] == [
        {
            "name": "nap-1",
            "type": "sleep",
            "start": START,
            "end": "2001-09-09T02:46:40.000Z",
            "finished": False,
            "error": None,
        }
    ]


async def test_an_event_wait_shows_its_type_then_its_payload(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.wait("approval", "approve")

    await world.start(flow)
    await world.create()
    (open_one,) = (await api.get("/one"))["steps"]
    await world.send("approve", {"by": "me"})

    (ended,) = (await api.get("/one"))["steps"]
    assert (open_one["type"], open_one["event_type"], open_one["finished"]) == ("waitForEvent", "approve", False)
    assert "output" not in open_one
    assert (ended["finished"], ended["output"], ended["error"]) == (True, {"by": "me"}, None)


async def test_an_event_wait_that_timed_out_has_an_error(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.wait("approval", "approve", "1 minute")

    await world.start(flow)
    await world.create()
    await world.advance(60_000)

    detail = await api.get("/one")
    (step,) = detail["steps"]
    assert step["error"] == {"name": "WorkflowTimeoutError", "message": "Execution timed out after 60000ms"}
    assert detail["error"] == {
        "name": "Error",
        "message": "WorkflowTimeoutError: Execution timed out after 60000ms",
    }


async def test_a_step_that_returned_nothing_has_no_output(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.do("nothing", lambda: UNDEFINED_TEXT)
        await step.do("null", lambda: None)

    await world.start(flow)
    await world.create()

    nothing, null = (await api.get("/one"))["steps"]
    assert "output" not in nothing
    assert null["output"] is None


async def test_a_sensitive_output_is_never_shown(world: Any, api: Any, explorer: str, local: str) -> None:
    async def flow(payload: Any, step: Any) -> Any:
        secret = await step.do("secret", lambda: "hunter2", {"sensitive": "output"})
        return len(secret)

    await world.start(flow)
    await world.create()

    shown = [
        await api.send("GET", path)
        for path in (
            "/one",
            "/one/step?name=secret-1&type=step",
            f"{explorer}/flow/instances/one",
            f"{local}/workflows/flow/instances/one/history",
        )
    ]
    assert all("hunter2" not in answer.text for answer in shown)
    assert all("[REDACTED]" in answer.text for answer in shown)
    assert (await api.get("/one"))["output"] == 7


async def test_steps_come_in_the_order_asked_for(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        for name in ("a", "b", "a"):
            await step.do(name, lambda: None)

    await world.start(flow)
    await world.create()

    up = [step["name"] for step in (await api.get("/one", order="asc"))["steps"]]
    down = [step["name"] for step in (await api.get("/one", order="desc"))["steps"]]
    assert up == ["a-1", "b-1", "a-2"]
    assert down == up[::-1]


async def test_simple_leaves_the_steps_out_and_counts_them(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.do("a", lambda: None)
        await step.sleep("b", 0)

    await world.start(flow)
    await world.create()

    detail = await api.get("/one", simple="true")
    assert (detail["steps"], detail["step_count"]) == ([], 2)


async def test_rollbacks_follow_the_steps_in_the_order_they_ran(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.do("a", lambda: 1, rollback=lambda: None)
        await step.do("b", lambda: 2, rollback=lambda: None)
        raise NonRetryableError("stop")

    await world.start(flow)
    await world.create()

    detail = await api.get("/one")
    assert detail["rollback"] == {"outcome": "complete", "error": None}
    kinds = [(step["type"], step["name"]) for step in detail["steps"]]
    assert kinds == [("step", "a-1"), ("step", "b-1"), ("rollback", "b-1"), ("rollback", "a-1")]
    undone = detail["steps"][2]
    assert undone["success"] is True
    assert [attempt["success"] for attempt in undone["attempts"]] == [True]


async def test_a_rollback_that_failed_says_why(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        def undo() -> None:
            raise NonRetryableError("cannot undo")

        await step.do("a", lambda: 1, rollback=undo)
        raise NonRetryableError("stop")

    await world.start(flow)
    await world.create()

    detail = await api.get("/one")
    assert detail["rollback"]["outcome"] == "failed"
    assert detail["error"]["message"] == "stop"
    undone = detail["steps"][-1]
    assert undone["success"] is False
    # as workerd records it
    assert undone["attempts"][0]["error"] == {"name": "Error", "message": "NonRetryableError: cannot undo"}


async def _naps(payload: Any, step: Any) -> None:
    await step.do("work", lambda: None, rollback=lambda: None)
    await step.sleep("nap", "1 hour")


@pytest.mark.parametrize("rollback", [False, True])
async def test_a_terminated_instance_ends_with_its_termination(world: Any, api: Any, rollback: bool) -> None:
    await world.start(_naps)
    await world.create()
    await api.patch("one", status="terminate", rollback=rollback)

    detail = await api.get("/one")
    assert detail["success"] is False
    assert detail["steps"][-1] == {"type": "termination", "trigger": {"source": "api"}}


async def test_an_instance_that_user_code_terminates_says_so(world: Any, api: Any) -> None:
    await world.start(_naps)
    await world.create()
    await world.flow.terminate("one")

    assert (await api.get("/one"))["steps"][-1] == {"type": "termination", "trigger": {"source": "binding"}}


def test_a_termination_of_an_older_version_is_of_unknown_origin() -> None:
    entry = HistoryRow(3, EventType.WORKFLOW_TERMINATED, 0, None, None, None)

    assert termination([entry]) == {"type": "termination", "trigger": {"source": "unknown"}}


async def test_an_instance_made_by_a_schedule_says_which(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        return None

    await world.start(flow, schedules=("0 * * * *",))
    await world.advance(3_600_000)
    await turns(20)

    (row,) = await api.get("")
    detail = await api.get(f"/{quote(row['id'], safe='')}")
    assert row["trigger_source"] == "cron"
    assert detail["schedule"] == {"cron": "0 * * * *", "scheduledTime": 1_000_000_800_000}


async def test_an_id_with_slashes_is_one_part_of_the_path(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        return None

    await world.start(flow, schedules=("*/5 * * * *",))
    await world.advance(300_000)
    await turns(20)
    (row,) = await api.get("")

    detail = await api.get(f"/{quote(row['id'], safe='')}")
    assert "/" in row["id"]
    assert detail["status"] == "complete"


async def test_a_long_output_is_cut_in_the_list_of_steps(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.do("long", lambda: "x" * 900_000)

    await world.start(flow)
    await world.create()

    (step,) = (await api.get("/one"))["steps"]
    assert step["output"].startswith('"xxx')
    assert step["output"].endswith("[truncated output]")
    assert len(step["output"]) < 2_000


async def test_the_output_of_the_instance_is_whole(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> Any:
        return "x" * 900_000

    await world.start(flow)
    await world.create()

    assert (await api.get("/one"))["output"] == "x" * 900_000


async def test_an_unknown_instance_is_not_found(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        return None

    await world.start(flow)

    assert await api.refused("GET", "/nope") == (404, 10400, "workflows.api.error.instance.not_found")


async def test_a_step_without_backoff_is_as_the_description_says(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> Any:
        return await step.do("try", lambda: 1, {"retries": {"limit": 2, "delay": 1000, "backoff": None}})

    await world.start(flow)
    await world.create("one")

    answer = {"success": True, "errors": [], "messages": [], "result": await api.get("/one")}
    described = rest_description()
    operation = described["paths"][f"{PREFIX}/{{instance_id}}"]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema_rs.validator_for({**schema, "components": described["components"]}).validate(answer)
