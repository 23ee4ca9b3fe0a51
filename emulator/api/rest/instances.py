"""Handlers of the REST API on instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from starlette.responses import Response

from stepwell.bindings.values.times import iso
from stepwell.emulator.api import details, pages, views
from stepwell.emulator.api.endpoints import Call
from stepwell.emulator.api.steps_view import View
from stepwell.emulator.engine.names import is_reserved
from stepwell.emulator.storage.records import TERMINABLE, InstanceRow, PageFilter, Status, Trigger, WorkflowRow
from stepwell.emulator.web import bodies, commands
from stepwell.emulator.web.answers import success, success_with
from stepwell.emulator.web.errors import ApiError
from stepwell.emulator.web.kinds import BadValue
from stepwell.emulator.web.marks import real_durations, unreadable
from stepwell.emulator.web.pauses import done_within


# -- reading
async def list_instances(call: Call) -> Response:
    workflow, paging = call.workflow(), pages.paging(call.query)
    wanted = wanted_instances(workflow, call.query)
    reader = call.parts.reader
    rows = [] if paging.is_over else reader.instances(wanted, paging.rows())
    shown = rows[: paging.per_page]
    info = pages.cursor_info(paging, rows)
    if paging.after is None:  # counting is slow, so pages reached by cursor skip it
        info |= pages.total_info(paging, len(shown), reader.count_instances(wanted))
    versions = version_ids(call, workflow)
    marks = marks_of(call, shown)
    result = [views.instance_row(row, workflow.id, versions.get(row.version, ""), marks[row.key]) for row in shown]
    return success(result, info)


def wanted_instances(workflow: WorkflowRow, query: Mapping[str, Any]) -> PageFilter:
    """The filter of a query. Raises `BadValue` if date_start is after date_end."""
    start, end = query.get("date_start"), query.get("date_end")
    if start is not None and end is not None and start > end:
        raise BadValue("date_start: must not be after date_end")
    statuses = (Status(query["status"]),) if "status" in query else ()
    triggers = (Trigger(query["trigger"]),) if "trigger" in query else ()
    return PageFilter(
        workflow=workflow.key,
        statuses=statuses,
        triggers=triggers,
        created_by=(query["created_by"],) if "created_by" in query else (),
        created_from=start,
        created_to=end,
    )


def marks_of(call: Call, rows: Sequence[InstanceRow]) -> dict[int, View]:
    """By the keys of the instances, the fields that not their rows alone say. Stepwell only."""
    engine = call.parts.engine
    real_ms, damaged = real_durations(engine, rows), unreadable(engine, rows)
    return {
        row.key: {
            **({"real_duration_ms": real_ms[row.key]} if row.key in real_ms else {}),
            **({"unreadable": True} if row.key in damaged else {}),
        }
        for row in rows
    }


def version_ids(call: Call, workflow: WorkflowRow) -> dict[int, str]:
    return {version.key: version.id for version in call.parts.reader.versions(workflow.key)}


async def get_instance(call: Call) -> Response:
    workflow = call.workflow()
    key = call.instance_key(workflow)
    row, values = details.instance(call.parts.reader, key)
    simple = call.query.get("simple") == "true"
    steps = [] if simple else details.steps(call.parts.reader, row, values)
    if call.query.get("order") == "desc":
        steps.reverse()
    version = version_ids(call, workflow).get(row.version, "")
    marks = marks_of(call, [row])[key]
    return success_with(views.instance_detail(row, values, version, marks), "steps", steps)


async def get_step(call: Call) -> Response:
    key = call.instance_key(call.workflow())
    kind, attempt = call.query["type"], call.query.get("attempt")
    return details.step_output(call.parts.reader, key, call.query["name"], kind, attempt, call.accept)


# -- creating
async def create_instance(call: Call) -> Response:
    workflow = call.workflow()
    options = create_options(call.json_object())
    if is_reserved(str(options.get("id"))):
        raise ApiError("instance.invalid_id", f'The id "{options["id"]}" is reserved.')
    binding = call.binding(workflow)
    instance_id = await call.parts.thread.call(binding.create, options)
    return success(_created(call, workflow, [instance_id])[0])


async def create_batch(call: Call) -> Response:
    """Create several instances, as createBatch does. `messages` lists the skipped ids."""
    workflow = call.workflow()
    entries = bodies.parse(call.body, "The body")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ApiError("body", "The body must be a list of objects, one for each instance.")
    options = {"instances": [create_options(entry) for entry in entries]}
    binding = call.binding(workflow)
    made = await call.parts.thread.call(binding.create_batch, options)
    outcome = cast("dict[str, Any]", made)
    left_out = [
        {"code": error["code"], "message": f"{error['id']}: {error['message']}"} for error in outcome["errors"]
    ]
    return success(_created(call, workflow, outcome["created"]), messages=left_out)


def create_options(body: dict[str, Any]) -> dict[str, object]:
    """The request's fields as options of the binding. `id` is accepted too, as the local explorer sends it."""
    options: dict[str, object] = {}
    if "instance_id" in body or "id" in body:
        options["id"] = body.get("instance_id", body.get("id"))
    if "params" in body:
        options["params"] = bodies.params(body["params"])
    retention = body.get("instance_retention")
    if isinstance(retention, dict):
        options["retention"] = {
            "successRetention": retention.get("success_retention"),
            "errorRetention": retention.get("error_retention"),
        }
    elif retention is not None:
        raise ApiError("body", '"instance_retention" must be an object.')
    if "location_hint" in body:
        options["locationHint"] = body["location_hint"]
    return options


