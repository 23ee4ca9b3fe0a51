"""The local explorer's API: its own shapes, codes and statuses."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.anyio

START = "2001-09-09T01:46:40.000Z"


async def flow(payload: Any, step: Any) -> Any:
    await step.do("double", lambda: {"n": 2})
    await step.sleep("nap", "1 day")
    await step.wait("approval", "approve")
    return payload


async def refused(api: Any, method: str, path: str, **options: Any) -> tuple[int, int, str]:
    found: tuple[int, int, str] = await api.refused(method, path, **options)
    return found


async def test_workflows_are_listed_by_three_names(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)

    answer = (await api.send("GET", explorer)).json()

    assert answer["result"] == [{"name": "flow", "class_name": "Flow", "script_name": "worker"}]
    assert answer["result_info"] == {"count": 1}


async def test_a_workflow_counts_its_instances_by_status(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    await world.create()

    found = await api.get(f"{explorer}/flow")

    assert found["name"] == "flow"
    assert found["instances"]["waiting"] == 1
    assert found["instances"]["unknown"] == 0


async def test_instances_are_listed_with_their_counts(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    await world.create()

    answer = (await api.send("GET", f"{explorer}/flow/instances", params={"page": 1, "per_page": 10})).json()

    info = answer["result_info"]
    assert answer["result"] == [{"id": "one", "status": "waiting", "created_on": START}]
    assert (info["page"], info["per_page"], info["total_count"], info["total_pages"]) == (1, 10, 1, 1)
    assert info["status_counts"]["waiting"] == 1


async def test_an_empty_list_has_one_page(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)

    answer = (await api.send("GET", f"{explorer}/flow/instances")).json()

    assert (answer["result"], answer["result_info"]["total_pages"]) == ([], 1)


async def test_an_instance_is_created_with_params_as_they_are(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)

    created = await api.post(f"{explorer}/flow/instances", {"id": "one", "params": '{"a":1}'})

    assert created == {"id": "one"}
    assert (await api.get(f"{explorer}/flow/instances/one"))["params"] == '{"a":1}'


async def test_an_instance_shows_its_steps_in_the_explorers_shape(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    await world.create("one", {"a": 1})

    found = await api.get(f"{explorer}/flow/instances/one")

    assert sorted(found) == [
        "end",
        "error",
        "output",
        "params",
        "queued",
        "start",
        "status",
        "step_count",
        "steps",
    ]
    done, nap = found["steps"]
    assert done["output"] == {"n": 2}
    assert nap == {
        "name": "nap-1",
        "type": "sleep",
        "start": START,
        "end": None,
        "finished": False,
        "error": None,
    }


async def test_a_wait_shows_the_whole_event(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    await world.create()
    await world.advance(86_400_000)
    before = (await api.get(f"{explorer}/flow/instances/one"))["steps"][2]
    await api.post(f"{explorer}/flow/instances/one/events/approve", {"by": "me"})
    await world.idle()

    after = (await api.get(f"{explorer}/flow/instances/one"))["steps"][2]
    assert before["output"] is None
    assert after["output"] == {
        "type": "approve",
        "payload": {"by": "me"},
        "timestamp": "2001-09-10T01:46:40.000Z",
    }


async def test_an_event_is_acknowledged(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    await world.create()

    assert await api.post(f"{explorer}/flow/instances/one/events/approve", {}) == {"success": True}


async def test_the_status_is_changed_as_in_the_rest_api(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    await world.create()

    changed = await api.ok("PATCH", f"{explorer}/flow/instances/one/status", json={"status": "pause"})

    assert changed == {"status": "paused", "timestamp": START}


async def test_resuming_what_is_not_paused_changes_nothing(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    await world.create()
    await world.flow.terminate("one")

    changed = await api.ok("PATCH", f"{explorer}/flow/instances/one/status", json={"status": "resume"})

    assert changed["status"] == "terminated"


async def test_deleting_answers_as_the_explorer(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    for one in ("a", "b", "c"):
        await world.create(one)

    deleted = await api.ok("DELETE", f"{explorer}/flow/instances/a")
    batch = await api.post(f"{explorer}/flow/instances/batch/delete", {"instances": ["b", "x"]})
    every = await api.ok("DELETE", f"{explorer}/flow")

    assert deleted == {"success": True}
    assert batch["deleted"] == [{"id": "b"}]
    assert [(error["id"], error["code"]) for error in batch["errors"]] == [("x", 10400)]
    assert every == {"status": "ok", "success": True}
    assert await api.get(f"{explorer}/flow/instances") == []


async def test_what_is_not_there_has_the_explorers_code(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)

    workflow = await refused(api, "GET", f"{explorer}/nope")
    instance = await refused(api, "GET", f"{explorer}/flow/instances/nope")

    assert workflow == (404, 10501, "Workflow 'nope' not found.")
    assert instance == (404, 10501, "Workflow instance 'nope' not found.")


async def test_dates_the_wrong_way_round_have_a_code_of_their_own(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    query = {"date_start": "2026-01-02T00:00:00Z", "date_end": "2026-01-01T00:00:00Z"}

    status, code, message = await refused(api, "GET", f"{explorer}/flow/instances", params=query)

    assert (status, code) == (400, 10502)
    assert message.startswith("'date_start' must not be after 'date_end'.")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"per_page": "0"}, "per_page: Too small: expected number to be >=1"),
        ({"per_page": "101"}, "per_page: Too big: expected number to be <=100"),
        ({"page": "0"}, "page: Too small: expected number to be >=1"),
    ],
)
async def test_a_bad_query_is_told_with_its_field(
    world: Any, api: Any, explorer: str, query: dict[str, str], message: str
) -> None:
    await world.start(flow)

    assert await refused(api, "GET", f"{explorer}/flow/instances", params=query) == (400, 10001, message)


async def test_a_bad_status_names_those_that_are(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)

    _, _, message = await refused(api, "GET", f"{explorer}/flow/instances", params={"status": "x"})

    assert message.startswith('status: Invalid option: expected one of "queued"|"running"|')


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ({"status": "sleep"}, (400, 10001, "Invalid input")),
        ({"status": "pause", "rollback": True}, (400, 10001, "'rollback' is only valid when terminating.")),
        (
            {"status": "restart", "from": {"name": "nope"}},
            (
                409,
                10001,
                'WorkflowError: (instance.cannot_restart) Step "nope" not found in execution history',
            ),
        ),
    ],
)
async def test_a_status_change_that_cannot_be(
    world: Any, api: Any, explorer: str, body: object, answer: tuple[int, int, str]
) -> None:
    await world.start(flow)
    await world.create()

    assert await refused(api, "PATCH", f"{explorer}/flow/instances/one/status", json=body) == answer


@pytest.mark.parametrize("name", ["id", "instance_id"])
async def test_the_id_of_a_new_instance_has_either_name(world: Any, api: Any, explorer: str, name: str) -> None:
    await world.start(flow)

    answer = await api.send("POST", f"{explorer}/flow/instances", json={name: "mine"})

    assert answer.json()["result"] == {"id": "mine"}


async def test_what_the_binding_refuses_is_told_in_its_words(world: Any, api: Any, explorer: str) -> None:
    await world.start(flow)
    await world.create()
    instances = f"{explorer}/flow/instances"
    used = await refused(api, "POST", instances, json={"id": "one"})
    invalid = await refused(api, "POST", instances, json={"id": "a b"})
    await world.flow.terminate("one")

    ended = await refused(api, "PATCH", f"{instances}/one/status", json={"status": "terminate"})

    text = 'WorkflowError: (instance.already_exists) Workflow instance with id "one" already exists'
    assert used == (409, 10001, text)
    assert invalid == (400, 10001, "WorkflowError: Workflow instance has invalid id")
    assert ended[:2] == (409, 10001)
    assert ended[2].startswith("WorkflowError: (instance.cannot_terminate)")


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ([], "instances: Too small: expected array to have >=1 items"),
        (["a"] * 101, "instances: Too big: expected array to have <=100 items"),
        ("a", "instances: Invalid input: expected array, received string"),
        (None, "instances: Invalid input: expected array, received null"),
        (["a", 1], "instances.1: Invalid input: expected string, received number"),
        ([None], "instances.0: Invalid input: expected string, received null"),
        (["a.b"], r"instances.0: Invalid string: must match pattern /^[a-zA-Z0-9, *\/#_-]+$/"),
    ],
)
async def test_a_batch_of_another_form_is_refused(
    world: Any, api: Any, explorer: str, instances: object, message: str
) -> None:
    await world.start(flow)

    path = f"{explorer}/flow/instances/batch/delete"

    assert await refused(api, "POST", path, json={"instances": instances}) == (400, 10001, message)


@pytest.mark.parametrize(("method", "path"), [("GET", "/nope"), ("POST", "/workflows"), ("GET", "/workflows/a/b")])
async def test_an_unknown_route_is_plain_text(world: Any, api: Any, method: str, path: str) -> None:
    await world.start(flow)

    answer = await api.send(method, f"/cdn-cgi/local/explorer/api{path}")

    assert (answer.status_code, answer.text) == (404, "404 Not Found")


async def test_the_api_describes_itself(world: Any, api: Any) -> None:
    await world.start(flow)

    described = (await api.send("GET", "/cdn-cgi/local/explorer/api")).json()

    assert "/cdn-cgi/local/explorer/api/workflows/{workflow_name}" in described["paths"]
