"""Cloudflare's REST API on Workflows, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepwell.bindings.errors import EngineError
from stepwell.emulator.analysis import Graphs
from stepwell.emulator.api import schemas
from stepwell.emulator.api.endpoints import METHODS, Endpoint, refusal_of, resources
from stepwell.emulator.api.rest import instances as instances
from stepwell.emulator.api.rest import workflows as workflows
from stepwell.emulator.api.schemas import listed, named
from stepwell.emulator.storage.records import TERMINABLE, Trigger
from stepwell.emulator.web import answers, kinds, urls
from stepwell.emulator.web.errors import ApiError
from stepwell.emulator.web.kinds import BadValue, OneOf, Query, Text, WholeNumber
from stepwell.emulator.web.parts import ServerParts

_ALL = "/accounts/{account_id}/workflows"
_ONE = f"{_ALL}/{{workflow_name}}"
_VERSIONS = f"{_ONE}/versions"
_INSTANCES = f"{_ONE}/instances"
_INSTANCE = f"{_INSTANCES}/{{instance_id}}"

_ABSENT = ("workflow.not_found",)
_NO_INSTANCE = ("workflow.not_found", "instance.not_found")
_PAGES = (kinds.PAGE, kinds.PER_PAGE)


class RestStyle:
    """Errors in Cloudflare's envelope."""

    def refused(self, error: ApiError | EngineError | BadValue, path: Mapping[str, str]) -> Response:
        return answers.refusal(refusal_of(error))

    def broken(self) -> Response:
        return answers.refusal(ApiError("internal_server", "See the stepwell dev terminal for details."))

    def wrong_method(self, method: str, allowed: Sequence[str]) -> Response:
        return answers.refusal(ApiError("no_method", method=method), {"Allow": ", ".join(sorted(allowed))})


def table() -> list[Endpoint]:
    """Every endpoint of the official clients' `workflows` resource, and what wrangler asks for beyond it."""
    return [*_workflow_rows(), *_version_rows(), *_list_rows(), *_instance_rows(), *_command_rows(), *_bulk_rows()]


def _workflow_rows() -> list[Endpoint]:
    search = Query("search", Text(), "Only Workflows whose name contains this.")
    return [
        Endpoint(
            "GET",
            _ALL,
            workflows.list_workflows,
            "list_workflows",
            "All Workflows, with instance counts by status",
            listed(named("Workflow")),
            query=(*_PAGES, search),
            info=schemas.TOTAL_INFO,
        ),
        Endpoint(
            "GET",
            _ONE,
            workflows.get_workflow,
            "get_workflow",
            "One Workflow",
            named("Workflow"),
            errors=_ABSENT,
        ),
        Endpoint(
            "PUT",
            _ONE,
            workflows.update_workflow,
            "update_workflow",
            "Changes limits, concurrency, retention and schedules until the Worker reloads",
            named("WorkflowUpdate"),
            body=schemas.UPDATE,
            body_required=True,
            errors=("body", "workflow.class_not_found"),
        ),
        Endpoint(
            "DELETE",
            _ONE,
            workflows.delete_workflow,
            "delete_workflow",
            "Deletes all instances. The Workflow stays while the wrangler file declares it",
            schemas.OK,
            errors=_ABSENT,
        ),
    ]


def _version_rows() -> list[Endpoint]:
    list_versions, get_version, get_graph = workflows.version_handlers(Graphs())
    one, absent = f"{_VERSIONS}/{{version_id}}", (*_ABSENT, "version.not_found")
    return [
        Endpoint(
            "GET",
            _VERSIONS,
            list_versions,
            "list_versions",
            "Versions, newest first: one per load of changed code",
            listed(named("Version")),
            query=_PAGES,
            info=schemas.TOTAL_INFO,
            errors=_ABSENT,
        ),
        Endpoint("GET", one, get_version, "get_version", "One version", named("Version"), errors=absent),
        Endpoint(
            "GET",
            f"{one}/graph",
            get_graph,
            "get_version_graph",
            "The structure of the Workflow, parsed from its source",
            named("VersionGraph"),
            errors=absent,
        ),
    ]


