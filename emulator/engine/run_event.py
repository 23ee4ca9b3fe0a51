"""The event that run() receives: built from a new instance, and again from storage at every replay."""

from __future__ import annotations

import json

from stepwell.bindings.ports import RunEvent, Schedule
from stepwell.bindings.values import EMPTY_OBJECT_TEXT, NULL_TEXT, UNDEFINED_TEXT, Encoded


def run_event(
    workflow: str, instance_id: str, created_at: int, params: str | None, schedule: str | None
) -> RunEvent:
    """`params` and `schedule` as they are stored."""
    cron = json.loads(schedule) if schedule else None
    return RunEvent(
        payload=payload_of(params),
        timestamp_at=created_at,
        instance_id=instance_id,
        workflow_name=workflow,
        schedule=Schedule(cron["cron"], cron["scheduledTime"]) if cron else None,
    )


def payload_of(params: str | None) -> Encoded:
    """Params as run() sees them: absent and null ones are an empty object (cases params-absent, params-null)."""
    absent = params is None or params in (NULL_TEXT, UNDEFINED_TEXT)
    return EMPTY_OBJECT_TEXT if absent else Encoded(params)
