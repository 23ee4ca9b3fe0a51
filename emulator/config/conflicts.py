"""Checks between entries: names that are taken twice, and settings in the wrong place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from stepwell.emulator.config.binding_kinds import names_by_kind
from stepwell.emulator.config.checks import Entry, is_object
from stepwell.emulator.config.problems import Problems
from stepwell.emulator.config.workflows import SETTINGS


def check_unique_names(entries: Sequence[object], script: object, field: str, problems: Problems) -> None:
    """Workflow names must be unique in the list.

    wrangler also counts those of other Workers, though the two never meet. In that case Stepwell only warns.
    """
    owners: dict[str, list[object]] = {}
    for entry in entries:
        if is_object(entry) and isinstance(name := entry.get("name"), str):
            owners.setdefault(name, []).append(entry.get("script_name") or script)
    twice = [name for name, of in owners.items() if len({str(owner) for owner in of}) < len(of)]
    text = f'"{field}" bindings must have unique "name" values; duplicate(s) found: '
    if twice:
        hint = "Give each Workflow its own name, or bind one under one name only."
        problems.error(text + '"' + '", "'.join(twice) + '"', hint)
    shared = [name for name, of in owners.items() if len(of) > 1 and name not in twice]
    if shared:
        hint = 'They belong to different Workers, so this works here, but "wrangler deploy" rejects it.'
        problems.warn(text + '"' + '", "'.join(shared) + '"', hint)


def check_foreign_settings(entries: Iterable[object], script: object, problems: Problems) -> None:
    """Settings of a Workflow that another Worker defines: an error, as in wrangler's `dev` and `deploy`."""
    for entry in entries:
        if not is_object(entry) or entry.get("script_name", script) in (script, ""):
            continue
        for key in ("limits", "concurrency", "schedules", "default_retention", "jurisdiction"):
            if entry.get(key):
                problems.error(
                    f'Workflow "{entry.get("name")}" has "{key}" configured but references external script '
                    f'"{entry["script_name"]}". Configure {key} on the worker that defines the workflow.'
                )


def check_exports_once(exports: Mapping[str, Entry], problems: Problems) -> None:
    """Two exports of one Workflow name."""
    declared: dict[object, str] = {}
    for class_name, entry in exports.items():
        name = entry.get("name")
        if isinstance(name, str) and declared.setdefault(name, class_name) != class_name:
            problems.error(
                f'"exports.{declared[name]}" and "exports.{class_name}" both declare the Workflow "{name}". '
                "Workflow names must be unique."
            )


def check_list_against_exports(
    entries: Sequence[object], exports: Mapping[str, Entry], script: object, problems: Problems
) -> None:
    """An entry may bind what an export declares: same class, and all settings on the export."""
    classes = {entry.get("name"): class_name for class_name, entry in exports.items() if "name" in entry}
    for index, entry in enumerate(entries):
        if is_object(entry) and isinstance(name := entry.get("name"), str) and name in classes:
            _check_pair(f"workflows[{index}]", entry, f"exports.{classes[name]}", classes[name], script, problems)


def _check_pair(field: str, entry: Entry, export: str, class_name: str, script: object, problems: Problems) -> None:
    name = entry["name"]
    other = entry.get("script_name") or script
    if other != script:
        problems.error(
            f'"{field}" binds the Workflow "{name}" of the Worker "{other}", but "{export}" declares it in this '
            'Worker. Workflow names are unique per account, so remove "script_name" from the binding or give the '
            "export a different name."
        )
        return
    if entry.get("class_name") != class_name:
        problems.error(
            f'"{field}" and "{export}" both declare the Workflow "{name}", but with different classes '
            f'("{entry.get("class_name")}" and "{class_name}").'
        )
    for key in SETTINGS:
        if key in entry:
            problems.error(
                f'"{field}.{key}" configures the Workflow "{name}", which "{export}" declares. '
                f'Set "{key}" on the export instead.'
            )


def check_unique_bindings(raw: Entry, problems: Problems) -> None:
    """A name in `env` belongs to one binding, of whatever kind."""
    kinds: dict[str, Counter[str]] = {}
    for kind, names in names_by_kind(raw):
        for name in names:
            kinds.setdefault(name, Counter())[kind] += 1
    taken = {name: counts for name, counts in kinds.items() if counts.total() > 1}
    for name, counts in taken.items():
        if len(counts) > 1:
            problems.error(f"{name} assigned to {_listed(list(counts))} bindings.")
        for kind, count in counts.items():
            if count > 1:
                problems.error(f"{name} assigned to multiple {kind} bindings.")
    if taken:
        problems.error(
            "Bindings must have unique names, so that they can all be referenced in the worker.\n"
            "Please change your bindings to have unique names."
        )


def _listed(items: list[str]) -> str:
    if len(items) == 2:
        return " and ".join(items)
    return ", ".join(items[:-1]) + ", and " + items[-1]
