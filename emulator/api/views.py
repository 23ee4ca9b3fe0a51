"""Workflows, versions and instances in the REST API's format: pure functions of records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stepwell.bindings.values.json_view import to_json
from stepwell.bindings.values.times import iso
from stepwell.emulator.api.steps_view import View, public_error, time_text
from stepwell.emulator.engine.history import is_undefined
from stepwell.emulator.storage.records import (
    FINITE,
    InstanceRef,
    InstanceRow,
    InstanceValues,
    Status,
    Trigger,
    VersionRow,
    WorkflowRow,
)


def workflow(row: WorkflowRow, counts: Mapping[Status, int], firings: Mapping[str, int]) -> View:
    """`firings` are the next times of its schedules by cron expression."""
    view: View = {
        **_names(row),
        "instances": {str(status): counts.get(status, 0) for status in Status},
        "script_deleted": not row.defined,
    }
    if firings:
        view["schedules"] = [{"cron": cron, "next_instance": iso(at)} for cron, at in firings.items()]
    return view


def _names(row: WorkflowRow) -> View:
    return {
        "id": row.id,
        "name": row.name,
        "class_name": row.class_name,
        "script_name": row.script_name,
        "created_on": iso(row.created_at),
        "modified_on": iso(row.modified_at),
        "triggered_on": time_text(row.triggered_at),
    }


def workflow_update(row: WorkflowRow, version_id: str) -> View:
    return {**_names(row), "version_id": version_id, "is_deleted": 0, "terminator_running": 0}


def version(row: VersionRow, workflow_id: str, *, has_graph: bool) -> View:
    settings: dict[str, Any] = json.loads(row.settings or "{}")
    retention = settings.get("default_retention") or {}
    given = {
        "limits": settings.get("limits"),
        "concurrency": settings.get("concurrency"),
        "default_retention": {name: ms for name, ms in retention.items() if ms is not None},
    }
    return {
        **_version_names(row, workflow_id),
        "language": row.language,
        "has_dag": has_graph,
        **{name: value for name, value in given.items() if value},
    }


def _version_names(row: VersionRow, workflow_id: str) -> View:
    at = iso(row.created_at)
    return {
        "id": row.id,
        "class_name": row.class_name,
        "created_on": at,
        "modified_on": at,
        "workflow_id": workflow_id,
    }


def version_graph(row: VersionRow, workflow_id: str, graph: object) -> View:
    return {**_version_names(row, workflow_id), "graph": graph}


def instance_created(row: InstanceRow, workflow_id: str, version_id: str) -> View:
    return {
        "id": row.id,
        "status": str(row.status),
        "version_id": version_id,
        "workflow_id": workflow_id,
        "trigger_source": str(row.trigger.public),
    }


def instance_gone(instance_id: str, workflow_id: str, version_id: str) -> View:
    """The new instance as created, if it was already deleted again."""
    return {
        "id": instance_id,
        "status": str(Status.QUEUED),
        "version_id": version_id,
        "workflow_id": workflow_id,
        "trigger_source": str(Trigger.API),
    }


def instance_row(row: InstanceRow, workflow_id: str, version_id: str, marks: View) -> View:
    """A row of the list. `marks` are fields that the row alone does not say."""
    return {
        **instance_created(row, workflow_id, version_id),
        "created_on": iso(row.created_at),
        "modified_on": iso(row.modified_at),
        "started_on": time_text(row.started_at),
        "ended_on": time_text(row.ended_at),
        **origins(row),
        **marks,
    }


def origins(row: InstanceRow) -> View:
    """Where an instance comes from, beyond its trigger. Stepwell only; only what there is."""
    created_by, copied_from = InstanceRef.from_json(row.created_by), InstanceRef.from_json(row.copied_from)
    view: View = {}
    if created_by is not None:
        view["created_by"] = {"workflow": created_by.workflow, "instance_id": created_by.id}
    if copied_from is not None:
        view["copied_from"] = {"workflow": copied_from.workflow, "instance_id": copied_from.id}
    if row.restarted_at is not None:
        view["restarted_on"] = time_text(row.restarted_at)
    return view


def instance_detail(row: InstanceRow, values: InstanceValues, version_id: str, marks: View) -> View:
    """Everything of an instance but its steps. `marks` as in `instance_row`."""
    view: View = {
        **instance_values(row, values),
        "success": success_of(row.status),
        "trigger": {"source": str(row.trigger.public)},
        "versionId": version_id,
        "rollback": json.loads(values.rollback) if values.rollback else None,
        "step_count": row.step_count,
        **origins(row),
        **marks,
    }
    if row.schedule:
        view["schedule"] = json.loads(row.schedule)
    return view


def instance_values(row: InstanceRow, values: InstanceValues) -> View:
    """The part that the local explorer shows as well."""
    return {
        "status": str(row.status),
        "params": {} if is_undefined(values.params) else to_json(values.params or "null"),
        "queued": iso(row.created_at),
        "start": time_text(row.started_at),
        "end": time_text(row.ended_at),
        "output": None if is_undefined(values.output) else to_json(values.output or "null"),
        "error": public_error(values.error),
    }


def success_of(status: Status) -> bool | None:
    """Null while it is open."""
    return status is Status.COMPLETE if status in FINITE else None
