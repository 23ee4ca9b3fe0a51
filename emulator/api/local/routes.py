"""Stepwell's own API: the clock, wiping, histories, and local triggers of schedules."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from stepwell.bindings.errors import EngineError
from stepwell.bindings.ports import StreamOutput
from stepwell.bindings.values import Encoded
from stepwell.bindings.values.json_view import to_json
from stepwell.bindings.values.times import iso
from stepwell.emulator.api import schemas
from stepwell.emulator.api.endpoints import Call, Endpoint, resources
from stepwell.emulator.api.rest.routes import RestStyle
from stepwell.emulator.api.schemas import listed, named
from stepwell.emulator.api.steps_view import View, time_text
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.engine.history import public_event
from stepwell.emulator.engine.time.travel import Move
from stepwell.emulator.storage.records import FINITE, HistoryRow, WorkflowRow
from stepwell.emulator.storage.store import Store
from stepwell.emulator.web import commands, moves, run_to, urls
from stepwell.emulator.web.answers import success
from stepwell.emulator.web.bodies import clean_text
from stepwell.emulator.web.errors import ApiError
from stepwell.emulator.web.imported import imported_rows
from stepwell.emulator.web.kinds import BadValue, Query, WholeNumber
from stepwell.emulator.web.parts import ServerParts
from stepwell.emulator.web.scheduled import call_scheduled, host_of


# -- the clock
async def get_clock(call: Call) -> Response:
    return success(await call.parts.thread.call(_clock, call.parts.engine))


async def move_clock(call: Call) -> Response:
    """Move the clock by a number of ms or to the next wake, or stop a move. Returns when the move is finished."""
    body, parts = call.json_object(), call.parts
    if body.get("stop") is True:
        await parts.thread.call(moves.stop, parts.engine)
    elif body.get("next") is True and "advance_ms" not in body:
        await parts.thread.call(moves.advance_to_next, parts.engine)
    else:
        await parts.thread.call(moves.advance, parts.engine, _advance_ms(body, call.now()))
    return await get_clock(call)


def _advance_ms(body: dict[str, Any], now: int) -> int:
    ms = body.get("advance_ms")
    if isinstance(ms, bool) or not isinstance(ms, int) or ms < 0:
        raise ApiError(
            "body",
            f'"advance_ms" is {ms!r}; expected whole ms of 0 or more, or {{"next": true}} or {{"stop": true}}.',
        )
    if problem := moves.too_far(now, ms):
        raise ApiError("body", problem)
    return ms


async def _clock(engine: Engine) -> View:
    now = engine.clock.now()
    return {
        "now": iso(now),
        "now_ms": now,
        "skew_ms": moves.skew_of(engine),
        "next_at": time_text(engine.next_at()),
        "moving": _moving(engine.clock_move, now),
    }


def _moving(move: Move | None, now: int) -> View | None:
    if move is None:
        return None
    return {"to": iso(move.end), "share": round(move.share(now), 4), "woken": move.woken}


# -- wiping
async def wipe(call: Call) -> Response:
    """Terminate all, delete finished, or delete all instances of one Workflow or of all."""
    body, parts = call.json_object(), call.parts
    chosen = _chosen_workflows(call, body)
    done = 0
    for workflow in chosen:
        done += await parts.thread.call(_wipe, parts.engine, workflow.key, body.get("action"))
    return success({"instances": done})


def _chosen_workflows(call: Call, body: dict[str, Any]) -> list[WorkflowRow]:
    rows = call.parts.reader.workflows()
    if "workflow" not in body:
        return rows
    name = clean_text(body["workflow"], "workflow")
    chosen = [row for row in rows if row.name == name]
    if not chosen:
        raise ApiError("workflow.not_found", f'Workflow "{name}" not found in this Worker.')
    return chosen


async def _wipe(engine: Engine, workflow: int, action: object) -> int:
    match action:
        case "terminate":
            return await commands.terminate_all(engine, workflow)
        case "delete_finished":
            return await commands.delete_all(engine, workflow, FINITE)
        case "delete":
            return await commands.delete_all(engine, workflow)
    raise ApiError("body", f'"action" is {action!r}; expected terminate, delete_finished or delete.')


# -- history
async def get_history(call: Call) -> Response:
    """The entries that `subscribe()` delivers, after a given id."""
    key = call.instance_key(call.workflow())
    reader, instance_id = call.parts.reader, call.path["instance_id"]
    limit = call.query.get("limit", 200)
    rows = reader.history(key, call.query.get("after", 0), limit)[:limit]
    # It only reads; the type says Store because subscriptions of the engine use it as well.
    return success([event_view(cast(Store, reader), key, instance_id, row) for row in rows])


def event_view(store: Store, key: int, instance_id: str, row: HistoryRow) -> View:
    event = public_event(store, key, instance_id, row)
    return {name: _plain(value) for name, value in event.items()}


def _plain(value: object) -> object:
    if isinstance(value, StreamOutput):
        return "[ReadableStream]"
    return to_json(value) if isinstance(value, Encoded) else value


# -- schedules of the Worker
def scheduled_endpoint(parts: ServerParts) -> Any:
    async def scheduled(request: Request) -> Response:
        """Runs a Worker's `scheduled` handler, as `wrangler dev` does for this path; `worker` names another one."""
        query, time = request.query_params, WholeNumber(0, moves.END_OF_TIME)
        try:
            at = time.read(query["time"]) if query.get("time") else parts.engine.clock.now()
        except BadValue as reason:
            return PlainTextResponse(f"time: {reason}", 400)
        host = host_of(parts, query.get("worker", ""))
        if host is None:
            names = ", ".join(host.name for host in parts.hosts)
            return PlainTextResponse(f"worker: unknown Worker {query['worker']!r}; expected one of {names}", 404)
        good = await parts.thread.call(call_scheduled, host, query.get("cron", ""), at)
        outcome = "ok" if good else "exception"
        status = 200 if outcome == "ok" else 500
        if query.get("format") == "json":
            return JSONResponse({"outcome": outcome, "noRetry": False}, status)
        return PlainTextResponse(outcome, status)

    return scheduled


