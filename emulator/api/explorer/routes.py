"""The API of Cloudflare's local explorer, which `wrangler workflows ... --local` talks to, as a table.

It differs from the REST API in shapes, codes and statuses, which were observed in wrangler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from stepwell.bindings.errors import EngineError, WorkflowError
from stepwell.emulator.api import schemas
from stepwell.emulator.api.endpoints import METHODS, Endpoint, resources
from stepwell.emulator.api.explorer import handlers as handlers
from stepwell.emulator.api.explorer.handlers import BAD_DATES, OTHER
from stepwell.emulator.api.schemas import ANY, COUNT, FLAG, STATUS, TEXT, TIME, listed, nullable, record
from stepwell.emulator.web import answers, kinds, urls
from stepwell.emulator.web.errors import GUARDS, TABLE, ApiError
from stepwell.emulator.web.kinds import BadValue
from stepwell.emulator.web.parts import ServerParts

_NOT_FOUND: Final = 10501


class ExplorerStyle:
    """Errors in the explorer's format."""

    def refused(self, error: ApiError | EngineError | BadValue, path: Mapping[str, str]) -> Response:
        key = error.key if isinstance(error, ApiError) else getattr(error, "code", None)
        if key == "workflow.not_found":
            return answers.failure(404, _NOT_FOUND, f"Workflow '{path.get('workflow_name')}' not found.")
        if key == "instance.not_found":
            return answers.failure(404, _NOT_FOUND, f"Workflow instance '{path.get('instance_id')}' not found.")
        if isinstance(error, EngineError):
            return _engine_failure(error)
        refusal = error.refusal if isinstance(error, ApiError) else None
        status = refusal.status if refusal is not None and refusal.status >= 500 else 400
        return answers.failure(status, OTHER, str(error))

    def broken(self) -> Response:
        return answers.failure(500, OTHER, "Internal error. See the stepwell dev terminal for details.")

    def wrong_method(self, method: str, allowed: Sequence[str]) -> Response:
        return PlainTextResponse("404 Not Found", 404)


def _engine_failure(error: EngineError) -> Response:
    """The binding's own message. Wrangler's explorer returns 500 here, although the request is at fault."""
    named = isinstance(error, WorkflowError) and not error.message.startswith("WorkflowError")
    message = f"{error.name}: {error.message}" if named else error.message
    code = error.code or ""
    conflicts = code == "instance.already_exists" or code.startswith("instance.cannot_")
    return answers.failure(409 if conflicts else 400, OTHER, message)


def refusals(row: Endpoint) -> dict[int, str]:
    """Descriptions of an endpoint's possible errors, by HTTP status."""
    found = {400: f"{OTHER}, with what is wrong with a field; {BAD_DATES} for dates the wrong way round"}
    if row.errors:
        found[404] = f"{_NOT_FOUND}: no such Workflow, or no such instance"
    if row.method in ("PATCH", "POST"):
        found[409] = f"{OTHER}: the id is in use, or the instance is not in a status for it"
    if row.method != "GET":
        found[500] = f"{OTHER}: the engine may be held by user code"
    guarded = {refusal.status: f"{refusal.code} {refusal.message}" for refusal in map(TABLE.__getitem__, GUARDS)}
    return found | guarded


_ALL = "/workflows"
_ONE = f"{_ALL}/{{workflow_name}}"
_INSTANCES = f"{_ONE}/instances"
_INSTANCE = f"{_INSTANCES}/{{instance_id}}"
_NAMES: Final = {"name": TEXT, "class_name": TEXT, "script_name": TEXT}
_COUNTS: Final = {"type": "object", "additionalProperties": COUNT}
_DETAIL: Final = record(
    {
        "status": STATUS,
        "params": ANY,
        "queued": TIME,
        "start": nullable(TIME),
        "end": nullable(TIME),
        "output": ANY,
        "error": nullable(schemas.ERROR),
        "steps": listed({"type": "object"}),
        "step_count": COUNT,
    }
)
_PAGE_INFO: Final = record(
    {"page": COUNT, "per_page": COUNT, "total_count": COUNT, "total_pages": COUNT, "status_counts": _COUNTS}
)
_CREATE: Final = {"type": "object", "properties": {"id": TEXT, "instance_id": TEXT, "params": ANY}}
_DONE: Final = record({"success": FLAG})
_FILTERS: Final = (kinds.PAGE, kinds.PER_PAGE, kinds.STATUS, kinds.DATE_START, kinds.DATE_END)
_ABSENT: Final = ("workflow.not_found",)
_NO_INSTANCE: Final = ("workflow.not_found", "instance.not_found")


