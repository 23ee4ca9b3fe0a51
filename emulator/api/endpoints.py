"""Endpoints as a table: the routes, the checks of queries and the OpenAPI description come from the same rows."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from stepwell.bindings.errors import EngineError
from stepwell.emulator.engine.binding import Binding
from stepwell.emulator.storage.records import Trigger, WorkflowRow
from stepwell.emulator.storage.store import Damaged, StorageError
from stepwell.emulator.web import urls
from stepwell.emulator.web.bodies import parse_object
from stepwell.emulator.web.errors import ApiError, BodyTooLarge, of_engine, of_storage
from stepwell.emulator.web.kinds import BadValue, Query, Schema, read_queries
from stepwell.emulator.web.parts import ServerParts

_log = logging.getLogger("stepwell.server")

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")


@dataclass(slots=True)
class Call:
    """A request for a handler: decoded path parameters, parsed query, whole body."""

    parts: ServerParts
    path: Mapping[str, str]
    query: dict[str, Any]
    body: bytes
    accept: str

    def json_object(self) -> dict[str, Any]:
        return parse_object(self.body)

    def workflow(self) -> WorkflowRow:
        """The Workflow that the path names. Raises `ApiError`."""
        name = self.path["workflow_name"]
        for row in self.parts.reader.workflows():
            if row.name == name:
                return row
        raise ApiError("workflow.not_found", f'Workflow "{name}" not found in this Worker.')

    def instance_key(self, workflow: WorkflowRow) -> int:
        """The key of the instance that the path names. Raises `ApiError`."""
        instance_id = self.path["instance_id"]
        key = self.parts.reader.find(workflow.key, instance_id)
        if key is None:
            raise ApiError("instance.not_found", f'"{workflow.name}" has no instance "{instance_id}".')
        return key

    def binding(self, workflow: WorkflowRow) -> Binding:
        """Commands on the Workflow, for the engine's thread. Raises `ApiError` if the Workflow is not defined."""
        try:
            return self.parts.engine.workflow(workflow.name, Trigger.API)
        except KeyError:
            raise ApiError(
                "workflow.without_code",
                f'The Worker no longer defines "{workflow.name}"; its instances can only be read and deleted.',
            ) from None

    def now(self) -> int:
        return self.parts.engine.clock.now()


Handler: TypeAlias = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A row. `result` and `body` are JSON schemas; `errors` are the keys of possible errors."""

    method: str
    path: str
    handler: Handler
    name: str
    summary: str
    result: Schema
    query: tuple[Query, ...] = ()
    body: Schema | None = None
    body_required: bool = False
    info: Schema | None = None
    errors: tuple[str, ...] = ()
    #: Other media types of a good answer.
    media: tuple[str, ...] = ()


class ErrorStyle(Protocol):
    """The error format of one of the APIs."""

    def refused(self, error: ApiError | EngineError | BadValue, path: Mapping[str, str]) -> Response: ...

    def broken(self) -> Response: ...

    def wrong_method(self, method: str, allowed: Sequence[str]) -> Response: ...


@dataclass(slots=True)
class Resource:
    """A path with its methods, as an ASGI app. Turns errors of handlers into responses."""

    parts: ServerParts
    style: ErrorStyle
    by_method: dict[str, Endpoint] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = self.by_method.get(method)
        if endpoint is None:
            response = self.style.wrong_method(request.method, list(self.by_method))
        else:
            response = await self._answer(endpoint, request)
        await response(scope, receive, send)

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        path = {name: urls.part(text) for name, text in request.path_params.items()}
        try:
            call = Call(
                parts=self.parts,
                path=path,
                query=read_queries(endpoint.query, dict(request.query_params)),
                body=await request.body(),
                accept=request.headers.get("accept", ""),
            )
            return await endpoint.handler(call)
        except (ApiError, EngineError, BadValue) as error:
            return self.style.refused(error, path)
        except StorageError as error:
            _log.error("%s %s failed: %s", request.method, request.url.path, error)
            return self.style.refused(of_storage(error), path)
        except json.JSONDecodeError as error:
            damaged = _damaged(error, path)
            _log.error("%s %s failed: %s", request.method, request.url.path, damaged)
            return self.style.refused(of_storage(damaged), path)
        except ClientDisconnect:  # the client is gone
            return self.style.refused(
                ApiError("body", "The connection was closed before the whole body arrived."), path
            )
        except BodyTooLarge:
            raise
        except Exception:  # noqa: BLE001 - logged whole, and told as Cloudflare's internal error
            _log.exception("%s %s failed", request.method, request.url.path)
            return self.style.broken()


def _damaged(error: json.JSONDecodeError, path: Mapping[str, str]) -> Damaged:
    """What is stored as JSON and is none: requests are parsed elsewhere, where their errors are refused."""
    row = "/".join(path[name] for name in ("workflow_name", "instance_id") if name in path)
    return Damaged(f"The database is damaged: a value of {row or 'an instance'} is not JSON ({error.doc[:100]!r}).")


def resources(prefix: str, table: Sequence[Endpoint], parts: ServerParts, style: ErrorStyle) -> list[Route]:
    """The routes of a table; those with fewer placeholders first, so that `batch` is not taken for an id."""
    found: dict[str, Resource] = {}
    for endpoint in table:
        resource = found.setdefault(endpoint.path, Resource(parts, style))
        resource.by_method[endpoint.method] = endpoint
    ordered = sorted(found, key=lambda path: path.count("{"))
    return [Route(prefix + path, found[path], name=path) for path in ordered]


def refusal_of(error: ApiError | EngineError | BadValue) -> ApiError:
    """Convert an error of a handler to an `ApiError`."""
    if isinstance(error, ApiError):
        return error
    return of_engine(error) if isinstance(error, EngineError) else ApiError("query", str(error))
