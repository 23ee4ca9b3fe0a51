"""Workflows and their versions."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.emulator.engine.definitions import Version, WorkflowDefinition

pytestmark = pytest.mark.anyio

START = "2001-09-09T01:46:40.000Z"
NONE = dict.fromkeys(
    (
        "queued",
        "running",
        "paused",
        "errored",
        "terminated",
        "complete",
        "waitingForPause",
        "waiting",
        "rollingBack",
    ),
    0,
)


async def nap(payload: Any, step: Any) -> None:
    await step.sleep("nap", "1 day")


async def test_the_list_needs_no_token(world: Any, api: Any, rest: str) -> None:
    """Result and result_info, for any account."""
    await world.start(nap)
    await world.create()

    answer = (await api.send("GET", rest)).json()

    (workflow,) = answer["result"]
    assert workflow == {
        "id": workflow["id"],
        "name": "flow",
        "class_name": "Flow",
        "script_name": "worker",
        "created_on": START,
        "modified_on": START,
        "triggered_on": START,
        "instances": {**NONE, "waiting": 1},
        "script_deleted": False,
    }
    assert answer["result_info"] == {"page": 1, "per_page": 25, "count": 1, "total_count": 1, "total_pages": 1}


async def test_workflows_are_paged_and_searched(world: Any, api: Any, rest: str) -> None:
    for name in ("a-one", "b-two", "c-one"):
        world.define(nap, name)
    await world.start()

    assert [one["name"] for one in await api.get(rest, per_page=2, page=2)] == ["c-one"]
    assert [one["name"] for one in await api.get(rest, search="one")] == ["a-one", "c-one"]
    assert await api.get(rest, page=3, per_page=2) == []


async def test_a_workflow_shows_its_schedules_with_the_next_firing(world: Any, api: Any, rest: str) -> None:
    await world.start(nap, schedules=("0 3 * * *", "*/5 * * * *"))

    assert (await api.get(f"{rest}/flow"))["schedules"] == [
        {"cron": "0 3 * * *", "next_instance": "2001-09-09T03:00:00.000Z"},
        {"cron": "*/5 * * * *", "next_instance": "2001-09-09T01:50:00.000Z"},
    ]


async def test_a_workflow_that_the_worker_no_longer_defines_is_marked(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)
    world.store.put_workflow("other-id", "other", "Other", "worker", 0)

    assert (await api.get(f"{rest}/other"))["script_deleted"] is True


async def test_an_unknown_workflow_is_not_found(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)

    assert await api.refused("GET", f"{rest}/nope") == (404, 10200, "workflows.api.error.workflow.not_found")


# -- PUT
UPDATE = {"class_name": "Flow", "script_name": "worker"}


async def test_an_update_puts_settings_in_force(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)
    settings = {
        "limits": {"steps": 7},
        "concurrency": {"limit": 2},
        "default_retention": {"success_retention": "1 day", "error_retention": 5000},
        "schedules": [{"cron": "0 3 * * *"}],
    }

    updated = await api.ok("PUT", f"{rest}/flow", json={**UPDATE, **settings})

    (state,) = world.engine.workflows()
    definition = state.definition
    assert (definition.steps_limit, definition.concurrency_limit) == (7, 2)
    assert (definition.success_retention_ms, definition.error_retention_ms) == (86_400_000, 5_000)
    assert definition.schedules == ("0 3 * * *",)
    version = await api.get(f"{rest}/flow/versions/{updated['version_id']}")
    assert (version["limits"], version["concurrency"]) == ({"steps": 7}, {"limit": 2})
    assert version["default_retention"] == {"success_retention": 86_400_000, "error_retention": 5_000}


async def test_an_update_that_changes_nothing_makes_no_version(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)

    updated = await api.ok("PUT", f"{rest}/flow", json=UPDATE)

    assert updated["version_id"] == "flow-v1"
    assert (updated["is_deleted"], updated["terminator_running"]) == (0, 0)


async def test_a_workflow_can_be_added_for_a_class_that_is_there(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)

    await api.ok("PUT", f"{rest}/second", json=UPDATE)
    created = await api.post(f"{rest}/second/instances", {})

    assert created["trigger_source"] == "api"


async def test_a_class_that_is_not_there_is_refused(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)

    refused = await api.refused("PUT", f"{rest}/flow", json={**UPDATE, "class_name": "Other"})

    assert refused == (400, 10203, "workflows.api.error.workflow.class_not_found")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"class_name": "Flow"},
        {**UPDATE, "class_name": ""},
        {**UPDATE, "limits": 5},
        {**UPDATE, "limits": {"steps": 0}},
        {**UPDATE, "concurrency": {"limit": True}},
        {**UPDATE, "default_retention": {"success_retention": "soon"}},
        {**UPDATE, "default_retention": {"success_retention": -1}},
        {**UPDATE, "schedules": "0 3 * * *"},
        {**UPDATE, "schedules": [{"cron": "never"}]},
        {**UPDATE, "schedules": [{}]},
    ],
)
async def test_an_update_that_cannot_be_is_refused(world: Any, api: Any, rest: str, body: object) -> None:
    await world.start(nap)

    assert (await api.refused("PUT", f"{rest}/flow", json=body))[:2] == (400, 10002)


# -- versions
SOURCE = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        await step.sleep("nap", "1 day")
"""


