"""Which Durable Object classes a Worker has, and how they store: told by migrations, bindings and exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stepwell.emulator.config.model import WorkerConfig


@dataclass(frozen=True, slots=True)
class DurableClass:
    """`first_name` is the name the class was introduced with: its objects keep their storage when it is renamed."""

    name: str
    first_name: str
    sqlite: bool


def durable_classes(config: WorkerConfig) -> list[DurableClass]:
    """The classes that the Worker exports as Durable Objects, by name."""
    classes: dict[str, DurableClass] = {}
    for step in _list(config.raw.get("migrations")):
        _migrate(classes, step)
    exports = config.raw.get("exports")
    for name, entry in exports.items() if isinstance(exports, Mapping) else ():
        if isinstance(entry, Mapping) and entry.get("type") == "durable-object":
            sqlite = entry.get("storage") != "legacy-kv"
            classes.setdefault(name, DurableClass(name, name, sqlite))
    objects = config.raw.get("durable_objects")
    for binding in _list(objects.get("bindings")) if isinstance(objects, Mapping) else ():
        if binding.get("script_name") in (None, config.name):
            name = str(binding["class_name"])
            classes.setdefault(name, DurableClass(name, name, sqlite=False))
    return sorted(classes.values(), key=lambda one: one.name)


def unique_key(config: WorkerConfig, binding: str) -> str:
    """What the runtime makes the ids of a binding's namespace from."""
    objects = config.raw.get("durable_objects")
    for entry in _list(objects.get("bindings")) if isinstance(objects, Mapping) else ():
        if entry.get("name") == binding:
            script, name = entry.get("script_name") or config.name, str(entry["class_name"])
            own = {durable.name: durable.first_name for durable in durable_classes(config)}
            return f"{script}-{own.get(name, name) if script == config.name else name}"
    raise KeyError(binding)


def _migrate(classes: dict[str, DurableClass], step: Mapping[str, Any]) -> None:
    for key, sqlite in (("new_classes", False), ("new_sqlite_classes", True)):
        for name in step.get(key) or ():
            classes[name] = DurableClass(name, name, sqlite)
    for renamed in step.get("renamed_classes") or ():
        old = classes.pop(renamed["from"], None)
        if old is not None:
            classes[renamed["to"]] = replace(old, name=renamed["to"])
    for name in step.get("deleted_classes") or ():
        classes.pop(name, None)


def _list(value: object) -> list[Mapping[str, Any]]:
    return list(value) if isinstance(value, list) else []