def _created(call: Call, workflow: WorkflowRow, ids: list[str]) -> list[View]:
    reader, versions = call.parts.reader, version_ids(call, workflow)
    rows = [reader.instance(reader.find(workflow.key, instance_id) or 0) for instance_id in ids]
    return [
        views.instance_created(row, workflow.id, versions.get(row.version, ""))
        if row is not None
        else views.instance_gone(instance_id, workflow.id, versions[max(versions)])
        for instance_id, row in zip(ids, rows, strict=True)
    ]


# -- changing
async def change_status(call: Call) -> Response:
    """pause, resume, terminate and restart are Cloudflare's; skipSleep and timeOut are Stepwell only."""
    workflow, body = call.workflow(), call.json_object()
    call.instance_key(workflow)
    await apply_status(call, workflow, body)
    return success(status_now(call, workflow))


async def apply_status(call: Call, workflow: WorkflowRow, body: dict[str, Any]) -> None:
    """Run the command in a body with `status`. Raises `ApiError` and `WorkflowError`."""
    binding, instance_id, thread = call.binding(workflow), call.path["instance_id"], call.parts.thread
    wanted = body.get("status")
    if "rollback" in body and (wanted != "terminate" or not isinstance(body["rollback"], bool)):
        raise ApiError("body", "'rollback' is only valid when terminating, and is true or false.")
    match wanted:
        case "pause":
            await thread.call(binding.pause, instance_id)
        case "resume":
            await thread.call(binding.resume, instance_id)
        case "terminate":
            # Rollbacks may be tried again for hours; a client that waits for a minute asks again, and ends them.
            await done_within(thread.call(binding.terminate, instance_id, body), call.parts.rollback_patience_s)
        case "restart":
            await thread.call(binding.restart, instance_id, restart_options(body))
        case "skipSleep" | "timeOut":
            name = bodies.clean_text(body["name"], "name") if "name" in body else None
            end = binding.skip_sleep if wanted == "skipSleep" else binding.time_out
            await thread.call(end, instance_id, name)
        case _:
            raise ApiError("body", f'"status" is {wanted!r}; expected pause, resume, terminate or restart.')


def restart_options(body: dict[str, Any]) -> dict[str, object] | None:
    """`from` of a restart, checked as far as it could not be looked up."""
    origin = body.get("from")
    if origin is None:
        return None
    if not isinstance(origin, dict):
        raise ApiError("body", '"from" must be an object: {"name", "count"?, "type"?}.')
    count = origin.get("count", 1)
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count < 2**31:
        raise ApiError("body", '"from.count" must be a whole number above 0.')
    bodies.clean_text(origin.get("name"), "from.name")
    return {"from": origin}


def status_now(call: Call, workflow: WorkflowRow) -> View:
    """The status after a command, and when that was."""
    row: InstanceRow | None = call.parts.reader.instance(call.instance_key(workflow))
    if row is None:
        raise ApiError("instance.not_found")
    return {"status": str(row.status), "timestamp": iso(call.now())}


async def send_event(call: Call) -> Response:
    workflow = call.workflow()
    call.instance_key(workflow)
    await deliver_event(call, workflow)
    return success({"instanceId": call.path["instance_id"], "timestamp": iso(call.now())})


async def deliver_event(call: Call, workflow: WorkflowRow) -> None:
    event = {"type": call.path["event_type"], "payload": bodies.payload(call.body)}
    binding = call.binding(workflow)
    await call.parts.thread.call(binding.send_event, call.path["instance_id"], event)


# -- deleting and terminating
async def delete_instance(call: Call) -> Response:
    """Stepwell only: Cloudflare's REST API deletes lists of instances."""
    workflow = call.workflow()
    key = call.instance_key(workflow)
    await call.parts.thread.call(commands.delete_one, call.parts.engine, workflow.key, key)
    return success({"status": "ok", "success": True})


async def delete_batch(call: Call) -> Response:
    workflow = call.workflow()
    ids = call.json_object().get("instances")
    binding = call.binding(workflow)
    return success(await call.parts.thread.call(binding.delete_batch, ids))


async def terminate_all(call: Call) -> Response:
    """The request of `wrangler workflows instances terminate-all`. Returns when all are terminated."""
    workflow = call.workflow()
    call.binding(workflow)
    statuses = (Status(call.query["status"]),) if "status" in call.query else TERMINABLE
    await call.parts.thread.call(commands.terminate_all, call.parts.engine, workflow.key, statuses)
    return success({"status": "ok"})
