"""Every method of the official Python client's `workflows`, with every argument that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.e2e.process import DevProcess

cloudflare = pytest.importorskip("cloudflare")

#: Of every method; they are the client's, not Cloudflare's.
CLIENTS_OWN = {"extra_headers", "extra_query", "extra_body", "timeout"}
ACCOUNT = {"account_id": "0123456789abcdef0123456789abcdef"}
FLOW = {**ACCOUNT, "workflow_name": "flow"}
ONE = {**FLOW, "instance_id": "one"}
THEN, LATER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
RETENTION = {"success_retention": "1 day", "error_retention": 3_600_000}
NEW = {"instance_id": "new", "params": '{"a": 1}', "instance_retention": RETENTION, "location_hint": "weur"}


def ids(found: Any) -> list[str]:
    return [one.id for one in found.result]


#: By method: calls with their arguments, and whether what comes back is right. None stands for a version's id.
CALLS: dict[str, list[tuple[dict[str, Any], Callable[[Any], bool]]]] = {
    "list": [
        ({**ACCOUNT, "page": 1, "per_page": 1, "search": "qui"}, lambda found: found.result[0].name == "quick")
    ],
    "get": [(FLOW, lambda found: found.class_name == "Flow")],
    "update": [
        (
            {
                **ACCOUNT,
                "workflow_name": "quick",
                "class_name": "Quick",
                "script_name": "worker",
                "limits": {"steps": 50},
                "concurrency": {"limit": 7},
                "default_retention": RETENTION,
                "schedules": [{"cron": "0 0 1 1 *"}],
            },
            lambda found: bool(found.version_id),
        )
    ],
    "delete": [({**ACCOUNT, "workflow_name": "quick"}, lambda found: found.success)],
    "versions.list": [({**FLOW, "page": 1, "per_page": 1}, lambda found: len(found.result) == 1)],
    "versions.get": [({**FLOW, "version_id": None}, lambda found: found.has_dag)],
    "versions.graph": [({**FLOW, "version_id": None}, lambda found: found.graph.workflow.class_name == "Flow")],
    "instances.create": [({**FLOW, **NEW}, lambda found: (found.id, found.trigger_source) == ("new", "api"))],
    "instances.bulk": [({**FLOW, "body": [NEW]}, lambda found: ids(found) == ["new"])],
    "instances.list": [
        (
            {
                **FLOW,
                "page": 1,
                "per_page": 5,
                "direction": "asc",
                "status": "waiting",
                "date_start": THEN,
                "date_end": LATER,
            },
            lambda found: ids(found) == ["one"],
        ),
        ({**FLOW, "date_end": THEN}, lambda found: ids(found) == []),
        ({**FLOW, "cursor": "ZGVzYzox"}, lambda found: ids(found) == []),
    ],
    "instances.get": [
        ({**ONE, "order": "desc"}, lambda found: found.steps[0].name == "approval-1"),
        ({**ONE, "simple": "true"}, lambda found: (found.steps, found.step_count) == ([], 3)),
    ],
    "instances.step": [
        ({**ONE, "name": "prepare-1", "type": "step", "attempt": 2}, lambda found: "prepared" in found.output),
        ({**ONE, "name": "approval-1", "type": "waitForEvent"}, lambda found: found.status == "waiting"),
    ],
    "instances.events.create": [
        ({**ONE, "event_type": "go", "body": {"by": "me"}}, lambda found: found.instance_id == "one")
    ],
    "instances.status.edit": [
        ({**ONE, "status": "pause"}, lambda found: found.status == "paused"),
        ({**ONE, "status": "resume"}, lambda found: found.status == "waiting"),
        ({**ONE, "status": "terminate", "rollback": True}, lambda found: found.status == "terminated"),
        (
            {**ONE, "status": "restart", "from_": {"name": "secret", "count": 1, "type": "do"}},
            lambda found: found.status in ("queued", "running", "waiting"),
        ),
    ],
}


def methods(resource: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """All methods of a resource and of those below it, by their paths."""
    for name, member in inspect.getmembers(type(resource)):
        if name.startswith(("_", "with_")):
            continue
        if inspect.isfunction(member):
            yield path + name, getattr(resource, name)
        elif type(below := getattr(resource, name)).__module__.startswith("cloudflare.resources.workflows"):
            yield from methods(below, f"{path}{name}.")


@pytest.fixture
def client(fresh: DevProcess) -> Iterator[Any]:
    with cloudflare.Cloudflare(
        api_token="anything", base_url=f"{fresh.url}/client/v4", max_retries=0, timeout=20
    ) as made:
        yield made


def test_no_method_and_no_argument_is_left_out(client: Any) -> None:
    taken = {
        path: {name for name in inspect.signature(method).parameters if name not in CLIENTS_OWN}
        for path, method in methods(client.workflows)
    }

    called = {path: {name for given, _ in calls for name in given} for path, calls in CALLS.items()}
    assert called == taken


@pytest.mark.parametrize("path", CALLS)
def test_a_method_gets_what_it_asks_for(client: Any, fresh: DevProcess, path: str) -> None:
    fresh.create("flow", "one", {"fail": 1, "wait": "go"})
    fresh.until_status("flow", "one", "waiting")
    fresh.advance(60_000)
    fresh.until_status("flow", "one", "waiting")
    version = next(iter(client.workflows.versions.list(**FLOW))).id
    method = dict(methods(client.workflows))[path]

    for given, is_right in CALLS[path]:
        found = method(**{name: version if value is None else value for name, value in given.items()})
        assert is_right(found), found
