"""`workflows` and the Workflows of `exports`: checked with wrangler's messages, then read into records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, cast

from stepwell.bindings.durations import InvalidDuration, duration_ms
from stepwell.emulator.config.checks import Entry, is_object, positive_integer, warn_unexpected
from stepwell.emulator.config.model import Jurisdiction, WorkflowConfig
from stepwell.emulator.config.problems import Problems, shown

NAME: Final = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_-]{0,63}")
NAME_FORMAT: Final = (
    "Workflow names must be 1-64 characters long, start with a letter, number, or underscore, and may only contain "
    "letters, numbers, underscores, or hyphens."
)
STEPS_MAX: Final = 25_000
JURISDICTIONS: Final = ("eu", "fedramp", "us")
RETENTIONS: Final = ("success_retention", "error_retention")
SETTINGS: Final = ("limits", "concurrency", "schedules", "default_retention", "jurisdiction")
_BINDING_KEYS: Final = ("binding", "name", "class_name", "script_name", *SETTINGS)
_EXPORT_KEYS: Final = ("type", "name", *SETTINGS)


def check_binding(value: object, field: str, problems: Problems) -> None:
    """One entry of `workflows`. `field` is its place, `workflows[0]` or `env.NAME.workflows[0]`."""
    if not is_object(value):
        problems.error(f'"workflows" bindings should be objects, but got {shown(value)}')
        return
    for key in ("binding", "name", "class_name"):
        if not isinstance(value.get(key), str):
            problems.error(f'"{field}" bindings should have a string "{key}" field but got {shown(value)}.')
        elif key == "name" and not NAME.fullmatch(str(value["name"])):
            problems.error(f'"{field}" binding "name" field is invalid. {NAME_FORMAT}')
    if "script_name" in value and not isinstance(value["script_name"], str):
        problems.error(
            f'"{field}" bindings should, optionally, have a string "script_name" field but got {shown(value)}.'
        )
    _check_settings(value, field, "bindings", problems)
    warn_unexpected(_without_old_keys(value), field, _BINDING_KEYS, problems, similar=_BINDING_KEYS)


def check_export(class_name: str, value: Entry, problems: Problems) -> None:
    """One entry of `exports` with type "workflow"."""
    field = f"exports.{class_name}"
    if "name" not in value:
        problems.error(f'"{field}.name" is a required field.')
    elif not isinstance(value["name"], str):
        problems.error(f'Expected "{field}.name" to be of type string but got {shown(value["name"])}.')
    elif not NAME.fullmatch(value["name"]):
        problems.error(f'"{field}.name" is invalid. {NAME_FORMAT}')
    _check_settings(value, field, "export", problems)
    warn_unexpected(_without_old_keys(value), field, _EXPORT_KEYS, problems, similar=_EXPORT_KEYS)


def _without_old_keys(value: Entry) -> Iterator[str]:
    return (key for key in value if key != "schedule")


def _check_settings(value: Entry, field: str, kind: str, problems: Problems) -> None:
    _check_schedules(value, field, kind, problems)
    _check_limit(value, field, kind, ("limits", "steps"), problems)
    _check_retention(value, field, kind, problems)
    _check_limit(value, field, kind, ("concurrency", "limit"), problems)
    jurisdiction = value.get("jurisdiction", "eu")
    if jurisdiction not in JURISDICTIONS:
        problems.error(
            f'"{field}" {kind} "jurisdiction" field must be one of "eu", "fedramp", or "us", '
            f"but got {shown(jurisdiction)}."
        )


def _check_schedules(value: Entry, field: str, kind: str, problems: Problems) -> None:
    if "schedule" in value:
        problems.error(
            f'"{field}" {kind} "schedule" field is now called "schedules".',
            f'Write "schedules": {shown(value["schedule"])} instead; it takes a cron expression or a list of them.',
        )
    if "schedules" not in value:
        return
    schedules = value["schedules"]
    crons = [schedules] if isinstance(schedules, str) else schedules
    if not isinstance(crons, list) or not all(isinstance(cron, str) for cron in crons):
        problems.error(
            f'"{field}" {kind} should, optionally, have a string or array of strings "schedules" field '
            f"but got {shown(value)}."
        )
    elif schedules in ("", []):
        what = "an empty string" if schedules == "" else "an empty array"
        problems.error(f'"{field}" {kind} "schedules" field must not be {what}.')
    elif "" in crons:
        problems.error(f'"{field}" {kind} "schedules" field must not contain empty strings.')
    else:
        check_crons(crons, f'"{field}" {kind} "schedules" field', problems)


def check_crons(crons: Iterable[str], subject: str, problems: Problems) -> None:
    """wrangler leaves the expressions to the deployment, which refuses bad ones; here that is the start."""
    from stepwell.emulator.crons import InvalidCron, check_cron

    for cron in crons:
        try:
            check_cron(cron)
        except InvalidCron as error:
            problems.error(f"{subject} has a bad cron expression {shown(cron)}: {error}.")


def _check_limit(value: Entry, field: str, kind: str, path: tuple[str, str], problems: Problems) -> None:
    """`limits.steps` and `concurrency.limit`: an object with one whole number of 1 or more."""
    key, number = path
    if key not in value:
        return
    limits = value[key]
    if not is_object(limits):
        problems.error(f'"{field}" {kind} should, optionally, have an object "{key}" field but got {shown(value)}.')
        return
    if number in limits:
        limit = positive_integer(limits[number])
        if limit is None:
            got = shown(limits[number])
            problems.error(f'"{field}" {kind} "{key}.{number}" field must be a positive integer but got {got}.')
        elif key == "limits" and limit > STEPS_MAX:
            problems.warn(
                f'"{field}" has a step limit of {limit}, which exceeds the production maximum of {STEPS_MAX:,}. '
                "This configuration may not work when deployed."
            )
    warn_unexpected(limits, f"{field}.{key}", (number,), problems)


def _check_retention(value: Entry, field: str, kind: str, problems: Problems) -> None:
    if "default_retention" not in value:
        return
    retention = value["default_retention"]
    if not is_object(retention):
        problems.error(
            f'"{field}" {kind} should, optionally, have an object "default_retention" field but got {shown(value)}.'
        )
        return
    for key in RETENTIONS:
        if key in retention and _retention_ms(retention[key]) is None:
            problems.error(
                f'"{field}" {kind} "default_retention.{key}" field must be a positive integer of milliseconds or '
                f'a duration string such as "3 days", but got {shown(retention[key])}.'
            )
    warn_unexpected(retention, f"{field}.default_retention", RETENTIONS, problems)


def _retention_ms(value: object) -> int | None:
    """The file check of wrangler takes any text; the deployment does not. So a text must be a duration here."""
    if not isinstance(value, str):
        return positive_integer(value)
    try:
        return positive_integer(duration_ms(value))
    except InvalidDuration:
        return None


def read_workflows(
    entries: Iterable[Entry], exports: Mapping[str, Entry], script: str
) -> tuple[WorkflowConfig, ...]:
    """The Workflows of a checked file: those of the list with the settings of their exports, then other exports."""
    declared = {str(value["name"]): _read(value, None, name) for name, value in exports.items()}
    bound = []
    for entry in entries:
        own = _read(entry, str(entry["binding"]), str(entry["class_name"]), script)
        exported = None if own.script_name else declared.pop(own.name, None)
        bound.append(replace(exported, binding=own.binding) if exported else own)
    return (*bound, *declared.values())


def _read(entry: Entry, binding: str | None, class_name: str, script: str = "") -> WorkflowConfig:
    other = entry.get("script_name")
    schedules = entry.get("schedules", [])
    retention = cast("Entry", entry.get("default_retention", {}))
    return WorkflowConfig(
        binding=binding,
        name=str(entry["name"]),
        class_name=class_name,
        script_name=str(other) if other and other != script else None,
        steps_limit=positive_integer(cast("Entry", entry.get("limits", {})).get("steps")),
        concurrency_limit=positive_integer(cast("Entry", entry.get("concurrency", {})).get("limit")),
        schedules=(schedules,) if isinstance(schedules, str) else tuple(cast("list[str]", schedules)),
        success_retention_ms=_retention_ms(retention.get("success_retention")),
        error_retention_ms=_retention_ms(retention.get("error_retention")),
        jurisdiction=cast("Jurisdiction | None", entry.get("jurisdiction")),
    )
