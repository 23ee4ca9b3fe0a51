"""Handlers of the REST API on Workflows and their versions."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from stepwell.emulator.analysis import Graphs
from stepwell.emulator.api import pages, views
from stepwell.emulator.api.endpoints import Call, Handler
from stepwell.emulator.api.steps_view import View
from stepwell.emulator.engine.time.schedules import next_firing
from stepwell.emulator.storage.records import Status, VersionRow, WorkflowRow
from stepwell.emulator.web import commands
from stepwell.emulator.web.answers import success
from stepwell.emulator.web.errors import ApiError


async def list_workflows(call: Call) -> Response:
    paging = pages.paging(call.query)
    text = call.query.get("search", "")
    rows = [row for row in call.parts.reader.workflows() if text in row.name]
    shown = rows[paging.offset : paging.offset + paging.per_page]
    counts = call.parts.reader.counts()
    result = [_view(call, row, counts.get(row.key, {})) for row in shown]
    return success(result, pages.total_info(paging, len(shown), len(rows)))


async def get_workflow(call: Call) -> Response:
    row = call.workflow()
    return success(_view(call, row, call.parts.reader.counts().get(row.key, {})))


def _view(call: Call, row: WorkflowRow, counts: Mapping[Status, int]) -> View:
    return views.workflow(row, counts, _firings(call, row))


def _firings(call: Call, row: WorkflowRow) -> dict[str, int]:
    """Computed here instead of by the engine, so that lists work while user code blocks it."""
    now = call.now()
    for state in call.parts.engine.workflows():
        if state.key == row.key:
            return {cron: next_firing(cron, now) for cron in state.definition.schedules}
    return {}


async def update_workflow(call: Call) -> Response:
    name = call.path["workflow_name"]
    update = commands.read_update(call.json_object())
    parts = call.parts
    version_id = await parts.thread.call(commands.update_workflow, parts.engine, name, update)
    return success(views.workflow_update(call.workflow(), version_id))


async def delete_workflow(call: Call) -> Response:
    """Delete all instances of a Workflow, and its record if it is no longer defined."""
    row, parts = call.workflow(), call.parts
    await parts.thread.call(commands.delete_all, parts.engine, row.key)
    if not row.defined:
        await parts.thread.call(commands.forget_workflow, parts.engine, row.key)
    return success({"status": "ok", "success": True})


# -- versions
def version_handlers(graphs: Graphs) -> tuple[Handler, Handler, Handler]:
    """Handlers of the list, of one version, and of its graph; they share the graphs that were read."""

    async def list_versions(call: Call) -> Response:
        workflow, paging = call.workflow(), pages.paging(call.query)
        rows = call.parts.reader.versions(workflow.key)
        shown = rows[paging.offset : paging.offset + paging.per_page]
        result = [version_view(call, row, workflow) for row in shown]
        return success(result, pages.total_info(paging, len(shown), len(rows)))

    async def get_version(call: Call) -> Response:
        workflow = call.workflow()
        return success(version_view(call, _version(call, workflow), workflow))

    async def get_graph(call: Call) -> Response:
        workflow = call.workflow()
        version = _version(call, workflow)
        return success(views.version_graph(version, workflow.id, graphs.of(version)))

    def version_view(call: Call, row: VersionRow, workflow: WorkflowRow) -> View:
        whole = row if row.source is not None else call.parts.reader.version(row.key) or row
        return views.version(row, workflow.id, has_graph=graphs.of(whole) is not None)

    return list_versions, get_version, get_graph


def _version(call: Call, workflow: WorkflowRow) -> VersionRow:
    version_id = call.path["version_id"]
    row = call.parts.reader.version_by_id(version_id)
    if row is None or row.workflow != workflow.key:
        raise ApiError("version.not_found", f'"{workflow.name}" has no version "{version_id}".')
    return row
