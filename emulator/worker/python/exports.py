"""What a Python Worker's code offers to others: its entrypoints and Durable Objects, with the methods of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Final

from stepwell.bindings.entrypoints import DurableObject, WorkerEntrypoint

DEFAULT: Final = "Default"
#: Events, which are not called as methods by RPC.
_EVENTS: Final = frozenset({"fetch", "queue", "scheduled", "email", "tail", "trace", "test"})


@dataclass(frozen=True, slots=True)
class Exports:
    """Public methods by the name of the class, of entrypoints and of Durable Objects."""

    entrypoints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    objects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def exports_of(module: ModuleType, object_classes: Iterable[str]) -> Exports:
    """The exports of an entry module; `object_classes` are those that the configuration names."""
    classes = {name: value for name, value in vars(module).items() if isinstance(value, type)}
    entrypoints = {
        name: methods_of(value, WorkerEntrypoint)
        for name, value in classes.items()
        if issubclass(value, WorkerEntrypoint) and value is not WorkerEntrypoint
    }
    objects = {name: methods_of(classes[name], DurableObject) for name in sorted(object_classes) if name in classes}
    return Exports(entrypoints, objects)


def methods_of(kind: type, base: type) -> tuple[str, ...]:
    """The methods that others may call; `alarm` too, since the runtime calls it so."""
    names = {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    return tuple(sorted(names - set(dir(base)) - _EVENTS))
