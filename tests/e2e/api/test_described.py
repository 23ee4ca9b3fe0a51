"""What the server says of itself is true: schemathesis asks every endpoint of the description for many things."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi import checks

from stepwell.emulator.api.descriptions import explorer_description, rest_description
from tests.e2e.process import DevProcess

#: Requests of each endpoint, of each sort; with all endpoints some hundreds.
EXAMPLES = 15
#: Names in paths that mean something as often as not.
NAMES = {
    "account_id": ("any", "any"),
    "workflow_name": ("flow", "quick", "flow", "nope"),
    "instance_id": ("asleep", "done", "failed", "waits", "nope"),
    "event_type": ("go", "stop"),
}
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
OPERATIONS = [
    operation.ok()
    for description in (rest_description(), explorer_description())
    for operation in schemathesis.openapi.from_dict(description).get_all_operations()
]


def can_be_wrong(operation: Any) -> bool:
    """Whether anything but its path can break the description."""
    raw = operation.definition.raw
    body = raw.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    return bool(body) or any(parameter["in"] == "query" for parameter in raw["parameters"])


CASES = [
    pytest.param(operation, mode, id=f"{operation.label} {mode.value}")
    for operation in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or can_be_wrong(operation)
]


@pytest.fixture
def busy(fresh: DevProcess) -> DevProcess:
    """An emulator that has an instance in each of the usual states."""
    fresh.create("flow", "asleep", {"nap": "1 day"})
    fresh.create("flow", "failed", {"error": "no"})
    fresh.create("flow", "waits", {"wait": "go"})
    fresh.create("quick", "done", {"a": 1})
    return fresh


def test_what_is_served_is_what_the_table_says(server: DevProcess) -> None:
    assert server.get("/client/v4/openapi.json") == rest_description()
    assert server.get("/cdn-cgi/local/explorer/api") == explorer_description()


def test_the_only_server_errors_of_the_rest_api_are_damaged_data_and_a_held_engine() -> None:
    for path, operations in rest_description()["paths"].items():
        for method, operation in operations.items():
            statuses = [status for status in operation["responses"] if status >= "500"]
            assert statuses == ["500", "503"], (path, method)


@pytest.mark.parametrize(("operation", "mode"), CASES)
def test_every_answer_is_as_described_and_none_is_a_server_error(
    busy: DevProcess, operation: Any, mode: GenerationMode
) -> None:
    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
    )
    def ask(case: Any) -> None:
        _use_known_names(case)
        answer = case.call_and_validate(base_url=busy.url, checks=CHECKS)
        assert "See the stepwell dev terminal for details." not in answer.text

    ask()


def _use_known_names(case: Any) -> None:
    """Two of three requests go to what exists; chosen by the random names themselves, so that runs are alike."""
    for name, known in NAMES.items():
        random = str((case.path_parameters or {}).get(name, ""))
        if len(random) % 3:
            case.path_parameters[name] = known[len(random) % len(known)]
