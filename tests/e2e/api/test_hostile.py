"""Requests that no client would send, to every operation that is described: none breaks the server."""

from __future__ import annotations

import http.client
import itertools
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from stepwell.emulator.api.descriptions import explorer_description, rest_description
from tests.e2e.process import DevProcess

#: What stands where the path has a name.
NAMES: Final = (
    "%",
    "%zz",
    "%00",
    "%ff",
    "%c0%af",
    "..",
    "%2e%2e",
    "%ED%A0%80",
    "%F0%9F%98%80",
    "-",
    "*",
    "a" * 5_000,
)
#: What stands where the path has a name that exists.
KNOWN: Final = {
    "account_id": "any",
    "workflow_name": "flow",
    "instance_id": "waits",
    "event_type": "go",
    "version_id": "nope",
}
VALUES: Final = (
    "%00",
    "%ff",
    "%ED%A0%80",
    "1e400",
    "-1",
    "99999999999999999999",
    "%EF%BC%91",
    "0001-01-01",
    "x" * 2_000,
)
BODIES: Final = (
    b"",
    b"null",
    b"[]",
    b"[[]]",
    b"{",
    b'"x"',
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b"{}{}",
    b"[" * 200_000,
    b'{"params": ' + b"9" * 100_000 + b"}",
    b'{"params": "\\ud800", "instance_id": "\\ud800"}',
    b'{"instance_id": [], "id": {}, "params": 1e999, "instance_retention": 5, "location_hint": {}}',
    b'[{"instance_id": "\\ud800"}, {"params": "{"}]',
    b'{"instances": ["\\ud800"]}',
    b'{"instances": [null]}',
    b'{"status": ["pause"], "rollback": 1}',
    b'{"status": "restart", "from": {"name": "\\ud800", "count": 1e400, "type": []}}',
    b'{"status": "restart", "from": {"name": "x", "count": 99999999999999999999}}',
    b'{"status": "skipSleep", "name": 5}',
    b'{"class_name": "\\ud800", "script_name": 5, "limits": {"steps": 1e400}, "schedules": [{"cron": "x"}]}',
    b'{"class_name": "Flow", "script_name": "worker", "default_retention": {"success_retention": []}}',
    b'{"advance_ms": 1e400, "next": "x"}',
    b'{"action": [], "workflow": "\\ud800"}',
)
OPERATIONS: Final = [
    (method.upper(), path, operation)
    for described in (rest_description(), explorer_description())
    for path, operations in described["paths"].items()
    for method, operation in operations.items()
]


@pytest.fixture
def busy(fresh: DevProcess) -> DevProcess:
    fresh.create("flow", "waits", {"wait": "go"})
    fresh.until_status("flow", "waits", "waiting")
    return fresh


def requests(path: str, operation: Any) -> Iterator[tuple[str, bytes]]:
    """Paths and bodies, of which one thing each is hostile."""
    names = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
    queries = [one["name"] for one in operation["parameters"] if one["in"] == "query"]
    usual = filled(path, {})
    for name, hostile in itertools.product(names, NAMES):
        yield filled(path, {name: hostile}), b"{}"
    for name, hostile in itertools.product(queries, VALUES):
        yield f"{usual}?{name}={hostile}", b"{}"
    for body in BODIES:
        yield usual, body


def filled(path: str, names: dict[str, str]) -> str:
    for name, text in (KNOWN | names).items():
        path = path.replace("{" + name + "}", text)
    return path


@pytest.mark.parametrize(
    ("method", "path", "operation"), OPERATIONS, ids=lambda given: given if isinstance(given, str) else ""
)
def test_no_request_breaks_the_server(busy: DevProcess, method: str, path: str, operation: Any) -> None:
    address = urlsplit(busy.url)
    with closing(http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)) as connection:
        for target, body in requests(path, operation):
            connection.request(method, target, body)
            answer = connection.getresponse()
            text = answer.read().decode()
            assert answer.status < 500, (target[:200], body[:200], text)

    # What run() makes of a strange event is its own affair: its traceback has no line of ours.
    assert not [line for line in busy.output.splitlines() if "/emulator/" in line]
