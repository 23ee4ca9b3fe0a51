"""The OpenAPI descriptions, generated from the route tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final, TypeAlias

from stepwell.emulator.api import schemas
from stepwell.emulator.api.endpoints import Endpoint
from stepwell.emulator.api.schemas import TEXT, listed, named, record
from stepwell.emulator.web.errors import GUARDS, TABLE
from stepwell.emulator.web.kinds import Query, Schema

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_MESSAGES: Final = listed(record({"code": {"type": "integer"}, "message": TEXT}))
_FAILURE: Final = record(
    {"success": {"const": False}, "errors": _MESSAGES, "messages": _MESSAGES, "result": {"type": "null"}}
)
#: Errors of every endpoint: an invalid query, a missing token, a foreign page, a body that is too large.
_ALWAYS: Final = ("query", *GUARDS, "engine.held", "engine.unavailable", "engine.stopped", "engine.damaged")


#: Descriptions of an endpoint's possible errors, by HTTP status.
Refusals: TypeAlias = Callable[[Endpoint], Mapping[int, str]]


def cloudflares(row: Endpoint) -> dict[int, str]:
    """The possible error codes by HTTP status."""
    codes: dict[int, list[str]] = defaultdict(list)
    for key in (*row.errors, *_ALWAYS):
        refusal = TABLE[key]
        codes[refusal.status].append(f"{refusal.code} {refusal.message}")
    return {status: "; ".join(dict.fromkeys(texts)) for status, texts in codes.items()}


def describe(tables: Sequence[tuple[str, Sequence[Endpoint]]], refusals: Refusals = cloudflares) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for prefix, rows in tables:
        for row in rows:
            paths[prefix + row.path][row.method.lower()] = _operation(row, refusals(row))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Stepwell", "version": version("stepwell")},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {**schemas.COMPONENTS, "Failure": _FAILURE},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(row: Endpoint, refusals: Mapping[int, str]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": row.name,
        "summary": row.summary,
        "parameters": [*map(_path_parameter, _PLACEHOLDER.findall(row.path)), *map(_query_parameter, row.query)],
        "responses": {"200": _good(row), **_refused(refusals)},
    }
    if row.body is not None:
        operation["requestBody"] = {
            "required": row.body_required,
            "content": {"application/json": {"schema": row.body}},
        }
    return operation


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _query_parameter(query: Query) -> dict[str, Any]:
    return {
        "name": query.name,
        "in": "query",
        "required": query.required,
        "description": query.help,
        "schema": query.kind.schema(),
    }


def _good(row: Endpoint) -> dict[str, Any]:
    fields: dict[str, Schema] = {
        "success": {"const": True},
        "errors": {"type": "array", "maxItems": 0},
        "messages": _MESSAGES,
        "result": row.result,
    }
    if row.info is not None:
        fields["result_info"] = row.info
    content: dict[str, Any] = {"application/json": {"schema": record(fields)}}
    content.update({media: {"schema": {}} for media in row.media})
    return {"description": row.summary, "content": content}


def _refused(refusals: Mapping[int, str]) -> dict[str, Any]:
    failure = {"application/json": {"schema": named("Failure")}}
    return {str(status): {"description": text, "content": failure} for status, text in sorted(refusals.items())}
