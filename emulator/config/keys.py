"""The keys of a wrangler file, checked with wrangler's messages."""

from __future__ import annotations

import re
from typing import Final, cast

from stepwell.emulator.config.binding_kinds import BY_KEY, check_bindings
from stepwell.emulator.config.checks import (
    Entry,
    check_array,
    check_object,
    check_string,
    check_strings,
    is_object,
    warn_unexpected,
    whole_number,
)
from stepwell.emulator.config.compatibility import check_date, check_flags
from stepwell.emulator.config.conflicts import (
    check_exports_once,
    check_foreign_settings,
    check_list_against_exports,
    check_unique_bindings,
    check_unique_names,
)
from stepwell.emulator.config.environments import TOP_LEVEL_ONLY, Selected, section_of
from stepwell.emulator.config.problems import Problems, shown
from stepwell.emulator.config.workflows import check_binding, check_crons, check_export

_NAME: Final = re.compile(r"[a-z0-9_][a-z0-9_-]*")
# Read by us, or handed on to the runtime as they are.
ENVIRONMENT_KEYS: Final = frozenset(
    {*BY_KEY, "vars", "secrets", "define", "cloudchamber", "containers", "connect", "tail_consumers"}
    | {"streaming_tail_consumers", "account_id", "compatibility_date", "compatibility_flags", "jsx_factory"}
    | {"jsx_fragment", "tsconfig", "rules", "name", "main", "find_additional_modules", "preserve_file_names"}
    | {"base_dir", "route", "routes", "triggers", "limits", "placement", "build", "workers_dev", "preview_urls"}
    | {"migrations", "exports", "no_bundle", "minify", "keep_names", "first_party_worker", "logpush"}
    | {"upload_source_maps", "observability", "access", "cache", "compliance_region", "python_modules", "previews"}
)
#: Every key that a wrangler file may have at its top level.
KNOWN_KEYS: Final = ENVIRONMENT_KEYS | TOP_LEVEL_ONLY
_REMOVED: Final = {
    "legacy_env": 'The "legacy_env" field is no longer supported, so please remove it from your configuration '
    "file.",
    "node_compat": 'The "node_compat" field is no longer supported as of Wrangler v4. Instead, use the '
    "`nodejs_compat` compatibility flag.",
}
_DEV_KEYS: Final = ("ip", "port", "inspector_port", "inspector_ip", "local_protocol", "upstream_protocol", "host")
_OTHER_DEV_KEYS: Final = ("enable_containers", "container_engine", "generate_types")


def check_file(raw: Entry, selected: Selected, problems: Problems) -> None:
    """Everything that can be said about a configuration from its text. Reports; raises nothing."""
    _check_environment(raw, "", problems)
    if selected.own is not None and selected.name is not None:
        _check_environment(selected.own, selected.prefix, problems.within(section_of(selected.name)))
    _check_dev(raw.get("dev", {}), problems)
    effective = selected.raw
    workflows = effective.get("workflows")
    entries = workflows if isinstance(workflows, list) else []
    script = effective.get("name")
    check_list_against_exports(entries, workflow_exports(effective), script, problems)
    check_foreign_settings(entries, script, problems)
    check_unique_bindings(effective, problems)
    for key, text in _REMOVED.items():
        if key in raw:
            problems.error(text)
    warn_unexpected(raw, "top-level", KNOWN_KEYS | {*_REMOVED}, problems, similar=ENVIRONMENT_KEYS)


def _check_environment(raw: Entry, prefix: str, problems: Problems) -> None:
    if "compatibility_date" in raw:
        check_date(raw["compatibility_date"], problems)
    flags = raw.get("compatibility_flags", [])
    if check_strings(flags, "compatibility_flags", problems):
        check_flags(cast("list[str]", flags), problems)
    _check_name(raw.get("name", ""), problems)
    check_string(raw.get("main", ""), "main", problems)
    _check_triggers(raw.get("triggers"), problems)
    _check_vars(raw.get("vars", {}), f"{prefix}vars", problems)
    _check_secrets(raw.get("secrets", {}), f"{prefix}secrets", problems)
    workflows = raw.get("workflows", [])
    if check_array(workflows, f"{prefix}workflows", problems):
        for index, entry in enumerate(workflows):
            check_binding(entry, f"{prefix}workflows[{index}]", problems)
        check_unique_names(workflows, raw.get("name"), "workflows", problems)
    _check_exports(raw.get("exports"), problems)
    check_exports_once(workflow_exports(raw), problems)
    check_bindings(raw, prefix, problems)
    _check_services(raw.get("services"), f"{prefix}services", problems)
    if prefix:
        warn_unexpected(raw, prefix.rstrip("."), ENVIRONMENT_KEYS, problems, similar=ENVIRONMENT_KEYS)


def _check_name(name: object, problems: Problems) -> None:
    if name != "" and not (isinstance(name, str) and _NAME.fullmatch(name)):
        problems.error(
            'Expected "name" to be of type string, alphanumeric and lowercase with dashes only '
            f"but got {shown(name)}."
        )