def _list_rows() -> list[Endpoint]:
    direction = Query("direction", OneOf(("asc", "desc")), "Oldest or newest first. Default: desc.")
    triggers = tuple(map(str, Trigger))
    trigger = Query("trigger", OneOf(triggers), "Only instances created in this way. Stepwell only.")
    creator = "Only instances created by this Workflow (NAME), or by one of its instances (NAME/ID). Stepwell only."
    filters = (kinds.STATUS, kinds.DATE_START, kinds.DATE_END, trigger, Query("created_by", Text(), creator))
    return [
        Endpoint(
            "GET",
            _INSTANCES,
            instances.list_instances,
            "list_instances",
            "Instances, newest first",
            listed(named("InstanceRow")),
            query=(*_PAGES, kinds.CURSOR, direction, *filters),
            info=schemas.CURSOR_INFO,
            errors=(*_ABSENT, "query"),
        ),
        Endpoint(
            "POST",
            _INSTANCES,
            instances.create_instance,
            "create_instance",
            "Creates an instance",
            named("InstanceCreated"),
            body=schemas.CREATE,
            errors=(*_ABSENT, "body", "instance.invalid_id", "instance.already_exists", "instance.rate_limited"),
        ),
    ]


def _instance_rows() -> list[Endpoint]:
    order = Query("order", OneOf(("asc", "desc")), "Order of the steps. Default: asc.")
    simple = Query("simple", OneOf(("true", "false")), "Without the steps.")
    step = (
        Query("name", Text(), "Name of the step with its count, as in `steps`.", required=True),
        Query("type", OneOf(("step", "waitForEvent")), "Type of the step.", required=True),
        Query("attempt", WholeNumber(1), "One attempt instead of the whole step."),
    )
    return [
        Endpoint(
            "GET",
            _INSTANCE,
            instances.get_instance,
            "get_instance",
            "One instance with its steps and their attempts",
            named("InstanceDetail"),
            query=(order, simple),
            errors=_NO_INSTANCE,
        ),
        Endpoint(
            "DELETE",
            _INSTANCE,
            instances.delete_instance,
            "delete_instance",
            "Deletes an instance",
            schemas.OK,
            errors=_NO_INSTANCE,
        ),
        Endpoint(
            "GET",
            f"{_INSTANCE}/step",
            instances.get_step,
            "get_step",
            "The full output of a step; for a stream, its bytes",
            named("StepOutput"),
            query=step,
            errors=(*_NO_INSTANCE, "instance.step_not_found", "query"),
            media=("application/octet-stream",),
        ),
    ]


def _command_rows() -> list[Endpoint]:
    return [
        Endpoint(
            "PATCH",
            f"{_INSTANCE}/status",
            instances.change_status,
            "change_status",
            "Pauses, resumes, terminates or restarts an instance, or ends its sleep or wait",
            named("StatusChanged"),
            body=schemas.STATUS_CHANGE,
            body_required=True,
            errors=(
                *_NO_INSTANCE,
                "body",
                "instance.cannot_resume",
                "instance.cannot_terminate",
                "instance.cannot_restart",
                "instance.not_sleeping",
                "instance.not_waiting",
            ),
        ),
        Endpoint(
            "POST",
            f"{_INSTANCE}/events/{{event_type}}",
            instances.send_event,
            "send_event",
            "Sends an event; the body is its payload",
            named("EventSent"),
            body=schemas.ANY,
            errors=(*_NO_INSTANCE, "body", "workflow.invalid_event_type"),
        ),
    ]


def _bulk_rows() -> list[Endpoint]:
    status = Query("status", OneOf(tuple(map(str, TERMINABLE))), "Only instances in this status.")
    return [
        Endpoint(
            "POST",
            f"{_INSTANCES}/batch",
            instances.create_batch,
            "create_batch",
            "Creates up to 100 instances; existing ids are skipped",
            listed(named("InstanceCreated")),
            body=listed(schemas.CREATE),
            body_required=True,
            errors=(*_ABSENT, "body", "instance.invalid_id"),
        ),
        Endpoint(
            "POST",
            f"{_INSTANCES}/batch/delete",
            instances.delete_batch,
            "delete_batch",
            "Deletes up to 100 instances",
            named("BatchDeleted"),
            body=schemas.DELETE_BATCH,
            body_required=True,
            errors=(*_ABSENT, "body", "instance.invalid_id"),
        ),
        Endpoint(
            "PUT",
            f"{_INSTANCES}/terminate",
            instances.terminate_all,
            "terminate_all",
            "Terminates all unfinished instances",
            schemas.OK,
            query=(status,),
            errors=_ABSENT,
        ),
    ]


def routes(parts: ServerParts) -> list[BaseRoute]:
    return [
        *resources(urls.REST, table(), parts, RestStyle()),
        Route(urls.REST + "{rest:path}", _no_route, methods=METHODS),
    ]


async def _no_route(request: Request) -> Response:
    return answers.refusal(ApiError("no_route", path=request.url.path.removeprefix(urls.REST)))
