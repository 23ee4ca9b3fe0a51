"""The one shape of all refusals, on every route."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stepwell.emulator.api.local import routes as local
from stepwell.emulator.api.rest import routes as rest
from stepwell.emulator.engine import requests
from stepwell.emulator.engine.lifecycle import TABLE as LIFECYCLE
from stepwell.emulator.engine.lifecycle import Refusal as LifecycleRefusal
from stepwell.emulator.web.errors import TABLE

pytestmark = pytest.mark.anyio

ROUTES = [("/client/v4" + row.path, row.method) for row in rest.table()] + [
    ("/cdn-cgi/local/stepwell" + row.path, row.method) for row in local.table()
]


def filled(path: str) -> str:
    return re.sub(r"\{\w+\}", "nope", path)


async def nothing(payload: Any, step: Any) -> None:
    return None


def check(answer: Any) -> None:
    body = answer.json()
    assert sorted(body) == ["errors", "messages", "result", "success"]
    assert body["success"] is False
    assert body["result"] is None
    assert [sorted(error) for error in body["errors"]] == [["code", "message"]]
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("path", sorted({path for path, _ in ROUTES}))
async def test_a_method_that_is_not_there_is_refused_in_the_envelope(world: Any, api: Any, path: str) -> None:
    await world.start(nothing)

    answer = await api.send("TRACE", filled(path))

    check(answer)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {method for one, method in ROUTES if one == path}


@pytest.mark.parametrize(("path", "method"), [route for route in ROUTES if "{workflow_name}" in route[0]])
async def test_an_unknown_workflow_is_refused_in_the_envelope(world: Any, api: Any, path: str, method: str) -> None:
    await world.start(nothing)
    body = {"class_name": "Nope", "script_name": "nope"} if method == "PUT" else {"status": "pause"}
    batch = path.endswith("/batch")

    answer = await api.send(method, filled(path) + "?name=a&type=step", json=[body] if batch else body)

    check(answer)
    assert answer.status_code == (400 if (path, method) == (ROUTES[2][0], "PUT") else 404)


@pytest.mark.parametrize("path", ["/client/v4", "/client/v4/zones", "/client/v4/accounts/a/workers/scripts/s"])
async def test_an_unknown_route_is_refused_in_the_envelope(world: Any, api: Any, path: str) -> None:
    await world.start(nothing)

    answer = await api.send("GET", path)

    check(answer)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (404, 7003)
    assert answer.json()["errors"][0]["message"].startswith("Could not route to ")


async def test_a_bug_of_ours_is_logged_and_told_as_cloudflares_internal_error(
    world: Any, api: Any, caplog: Any, monkeypatch: Any, rest: str
) -> None:
    await world.start(nothing)
    monkeypatch.setattr(api.parts.reader, "workflows", lambda: 1 / 0)

    answer = await api.send("GET", rest)

    check(answer)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (500, 10001)
    assert "ZeroDivisionError" in caplog.text


def test_no_number_means_two_things() -> None:
    codes = [refusal.code for refusal in TABLE.values()]

    assert len(codes) == len(set(codes))


def test_what_a_caller_did_wrong_is_not_asked_for_again() -> None:
    """The official clients repeat 408, 409, 429 and 5xx; only what passes by itself may use one."""
    repeated = {key for key, row in TABLE.items() if row.status in (408, 409, 429) or row.status >= 500}

    engine = {key for key in TABLE if key.startswith("engine.")}

    assert repeated == {"internal_server", "instance.rate_limited", "instance.queue_full", *engine}


def test_every_refusal_of_the_status_table_has_a_row() -> None:
    codes = {
        verdict.code
        for verdicts in LIFECYCLE.values()
        for verdict in verdicts.values()
        if isinstance(verdict, LifecycleRefusal)
    }

    assert codes <= TABLE.keys()


@pytest.mark.parametrize(
    ("of_engine", "key"),
    [
        (requests.ALREADY_EXISTS, "instance.already_exists"),
        (requests.DUPLICATE, "instance.duplicate_in_batch"),
        (requests.NOT_FOUND, "instance.not_found"),
        (requests.INTERNAL, "internal_server"),
    ],
)
def test_the_engine_uses_the_same_numbers_in_batches(of_engine: tuple[int, str], key: str) -> None:
    assert (TABLE[key].code, TABLE[key].message) == of_engine
