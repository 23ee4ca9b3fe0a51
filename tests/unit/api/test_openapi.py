"""The description of the APIs, made from the same table as the routes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from stepwell.emulator.api.descriptions import explorer_description, rest_description
from stepwell.emulator.api.explorer import routes as explorer
from stepwell.emulator.api.local import routes as local
from stepwell.emulator.api.rest import routes as rest
from stepwell.emulator.web.errors import TABLE

DESCRIPTIONS = [
    (rest_description, [("/client/v4", rest.table()), ("/cdn-cgi/local/stepwell", local.table())]),
    (explorer_description, [("/cdn-cgi/local/explorer/api", explorer.table())]),
]
described = pytest.mark.parametrize(("description", "tables"), DESCRIPTIONS)


def operations(description: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


@described
def test_every_row_is_described(description: Any, tables: Any) -> None:
    rows = {(row.method, prefix + row.path) for prefix, table in tables for row in table}

    assert {(method, path) for method, path, _ in operations(description())} == rows


@described
def test_every_operation_has_a_name_of_its_own_and_a_sentence(description: Any, tables: Any) -> None:
    found = [operation for _, _, operation in operations(description())]
    names = [operation["operationId"] for operation in found]

    assert len(names) == len(set(names))
    assert all(operation["summary"] for operation in found)


@described
def test_every_placeholder_is_a_parameter(description: Any, tables: Any) -> None:
    for _, path, operation in operations(description()):
        named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
        assert named == set(re.findall(r"\{(\w+)\}", path))


@described
def test_every_reference_leads_somewhere(description: Any, tables: Any) -> None:
    made = description()

    wanted = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(made)))

    assert wanted <= made["components"]["schemas"].keys()


def test_every_refusal_that_a_row_names_is_in_the_table() -> None:
    named = {
        key for table in (rest.table(), local.table(), explorer.table()) for row in table for key in row.errors
    }

    assert named <= TABLE.keys()


def test_a_response_names_the_codes_that_it_may_carry() -> None:
    path = "/client/v4/accounts/{account_id}/workflows/{workflow_name}/instances/{instance_id}"

    responses = rest_description()["paths"][path]["get"]["responses"]

    assert "10400 workflows.api.error.instance.not_found" in responses["404"]["description"]
    assert sorted(responses) == ["200", "400", "401", "403", "404", "413", "500", "503"]


@pytest.mark.anyio
async def test_the_description_is_served(world: Any, api: Any) -> None:
    async def nothing(payload: Any, step: Any) -> None:
        return None

    await world.start(nothing)

    answer = await api.send("GET", "/client/v4/openapi.json")

    assert answer.json() == json.loads(json.dumps(rest_description()))
