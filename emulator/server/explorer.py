"""The API of Cloudflare's local explorer, which `wrangler workflows ... --local` talks to.

It differs from the REST API in shapes, codes and statuses; what it answers where was seen in wrangler's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from bindings.errors import EngineError, WorkflowError
from bindings.times import iso
from emulator.server import answers, bodies, commands, details, kinds, pages, schemas, urls, views
from emulator.server import rest_instances as rest
from emulator.server.answers import success, success_with
from emulator.server.endpoints import METHODS, Call, Endpoint, resources
from emulator.server.errors import ApiError
from emulator.server.kinds import BadValue
from emulator.server.parts import ServerParts
from emulator.server.schemas import ANY, COUNT, FLAG, STATUS, TEXT, TIME, listed, nullable, record
from emulator.storage.records import Status, WorkflowRow

_NOT_FOUND: Final = 10501
_BAD_DATES: Final = 10502
_OTHER: Final = 10001
_DATES: Final = (
    "'date_start' must not be after 'date_end'. Update 'date_start' or 'date_end' so 'date_start' is before or "
    "equal to 'date_end'."
)


class ExplorerStyle:
    """Refusals as the explorer tells them."""

    def refused(self, error: ApiError | EngineError | BadValue, path: Mapping[str, str]) -> Response:
        key = error.key if isinstance(error, ApiError) else getattr(error, "code", None)
        if key == "workflow.not_found":
            return answers.failure(404, _NOT_FOUND, f"Workflow '{path.get('workflow_name')}' not found.")
        if key == "instance.not_found":
            return answers.failure(404, _NOT_FOUND, f"Workflow instance '{path.get('instance_id')}' not found.")
        if isinstance(error, EngineError):
            return _engine_failure(error)
        return answers.failure(400, _OTHER, str(error))

    def broken(self) -> Response:
        return answers.failure(500, _OTHER, "Internal error. The terminal shows what happened.")

    def wrong_method(self, method: str, allowed: Sequence[str]) -> Response:
        return PlainTextResponse("404 Not Found", 404)


def _engine_failure(error: EngineError) -> Response:
    """The binding's own message; 500 as wrangler's, which no client of it sends again."""
    named = isinstance(error, WorkflowError) and not error.message.startswith("WorkflowError")
    message = f"{error.name}: {error.message}" if named else error.message
    return answers.failure(409 if error.code == "instance.cannot_restart" else 500, _OTHER, message)


# -- Workflows
async def list_workflows(call: Call) -> Response:
    result = [_names(row) for row in call.parts.reader.workflows() if row.defined]
    return success(result, {"count": len(result)})


def _names(row: WorkflowRow) -> dict[str, Any]:
    return {"name": row.name, "class_name": row.class_name, "script_name": row.script_name}


def _counts(counts: Mapping[Status, int]) -> dict[str, int]:
    return {str(status): counts.get(status, 0) for status in Status}


async def get_workflow(call: Call) -> Response:
    row = call.workflow()
    counts = _counts(call.parts.reader.counts().get(row.key, {}))
    return success({**_names(row), "instances": {**counts, "unknown": 0}})


async def delete_workflow(call: Call) -> Response:
    row = call.workflow()
    await call.parts.thread.call(commands.delete_all, call.parts.engine, row.key)
    return success({"status": "ok", "success": True})


# -- instances
async def list_instances(call: Call) -> Response:
    start, end = call.query.get("date_start"), call.query.get("date_end")
    if start is not None and end is not None and start > end:
        return answers.failure(400, _BAD_DATES, _DATES)
    workflow, paging = call.workflow(), pages.paging(call.query)
    wanted = rest.wanted_instances(workflow, call.query)
    reader = call.parts.reader
    rows = reader.instances(wanted, paging.rows())[: paging.per_page]
    counts = reader.counts().get(workflow.key, {})
    by_date = start is not None or end is not None
    total = reader.count_instances(wanted) if by_date else _total(counts, wanted.statuses)
    info = {
        "page": paging.page,
        "per_page": paging.per_page,
        "total_count": total,
        "total_pages": max(1, -(-total // paging.per_page)),
        "status_counts": _counts(counts),
    }
    shown = [{"id": row.id, "status": str(row.status), "created_on": iso(row.created_at)} for row in rows]
    return success(shown, info)


def _total(counts: Mapping[Status, int], statuses: tuple[Status, ...]) -> int:
    return sum(count for status, count in counts.items() if not statuses or status in statuses)


async def create_instance(call: Call) -> Response:
    workflow = call.workflow()
    body = call.json_object()
    options: dict[str, object] = {"id": body["id"]} if "id" in body else {}
    if "params" in body:
        options["params"] = bodies.encoded(body["params"])
    binding = call.binding(workflow)
    return success({"id": await call.parts.thread.call(binding.create, options)})


async def get_instance(call: Call) -> Response:
    key = call.instance_key(call.workflow())
    row, values = details.instance(call.parts.reader, key)
    steps = details.explorer_steps(call.parts.reader, row)
    return success_with({**views.instance_values(row, values), "step_count": len(steps)}, "steps", steps)


async def delete_instance(call: Call) -> Response:
    workflow = call.workflow()
    key = call.instance_key(workflow)
    await call.parts.thread.call(commands.delete_one, call.parts.engine, workflow.key, key)
    return success({"success": True})


async def change_status(call: Call) -> Response:
    workflow, body = call.workflow(), call.json_object()
    if body.get("status") not in ("pause", "resume", "terminate", "restart", "skipSleep"):
        return answers.failure(400, _OTHER, "Invalid input")
    if "rollback" in body and body["status"] != "terminate":
        return answers.failure(400, _OTHER, "'rollback' is only valid when terminating.")
    call.instance_key(workflow)
    try:
        await rest.apply_status(call, workflow, body)
    except WorkflowError as error:
        if error.code != "instance.cannot_resume":  # what cannot be resumed stays as it is, and that is an answer
            raise
    return success(rest.status_now(call, workflow))


async def send_event(call: Call) -> Response:
    workflow = call.workflow()
    call.instance_key(workflow)
    await rest.deliver_event(call, workflow)
    return success({"success": True})


async def delete_batch(call: Call) -> Response:
    workflow = call.workflow()
    ids = call.json_object().get("instances")
    if not isinstance(ids, list):
        raise BadValue("instances: Invalid input: expected array, received undefined")
    if not ids:
        raise BadValue("instances: Too small: expected array to have >=1 items")
    if len(ids) > 100:
        raise BadValue("instances: Too big: expected array to have <=100 items")
    binding = call.binding(workflow)
    return success(await call.parts.thread.call(binding.delete_batch, ids))


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
_CREATE: Final = {"type": "object", "properties": {"id": TEXT, "params": ANY}}
_DONE: Final = record({"success": FLAG})
_FILTERS: Final = (kinds.PAGE, kinds.PER_PAGE, kinds.STATUS, kinds.DATE_START, kinds.DATE_END)
_ABSENT: Final = ("workflow.not_found",)
_NO_INSTANCE: Final = ("workflow.not_found", "instance.not_found")


def table() -> list[Endpoint]:
    brief = record({"id": TEXT, "status": STATUS, "created_on": TIME})
    return [
        Endpoint(
            "GET",
            _ALL,
            list_workflows,
            "list_workflows",
            "All Workflows",
            listed(record(_NAMES)),
            info=record({"count": COUNT}),
        ),
        Endpoint(
            "GET",
            _ONE,
            get_workflow,
            "get_workflow",
            "One Workflow",
            record({**_NAMES, "instances": _COUNTS}),
            errors=_ABSENT,
        ),
        Endpoint(
            "DELETE",
            _ONE,
            delete_workflow,
            "delete_workflow",
            "Removes all instances",
            schemas.OK,
            errors=_ABSENT,
        ),
        Endpoint(
            "GET",
            _INSTANCES,
            list_instances,
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
            create_instance,
            "create_instance",
            "Creates an instance",
            record({"id": TEXT}),
            body=_CREATE,
            errors=_ABSENT,
        ),
        Endpoint(
            "POST",
            f"{_INSTANCES}/batch/delete",
            delete_batch,
            "delete_batch",
            "Deletes up to 100 instances",
            schemas.COMPONENTS["BatchDeleted"],
            body=schemas.DELETE_BATCH,
            body_required=True,
            errors=_ABSENT,
        ),
        Endpoint("GET", _INSTANCE, get_instance, "get_instance", "One instance", _DETAIL, errors=_NO_INSTANCE),
        Endpoint("DELETE", _INSTANCE, delete_instance, "delete_instance", "Deletes it", _DONE, errors=_NO_INSTANCE),
        Endpoint(
            "PATCH",
            f"{_INSTANCE}/status",
            change_status,
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
            send_event,
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
