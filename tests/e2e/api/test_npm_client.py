"""The official `cloudflare` package for Node, with nothing changed but its base URL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import DevProcess

SCRIPT = Path(__file__).with_name("npm_client.mjs")


@pytest.fixture
def seen(fresh: DevProcess, npm_package: Callable[[str], Path], run_node: Callable[..., Any]) -> Any:
    """What the client got from every method that it has."""
    done = run_node(SCRIPT, npm_package("cloudflare"), f"{fresh.url}/client/v4")
    assert done.code == 0, done.err
    return done.json


def test_the_client_gets_what_it_expects_from_every_method(seen: Any) -> None:
    assert seen["uncalled"] == []
    assert set(seen["methods"]) >= {"list", "instances.bulk", "instances.status.edit", "versions.graph"}
    assert seen["list"] == ["flow", "quick"]
    assert seen["get"]["class_name"] == "Flow"
    assert seen["update"]["version_id"]
    assert [one["has_dag"] for one in seen["versions"]] == [True]
    assert seen["version"] == seen["versions"][0]
    assert seen["graph"]["graph"]["workflow"]["class_name"] == "Flow"

    assert seen["create"]["id"] == "one"
    assert seen["event"]["instanceId"] == "one"
    assert seen["detail"]["output"] == {"prepared": {"wait": "go"}, "received": {"by": "me"}}
    assert [step["type"] for step in seen["detail"]["steps"]] == ["step", "step", "waitForEvent"]
    assert seen["step"] == {"status": "complete", "error": None, "output": {"by": "me"}, "event_type": "go"}

    assert [one["id"] for one in seen["bulk"]] == ["a", "b"]
    assert seen["instances"] == ["b", "a", "one"]
    assert seen["waiting"] == ["a"]
    assert seen["edits"] == ["paused", "waiting", "terminated"]
    assert seen["restarted"] == 3

    assert (seen["absent"]["type"], seen["absent"]["status"]) == ("NotFoundError", 404)
    assert seen["absent"]["errors"] == [{"code": 10400, "message": "workflows.api.error.instance.not_found"}]
    assert (seen["used"]["type"], seen["used"]["errors"][0]["code"]) == ("BadRequestError", 10405)
    assert seen["delete"] == {"status": "ok", "success": True}
    assert seen["left"] == []
