"""Handlers of the local explorer's API: its shapes over the same reads and commands as the REST API's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from stepwell.bindings.errors import WorkflowError
from stepwell.bindings.values.times import iso
from stepwell.emulator.api import details, pages, views
from stepwell.emulator.api.endpoints import Call
from stepwell.emulator.api.rest import instances as rest
from stepwell.emulator.storage.records import Status, WorkflowRow
from stepwell.emulator.web import answers, bodies, commands
from stepwell.emulator.web.answers import success, success_with
from stepwell.emulator.web.kinds import BadValue

BAD_DATES: Final = 10502
#: The code of all errors except not found.
OTHER: Final = 10001
_DATES: Final = (
    "'date_start' must not be after 'date_end'. Update 'date_start' or 'date_end' so 'date_start' is before or "
    "equal to 'date_end'."
)


#: The ids that wrangler accepts when deleting several.
_IDS: Final = re.compile(r"[a-zA-Z0-9, *\/#_-]+")


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
        return answers.failure(400, BAD_DATES, _DATES)
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
    # The REST API's name for it is taken too, so that one request fits both.
    given = next((body[name] for name in ("id", "instance_id") if name in body), None)
    options: dict[str, object] = {"id": given} if {"id", "instance_id"} & body.keys() else {}
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
    if body.get("status") not in ("pause", "resume", "terminate", "restart", "skipSleep", "timeOut"):
        return answers.failure(400, OTHER, "Invalid input")
    if "rollback" in body and body["status"] != "terminate":
        return answers.failure(400, OTHER, "'rollback' is only valid when terminating.")
    call.instance_key(workflow)
    try:
        await rest.apply_status(call, workflow, body)
    except WorkflowError as error:
        if (
            error.code != "instance.cannot_resume"
        ):  # an instance that cannot be resumed stays unchanged, which is not an error
            raise
    return success(rest.status_now(call, workflow))


async def send_event(call: Call) -> Response:
    workflow = call.workflow()
    call.instance_key(workflow)
    await rest.deliver_event(call, workflow)
    return success({"success": True})


async def delete_batch(call: Call) -> Response:
    workflow = call.workflow()
    body = call.json_object()
    ids = body.get("instances")
    if not isinstance(ids, list):
        word = _word(ids) if "instances" in body else "undefined"
        raise BadValue(f"instances: Invalid input: expected array, received {word}")
    if not ids:
        raise BadValue("instances: Too small: expected array to have >=1 items")
    if len(ids) > 100:
        raise BadValue("instances: Too big: expected array to have <=100 items")
    for place, instance_id in enumerate(ids):
        if not isinstance(instance_id, str):
            raise BadValue(f"instances.{place}: Invalid input: expected string, received {_word(instance_id)}")
        if not _IDS.fullmatch(instance_id):
            raise BadValue(f"instances.{place}: Invalid string: must match pattern /^{_IDS.pattern}$/")
    binding = call.binding(workflow)
    return success(await call.parts.thread.call(binding.delete_batch, ids))


def _word(data: object) -> str:
    """JavaScript's word for the kind of a JSON value."""
    words = {str: "string", list: "array", dict: "object", bool: "boolean", type(None): "null"}
    return words.get(type(data), "number")
