"""JSON schemas of bodies and results, with the names and the optional members of the official clients' types."""

from __future__ import annotations

from typing import Any, Final

from stepwell.emulator.web.kinds import STATUSES, STEP_KINDS, Schema

TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
FLAG: Final[Schema] = {"type": "boolean"}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
ANY: Final[Schema] = {}
STATUS: Final[Schema] = {"type": "string", "enum": list(STATUSES)}
SOURCE: Final[Schema] = {"type": "string", "enum": ["unknown", "api", "binding", "event", "cron"]}
#: A whole number of ms, or a string like "5 minutes", which is checked when parsed.
DURATION: Final[Schema] = {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 2**53 - 1}, TEXT]}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def listed(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def named(name: str) -> Schema:
    """A reference to one of `COMPONENTS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": sorted(required),
        "additionalProperties": False,
    }


ERROR: Final = record({"name": TEXT, "message": TEXT})
RETENTION: Final = record({}, {"success_retention": DURATION, "error_retention": DURATION})
OK: Final = record({"status": {"const": "ok"}}, {"success": FLAG})

_WORKFLOW_NAMES: Final = {
    "id": TEXT,
    "name": TEXT,
    "class_name": TEXT,
    "script_name": TEXT,
    "created_on": TIME,
    "modified_on": TIME,
    "triggered_on": nullable(TIME),
}
_VERSION_NAMES: Final = {
    "id": TEXT,
    "class_name": TEXT,
    "created_on": TIME,
    "modified_on": TIME,
    "workflow_id": TEXT,
}
_CREATED: Final = {"id": TEXT, "status": STATUS, "version_id": TEXT, "workflow_id": TEXT, "trigger_source": SOURCE}
_INSTANCE_REF: Final = record({"workflow": TEXT, "instance_id": TEXT})
#: Stepwell only: where an instance comes from, and its marks.
_ORIGINS: Final = {
    "created_by": _INSTANCE_REF,
    "copied_from": _INSTANCE_REF,
    "restarted_on": TIME,
    "real_duration_ms": COUNT,
    "unreadable": FLAG,
}
_CONFIG: Final = record(
    {
        "retries": record({"limit": NUMBER, "delay": {"type": ["string", "number"]}}, {"backoff": TEXT}),
        "timeout": {"type": ["string", "number"]},
    },
    {"sensitive": {"const": "output"}},
)
_ATTEMPT: Final = record(
    {"start": TIME, "end": nullable(TIME), "success": nullable(FLAG), "error": nullable(ERROR)}
)
#: Why a step has a result without having run in this run: a restart kept it, or it was copied.
_CARRIED: Final[Schema] = {"enum": ["restart", "copy"]}
_STEP: Final = record(
    {
        "name": TEXT,
        "type": {"enum": ["step", "rollback"]},
        "start": TIME,
        "end": nullable(TIME),
        "success": nullable(FLAG),
        "config": _CONFIG,
        "attempts": listed(_ATTEMPT),
    },
    {"output": ANY, "next_attempt": record({"attempt": COUNT, "at": TIME}), "carried": _CARRIED},
)
_PAUSE_LIKE: Final = {"name": TEXT, "start": TIME, "end": TIME, "finished": FLAG, "error": nullable(ERROR)}
_SLEEP: Final = record({**_PAUSE_LIKE, "type": {"const": "sleep"}}, {"carried": _CARRIED})
_WAIT: Final = record(
    {**_PAUSE_LIKE, "type": {"const": "waitForEvent"}, "event_type": TEXT}, {"output": ANY, "carried": _CARRIED}
)

COMPONENTS: Final[dict[str, Schema]] = {
    "Workflow": record(
        {**_WORKFLOW_NAMES, "instances": record(dict.fromkeys(STATUSES, COUNT)), "script_deleted": FLAG},
        {"schedules": listed(record({"cron": TEXT, "next_instance": TIME}))},
    ),
    "WorkflowUpdate": record(
        {**_WORKFLOW_NAMES, "version_id": TEXT, "is_deleted": NUMBER, "terminator_running": NUMBER}
    ),
    "Version": record(
        {**_VERSION_NAMES, "language": {"enum": ["javascript", "python"]}, "has_dag": FLAG},
        {
            "limits": record({"steps": COUNT}),
            "concurrency": record({"limit": COUNT}),
            "default_retention": record({}, {"success_retention": COUNT, "error_retention": COUNT}),
        },
    ),
    "VersionGraph": record({**_VERSION_NAMES, "graph": nullable({"type": "object"})}),
    "InstanceCreated": record(_CREATED),
    "Fired": record({"id": TEXT}),
    "ImportedRow": record(
        {"id": TEXT, "file": TEXT},
        {
            "status": STATUS,
            "created_on": TIME,
            "started_on": nullable(TIME),
            "ended_on": nullable(TIME),
            "origin": TEXT,
            "problem": TEXT,
        },
    ),
    "Called": record({"outcome": {"enum": ["ok", "exception"]}, "worker": TEXT, "cron": TEXT}),
    "InstanceRow": record(
        {
            **_CREATED,
            "created_on": TIME,
            "modified_on": TIME,
            "started_on": nullable(TIME),
            "ended_on": nullable(TIME),
        },
        _ORIGINS,
    ),
    "Step": {
        "anyOf": [
            _STEP,
            _SLEEP,
            _WAIT,
            record({"type": {"const": "termination"}, "trigger": record({"source": TEXT})}),
        ]
    },
    "InstanceDetail": record(
        {
            "status": STATUS,
            "params": ANY,
            "queued": TIME,
            "start": nullable(TIME),
            "end": nullable(TIME),
            "output": ANY,
            "error": nullable(ERROR),
            "success": nullable(FLAG),
            "trigger": record({"source": SOURCE}),
            "versionId": TEXT,
            "rollback": nullable(record({"outcome": {"enum": ["complete", "failed"]}, "error": nullable(ERROR)})),
            "steps": listed(named("Step")),
            "step_count": COUNT,
        },
        {"schedule": record({"cron": TEXT, "scheduledTime": NUMBER}), **_ORIGINS},
    ),
    "StepOutput": record(
        {"status": STATUS, "error": nullable(ERROR), "output": ANY},
        {"event_type": TEXT},
    ),
    "StatusChanged": record({"status": STATUS, "timestamp": TIME}),
    "EventSent": record({"instanceId": TEXT, "timestamp": TIME}),
    "BatchDeleted": record(
        {
            "deleted": listed(record({"id": TEXT})),
            "errors": listed(record({"id": TEXT, "code": COUNT, "message": TEXT})),
        }
    ),
    "Clock": record(
        {
            "now": TIME,
            "now_ms": COUNT,
            "skew_ms": COUNT,
            "next_at": nullable(TIME),
            "moving": nullable(record({"to": TIME, "share": {"type": "number"}, "woken": COUNT})),
        }
    ),
    "Wiped": record({"instances": COUNT}),
    "HistoryEvent": {
        "type": "object",
        "required": ["type", "instanceId", "eventId", "timestamp"],
        "properties": {"type": TEXT, "instanceId": TEXT, "eventId": COUNT, "timestamp": COUNT},
    },
}

# -- bodies
CREATE: Final = {
    "type": "object",
    "properties": {
        "instance_id": {"type": "string", "pattern": "^[a-zA-Z0-9_][a-zA-Z0-9-_]*$", "maxLength": 100},
        "params": {"description": "Any JSON value. A string is parsed as JSON, as the official clients send it."},
        "instance_retention": RETENTION,
        "location_hint": TEXT,
    },
}
STATUS_CHANGE: Final = {
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {"enum": ["pause", "resume", "terminate", "restart", "skipSleep", "timeOut"]},
        "rollback": {"type": "boolean", "description": "With terminate: run the rollback handlers first."},
        "reason": {"type": "string", "description": "With terminate: a note for people. Stepwell only."},
        "from": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": TEXT,
                "count": {"type": "integer", "minimum": 1},
                "type": {"enum": list(STEP_KINDS)},
            },
        },
        "name": {
            "type": "string",
            "description": "With skipSleep and timeOut: the step. Default: the step that is due next.",
        },
    },
}
UPDATE: Final = {
    "type": "object",
    "required": ["class_name", "script_name"],
    "properties": {
        "class_name": TEXT,
        "script_name": TEXT,
        "limits": {"type": "object", "properties": {"steps": {"type": "integer", "minimum": 1}}},
        "concurrency": {"type": "object", "properties": {"limit": {"type": "integer", "minimum": 1}}},
        "default_retention": RETENTION,
        "schedules": listed({"type": "object", "required": ["cron"], "properties": {"cron": TEXT}}),
    },
}
DELETE_BATCH: Final = {
    "type": "object",
    "required": ["instances"],
    "properties": {"instances": {"type": "array", "minItems": 1, "maxItems": 100, "items": TEXT}},
}
ADVANCE: Final = {
    "type": "object",
    "properties": {
        "advance_ms": {"type": "integer", "minimum": 0},
        "next": {"const": True, "description": "Move to the next wake."},
        "stop": {"const": True, "description": "Stop a running move at the current time."},
    },
}
WIPE: Final = {
    "type": "object",
    "required": ["action"],
    "properties": {
        "action": {"enum": ["terminate", "delete_finished", "delete"]},
        "workflow": {"type": "string", "description": "Limit to this Workflow. Default: all."},
    },
}
CALL_SCHEDULED: Final = {
    "type": "object",
    "properties": {
        "cron": {"type": "string", "description": "Expression that the handler receives."},
        "worker": {"type": "string", "description": "Name of the Worker; the first one if absent."},
    },
}
FIRE: Final = {
    "type": "object",
    "properties": {"cron": {"type": "string", "description": "The schedule. Required if there are several."}},
}
RUN_TO: Final = {
    "type": "object",
    "properties": {
        "step": {"type": "string", "description": "The step to stop before, such as charge-1."},
        "instance_id": {"type": "string", "description": "ID of the new instance. Default: a random one."},
        "imported": {"type": "boolean", "description": "Take the results from the imported instance of that ID."},
    },
    "required": ["step"],
}
CURSOR_INFO: Final = record(
    {"per_page": COUNT, "count": COUNT, "cursor": TEXT},
    {"page": COUNT, "total_count": COUNT, "total_pages": COUNT},
)
TOTAL_INFO: Final = record(
    {"page": COUNT, "per_page": COUNT, "count": COUNT, "total_count": COUNT, "total_pages": COUNT}
)
