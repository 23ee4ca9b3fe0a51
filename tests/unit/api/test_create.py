"""POST .../instances and .../instances/batch."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepwell.emulator.threads.engine_thread import EngineThread

pytestmark = pytest.mark.anyio


async def echo(payload: Any, step: Any) -> Any:
    return payload


async def test_an_instance_is_created_with_a_random_id(world: Any, api: Any) -> None:
    await world.start(echo)

    created = await api.post("", {})

    assert len(created["id"]) == 36
    assert created["status"] in ("queued", "running")
    assert created["version_id"] == "flow-v1"
    assert created["trigger_source"] == "api"


class DeletedAtOnce(EngineThread):
    """The way to the engine, on which a request that deletes the instance comes before the answer."""

    world: Any

    async def call(self, *called: Any, **named: Any) -> Any:
        made = await super().call(*called, **named)
        await self.world.flow.delete("one")
        return made


@pytest.mark.parametrize(("path", "body"), [("", {"instance_id": "one"}), ("/batch", [{"instance_id": "one"}])])
async def test_an_instance_that_is_gone_before_the_answer_was_created_all_the_same(
    world: Any, api: Any, path: str, body: object
) -> None:
    await world.start(echo)
    api.parts.thread = DeletedAtOnce(asyncio.get_running_loop())
    api.parts.thread.world = world

    made = await api.post(path, body)

    created = made[0] if path else made
    assert (created["id"], created["version_id"], created["trigger_source"]) == ("one", "flow-v1", "api")
    assert world.status() == "gone"


async def test_an_empty_body_creates_an_instance_too(world: Any, api: Any) -> None:
    await world.start(echo)

    answer = await api.send("POST", "")

    assert answer.status_code == 200


async def test_params_as_a_json_text_are_parsed(world: Any, api: Any) -> None:
    """The official clients type `params` as a text."""
    await world.start(echo)

    await api.post("", {"instance_id": "one", "params": '{"a":1}'})
    await world.idle()

    assert await world.output() == {"a": 1}


async def test_params_as_an_object_are_taken_as_they_are(world: Any, api: Any) -> None:
    await world.start(echo)

    await api.post("", {"instance_id": "one", "params": {"a": [1, None, "x"]}})
    await world.idle()

    assert await world.output() == {"a": [1, None, "x"]}


async def test_without_params_the_payload_is_an_empty_object(world: Any, api: Any) -> None:
    await world.start(echo)

    await api.post("", {"instance_id": "one"})
    await world.idle()

    assert await world.output() == {}


async def test_null_params_are_shown_as_null(world: Any, api: Any) -> None:
    await world.start(echo)

    await api.post("", {"instance_id": "one", "params": None})
    await world.idle()

    assert (await api.get("/one"))["params"] is None


async def test_an_object_with_a_dollar_key_comes_back_as_it_went(world: Any, api: Any) -> None:
    await world.start(echo)

    await api.post("", {"instance_id": "one", "params": {"$": "date", "v": 1}})
    await world.idle()

    assert (await api.get("/one"))["output"] == {"$": "date", "v": 1}


async def test_a_number_beyond_javascripts_whole_ones_is_the_nearest_float(world: Any, api: Any) -> None:
    await world.start(echo)

    await api.send("POST", "", content=b'{"instance_id": "one", "params": {"n": 9007199254740993}}')
    await world.idle()

    assert await world.output() == {"n": 9007199254740992.0}


async def test_half_of_a_surrogate_pair_comes_back(world: Any, api: Any) -> None:
    await world.start(echo)

    await api.send("POST", "", content=b'{"instance_id": "one", "params": {"s": "\\ud83d"}}')
    await world.idle()

    assert (await api.get("/one"))["output"] == {"s": "\ud83d"}


async def test_the_name_of_the_explorer_for_the_id_is_taken_too(world: Any, api: Any) -> None:
    await world.start(echo)

    created = await api.post("", {"id": "one"})

    assert created["id"] == "one"


async def test_a_used_id_is_refused_with_cloudflares_code(world: Any, api: Any) -> None:
    await world.start(echo)
    await api.post("", {"instance_id": "one"})

    refused = await api.refused("POST", "", json={"instance_id": "one"})

    assert refused == (400, 10405, "workflows.api.error.instance.already_exists")


@pytest.mark.parametrize("bad", ["", "-a", "a b", "x" * 101, None, 7, "batch", "terminateAll", "cf_" + "0" * 64])
async def test_an_id_that_cannot_be_one_is_refused(world: Any, api: Any, bad: object) -> None:
    await world.start(echo)

    refused = await api.refused("POST", "", json={"instance_id": bad})

    assert refused == (400, 10406, "workflows.api.error.instance.invalid_id")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"text"',
        b"NaN",
        b"\xff\xfe",
        b'{"params": "not json"}',
        b'{"params": Infinity}',
        b'{"instance_retention": 5}',
        b'{"instance_retention": {"success_retention": "soon"}}',
        b'{"params": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
async def test_a_body_that_means_nothing_is_refused(world: Any, api: Any, body: bytes) -> None:
    await world.start(echo)

    refused = await api.refused("POST", "", content=body)

    assert refused == (400, 10002, "workflows.api.error.body")


async def test_params_over_the_limit_are_refused(world: Any, api: Any) -> None:
    await world.start(echo)

    refused = await api.refused("POST", "", json={"params": {"text": "x" * 2**20}})

    assert refused[:2] == (400, 10002)


async def test_a_rate_over_the_limit_is_answered_429(world: Any, apis: Any) -> None:
    world.configure(limits={"creation_rate": 1})
    await world.start(echo)
    api = apis()
    await api.post("", {})

    refused = await api.refused("POST", "", json={})

    assert refused[:2] == (429, 10429)


async def test_retention_of_an_instance_is_kept(world: Any, api: Any) -> None:
    await world.start(echo)
    retention = {"success_retention": "1 hour", "error_retention": 5000}

    await api.post("", {"instance_id": "one", "instance_retention": retention})

    row = world.store.instance(world.key())
    assert (row.success_retention_ms, row.error_retention_ms) == (3_600_000, 5_000)


# -- batch
async def test_a_batch_creates_all_its_entries(world: Any, api: Any) -> None:
    await world.start(echo)

    created = await api.post("/batch", [{"instance_id": "a", "params": '{"n":1}'}, {"instance_id": "b"}])

    assert [one["id"] for one in created] == ["a", "b"]


async def test_a_batch_leaves_out_used_and_repeated_ids_and_says_so(world: Any, api: Any) -> None:
    await world.start(echo)
    await api.post("", {"instance_id": "a"})

    answer = await api.send("POST", "/batch", json=[{"instance_id": one} for one in ("a", "b", "b")])

    body = answer.json()
    assert [one["id"] for one in body["result"]] == ["b"]
    assert body["messages"] == [
        {"code": 10405, "message": "a: workflows.api.error.instance.already_exists"},
        {"code": 10415, "message": "b: workflows.api.error.instance.duplicate_in_batch"},
    ]


@pytest.mark.parametrize("body", [[], {}, [1], [{}] * 101, None])
async def test_a_batch_of_another_form_is_refused(world: Any, api: Any, body: object) -> None:
    await world.start(echo)

    refused = await api.refused("POST", "/batch", json=body)

    assert refused[:2] == (400, 10002)


async def test_a_batch_with_a_reserved_id_creates_nothing(world: Any, api: Any) -> None:
    await world.start(echo)

    refused = await api.refused("POST", "/batch", json=[{"instance_id": "a"}, {"instance_id": "batch"}])

    assert refused[:2] == (400, 10406)
    assert await api.get("") == []


async def test_an_instance_of_an_unknown_workflow_is_refused(world: Any, api: Any, rest: str) -> None:
    await world.start(echo)

    refused = await api.refused("POST", f"{rest}/nope/instances", json={})

    assert refused == (404, 10200, "workflows.api.error.workflow.not_found")


async def test_a_workflow_whose_code_is_gone_takes_no_instances(world: Any, api: Any, rest: str) -> None:
    await world.start(echo)
    world.store.put_workflow("other-id", "other", "Other", "worker", 0)

    refused = await api.refused("POST", f"{rest}/other/instances", json={})

    assert refused == (400, 10201, "workflows.api.error.workflow.without_code")