async def call_handler(call: Call) -> Response:
    """Calls the `scheduled` handler of a Worker now; without `cron` it receives the only trigger there is."""
    body, parts = call.json_object(), call.parts
    worker = clean_text(body.get("worker", ""), "worker")
    host = host_of(parts, worker)
    if host is None:
        names = ", ".join(host.name for host in parts.hosts)
        raise ApiError("body", f'There is no Worker "{worker}". Workers: {names}.')
    handler = parts.engine.schedules.handlers.get(host.name)
    crons = () if handler is None else handler.crons
    cron = clean_text(body.get("cron") or (crons[0] if len(crons) == 1 else ""), "cron")
    good = await parts.thread.call(call_scheduled, host, cron, call.now())
    return success({"outcome": "ok" if good else "exception", "worker": host.name, "cron": cron})


# -- schedules of Workflows
async def fire_schedule(call: Call) -> Response:
    """Creates the scheduled instance now. Its own times stay as they are."""
    workflow, body = call.workflow(), call.json_object()
    cron = clean_text(body["cron"], "cron") if body.get("cron") is not None else None
    try:
        instance_id = await call.parts.thread.call(call.parts.engine.fire_schedule, workflow.name, cron)
    except EngineError as error:
        raise ApiError("body", str(error)) from None
    except KeyError:
        raise ApiError("workflow.not_found", f'Workflow "{workflow.name}" is not defined in the Worker.') from None
    return success({"id": instance_id})


# -- imported instances
async def list_imported(call: Call) -> Response:
    """The instances of a Workflow that were imported, also those whose files can't be read."""
    return success(await asyncio.to_thread(imported_rows, call.parts, call.workflow().name))


# -- running to a step
async def run_to_step(call: Call) -> Response:
    """Creates a paused instance that has the results before a step of another one."""
    workflow, body = call.workflow(), call.json_object()
    step = clean_text(body.get("step"), "step")
    new_id = clean_text(body["instance_id"], "instance_id") if body.get("instance_id") is not None else None
    if body.get("imported") is True:
        source = run_to.imported_source(call.parts, workflow, call.path["instance_id"])
    else:
        source = run_to.stored_source(call.parts, call.instance_key(workflow))
    made = await call.parts.thread.call(run_to.run_to, call.binding(workflow), source, step, new_id)
    return success({"id": made})


def table() -> list[Endpoint]:
    after = Query("after", WholeNumber(0, 2**62), "Only entries with ids above this.")
    limit = Query("limit", WholeNumber(1, 1_000), "Maximum number of entries. Default: 200.")
    clock = urls.CLOCK.removeprefix(urls.LOCAL)
    return [
        Endpoint("GET", clock, get_clock, "get_clock", "The clock, and its next wake", named("Clock")),
        Endpoint(
            "POST",
            clock,
            move_clock,
            "move_clock",
            "Moves the clock; due work runs in order",
            named("Clock"),
            body=schemas.ADVANCE,
            body_required=True,
            errors=("body",),
        ),
        Endpoint(
            "POST",
            urls.WIPE.removeprefix(urls.LOCAL),
            wipe,
            "wipe",
            "Terminates all instances, deletes finished ones, or deletes all",
            named("Wiped"),
            body=schemas.WIPE,
            body_required=True,
            errors=("body", "workflow.not_found"),
        ),
        Endpoint(
            "POST",
            urls.CALL_SCHEDULED.removeprefix(urls.LOCAL),
            call_handler,
            "call_scheduled",
            "Calls a Worker's scheduled handler now",
            named("Called"),
            body=schemas.CALL_SCHEDULED,
            errors=("body",),
        ),
        Endpoint(
            "POST",
            "/workflows/{workflow_name}/schedule",
            fire_schedule,
            "fire_schedule",
            "Creates the scheduled instance now",
            named("Fired"),
            body=schemas.FIRE,
            errors=("body", "workflow.not_found"),
        ),
        Endpoint(
            "GET",
            "/workflows/{workflow_name}/imported",
            list_imported,
            "list_imported",
            "The instances that stepwell import has stored",
            listed(named("ImportedRow")),
            errors=("workflow.not_found",),
        ),
        Endpoint(
            "POST",
            "/workflows/{workflow_name}/instances/{instance_id}/run-to",
            run_to_step,
            "run_to",
            "Creates a paused copy of an instance with the results before a step",
            named("Fired"),
            body=schemas.RUN_TO,
            body_required=True,
            errors=("body", "workflow.not_found", "instance.not_found", "instance.step_not_found"),
        ),
        Endpoint(
            "GET",
            "/workflows/{workflow_name}/instances/{instance_id}/history",
            get_history,
            "get_history",
            "The history of an instance, as subscribe() delivers it",
            listed(named("HistoryEvent")),
            query=(after, limit),
            errors=("workflow.not_found", "instance.not_found"),
        ),
    ]


def routes(parts: ServerParts) -> list[BaseRoute]:
    scheduled = scheduled_endpoint(parts)
    return [
        *(Route(path, scheduled, methods=["GET", "POST"]) for path in urls.SCHEDULED),
        *resources(urls.LOCAL, table(), parts, RestStyle()),
    ]