def load(world: Any, version: str, source: str | None = SOURCE) -> None:
    world.engine.define(WorkflowDefinition("flow", "Flow"), None, Version(version, "python", source))


async def test_versions_come_newest_first(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)
    load(world, "v2")

    versions = await api.get(f"{rest}/flow/versions")

    assert [one["id"] for one in versions] == ["v2", "flow-v1"]
    assert versions[0] == {
        "id": "v2",
        "class_name": "Flow",
        "created_on": START,
        "modified_on": START,
        "workflow_id": versions[0]["workflow_id"],
        "language": "python",
        "has_dag": True,
    }


async def test_versions_are_paged(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)
    load(world, "v2")

    assert [one["id"] for one in await api.get(f"{rest}/flow/versions", page=2, per_page=1)] == ["flow-v1"]


async def test_an_instance_keeps_the_version_that_made_it(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create("old")
    load(world, "v2")
    await api.post("", {"instance_id": "new"})

    rows = {row["id"]: row["version_id"] for row in await api.get("")}
    assert rows == {"old": "flow-v1", "new": "v2"}
    assert (await api.get("/old"))["versionId"] == "flow-v1"


async def test_a_version_gives_its_graph(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)
    load(world, "v2")

    found = await api.get(f"{rest}/flow/versions/v2/graph")

    assert found["graph"]["workflow"]["nodes"] == [{"type": "step_sleep", "name": "nap", "duration": "1 day"}]


async def test_a_version_without_a_source_has_no_graph(world: Any, api: Any, rest: str) -> None:
    await world.start(nap)

    version = await api.get(f"{rest}/flow/versions/flow-v1")
    found = await api.get(f"{rest}/flow/versions/flow-v1/graph")

    assert version["has_dag"] is False
    assert found["graph"] is None


@pytest.mark.parametrize("path", ["versions/nope", "versions/nope/graph"])
async def test_an_unknown_version_is_not_found(world: Any, api: Any, rest: str, path: str) -> None:
    await world.start(nap)

    refused = await api.refused("GET", f"{rest}/flow/{path}")

    assert refused == (404, 10210, "workflows.api.error.version.not_found")


async def test_a_version_of_another_workflow_is_not_found(world: Any, api: Any, rest: str) -> None:
    world.define(nap, "other", "v9")
    await world.start(nap)

    assert (await api.refused("GET", f"{rest}/flow/versions/other-v9"))[:2] == (404, 10210)