def _check_triggers(triggers: object, problems: Problems) -> None:
    if triggers is None:
        return
    if not is_object(triggers):
        problems.error(f'Expected "triggers" to be of type object but got {shown(triggers)}.')
        return
    crons = triggers.get("crons") or []
    if not isinstance(crons, list):
        problems.error(f'Expected "triggers.crons" to be of type array, but got {shown(triggers)}.')
    elif check_strings(crons, "triggers.crons", problems):
        check_crons(crons, '"triggers.crons"', problems)
    _check_events(triggers.get("events"), problems)
    warn_unexpected(triggers, "triggers", ("crons", "events"), problems, similar=("crons", "events"))


def _check_events(events: object, problems: Problems) -> None:
    """No event of Cloudflare's other products reaches one's own machine: says so, with what to do instead."""
    if not isinstance(events, list) or not events:
        return
    targets = [target for event in events if is_object(event) for target in _targets(event)]
    commands = " ".join(f"`stepwell workflows trigger {name}`" for name in dict.fromkeys(targets))
    problems.warn(
        '"triggers.events" does nothing here: Cloudflare delivers these events to deployed Workers only.',
        f"Create the instances by hand: {commands}" if commands else "",
    )


def _targets(event: Entry) -> list[str]:
    """The Workflows that an event is to start."""
    targets = event.get("targets")
    entries = targets if isinstance(targets, list) else []
    names = [entry.get("workflow_name") for entry in entries if is_object(entry)]
    return [name for name in names if isinstance(name, str)]


def _check_vars(values: object, field: str, problems: Problems) -> None:
    if not check_object(values, field, problems):
        return
    for name, value in values.items():
        if hasattr(value, "isoformat"):
            problems.error(
                f'The field "{field}.{name}" is a TOML date, which is not supported. '
                f'Please use a string instead, e.g. {name} = "2025-12-19".'
            )


def _check_secrets(secrets: object, field: str, problems: Problems) -> None:
    if not check_object(secrets, field, problems):
        return
    warn_unexpected(secrets, field, ("required",), problems)
    required = secrets.get("required", [])
    if not isinstance(required, list):
        problems.error(f'Expected "{field}.required" to be an array of strings but got {shown(required)}')
        return
    for index, name in enumerate(required):
        check_string(name, f"{field}.required.[{index}]", problems)


def _check_exports(exports: object, problems: Problems) -> None:
    if exports is None:
        return
    if not is_object(exports):
        problems.error(
            f'The optional "exports" field should be an object keyed by class name, but got {shown(exports)}'
        )
        return
    for class_name, entry in exports.items():
        if not is_object(entry):
            problems.error(f'"exports.{class_name}" should be an object but got {shown(entry)}.')
        elif entry.get("type") == "workflow":
            check_export(class_name, entry, problems)
        elif entry.get("type") not in ("durable-object", "worker"):
            problems.error(
                f'"exports.{class_name}.type" must be "durable-object", "worker", or "workflow", '
                f"but got {shown(entry.get('type'))}."
            )


def _check_services(services: object, field: str, problems: Problems) -> None:
    for index, entry in enumerate(services if isinstance(services, list) else []):
        if not is_object(entry):
            continue
        if not isinstance(entry.get("service"), str):
            problems.error(
                f'"{field}[{index}]" bindings should have a string "service" field but got {shown(entry)}.'
            )
        if not isinstance(entry.get("entrypoint", ""), str):
            problems.error(
                f'"{field}[{index}]" bindings should have a string "entrypoint" field but got {shown(entry)}.'
            )


def _check_dev(dev: object, problems: Problems) -> None:
    if not check_object(dev, "dev", problems):
        return
    for key in ("ip", "inspector_ip", "host"):
        check_string(dev.get(key, ""), f"dev.{key}", problems)
    for key in ("local_protocol", "upstream_protocol"):
        value = dev.get(key, "http")
        if check_string(value, f"dev.{key}", problems) and value not in ("http", "https"):
            got = shown(value)
            problems.error(f'Expected "dev.{key}" field to be one of ["http","https"] but got {got}.')
    for key in ("port", "inspector_port"):
        value = dev.get(key, 0)
        port = whole_number(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            problems.error(f'Expected "dev.{key}" to be of type number but got {shown(value)}.')
        elif port is None or not 0 <= port <= 65_535:
            problems.error(f'Expected "dev.{key}" to be a port number from 0 to 65535 but got {shown(value)}.')
    if dev.get("local_protocol") == "https":
        problems.warn('"dev.local_protocol" is "https", but Stepwell serves HTTP only.')
    warn_unexpected(dev, "dev", (*_DEV_KEYS, *_OTHER_DEV_KEYS), problems, similar=_DEV_KEYS)


def workflow_exports(raw: Entry) -> dict[str, Entry]:
    """The entries of `exports` that declare Workflows, by class name."""
    exports = raw.get("exports")
    items = exports.items() if is_object(exports) else ()
    return {name: entry for name, entry in items if is_object(entry) and entry.get("type") == "workflow"}