def table() -> list[Endpoint]:
    return [*_workflow_rows(), *_list_rows(), *_instance_rows()]


def _workflow_rows() -> list[Endpoint]:
    return [
        Endpoint(
            "GET",
            _ALL,
            handlers.list_workflows,
            "list_workflows",
            "All Workflows",
            listed(record(_NAMES)),
            info=record({"count": COUNT}),
        ),
        Endpoint(
            "GET",
            _ONE,
            handlers.get_workflow,
            "get_workflow",
            "One Workflow",
            record({**_NAMES, "instances": _COUNTS}),
            errors=_ABSENT,
        ),
        Endpoint(
            "DELETE",
            _ONE,
            handlers.delete_workflow,
            "delete_workflow",
            "Removes all instances",
            schemas.OK,
            errors=_ABSENT,
        ),
    ]


def _list_rows() -> list[Endpoint]:
    brief = record({"id": TEXT, "status": STATUS, "created_on": TIME})
    return [
        Endpoint(
            "GET",
            _INSTANCES,
            handlers.list_instances,
            "list_instances",
            "Instances, newest first",
            listed(brief),
            query=_FILTERS,
            info=_PAGE_INFO,
            errors=_ABSENT,
        ),
        Endpoint(
            "POST",
            _INSTANCES,
            handlers.create_instance,
            "create_instance",
            "Creates an instance",
            record({"id": TEXT}),
            body=_CREATE,
            errors=_ABSENT,
        ),
        Endpoint(
            "POST",
            f"{_INSTANCES}/batch/delete",
            handlers.delete_batch,
            "delete_batch",
            "Deletes up to 100 instances",
            schemas.COMPONENTS["BatchDeleted"],
            body=schemas.DELETE_BATCH,
            body_required=True,
            errors=_ABSENT,
        ),
    ]


def _instance_rows() -> list[Endpoint]:
    return [
        Endpoint(
            "GET", _INSTANCE, handlers.get_instance, "get_instance", "One instance", _DETAIL, errors=_NO_INSTANCE
        ),
        Endpoint(
            "DELETE",
            _INSTANCE,
            handlers.delete_instance,
            "delete_instance",
            "Deletes it",
            _DONE,
            errors=_NO_INSTANCE,
        ),
        Endpoint(
            "PATCH",
            f"{_INSTANCE}/status",
            handlers.change_status,
            "change_status",
            "Pauses, resumes, terminates or restarts an instance",
            schemas.COMPONENTS["StatusChanged"],
            body=schemas.STATUS_CHANGE,
            body_required=True,
            errors=_NO_INSTANCE,
        ),
        Endpoint(
            "POST",
            f"{_INSTANCE}/events/{{event_type}}",
            handlers.send_event,
            "send_event",
            "Sends an event; the body is its payload",
            _DONE,
            body=schemas.ANY,
            errors=_NO_INSTANCE,
        ),
    ]


def routes(parts: ServerParts) -> list[BaseRoute]:
    return [
        *resources(urls.EXPLORER, table(), parts, ExplorerStyle()),
        Route(urls.EXPLORER + "{rest:path}", _no_route, methods=METHODS),
    ]


async def _no_route(request: Request) -> Response:
    return PlainTextResponse("404 Not Found", 404)
