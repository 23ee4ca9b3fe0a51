"""The stand-in of a Python Worker as a Worker of the runtime: its generated code and its configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from stepwell.emulator.config.binding_kinds import KINDS, Kind
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.python.exports import DEFAULT, Exports
from stepwell.emulator.worker.workerd.bundling import JAVASCRIPT
from stepwell.emulator.worker.workerd.host import JavaScriptWorker

#: With a class's name behind it, the binding by which the stand-in reaches its own Durable Objects.
_OBJECTS: Final = "__STEPWELL_OBJECTS_"
#: Keys of the configuration that belong to the Python code, not to the stand-in.
_DROPPED: Final = frozenset({"main", "workflows", "triggers", "rules", "build", "limits", "python_modules"})


def stand_in_worker(
    config: WorkerConfig, exports: Exports, folder: Path, left_out: frozenset[str]
) -> JavaScriptWorker:
    """The Worker; its code is written into `folder`. `left_out`: names of bindings that cannot work here."""
    main = folder / config.name / "stand_in.mjs"
    main.parent.mkdir(parents=True, exist_ok=True)
    main.write_text(_code(exports))
    flags = tuple(flag for flag in config.compatibility_flags if not flag.startswith(("python_", "no_python_")))
    standing_in = replace(
        config,
        main=main,
        language="javascript",
        compatibility_flags=flags,
        workflows=(),
        services=tuple(service for service in config.services if service.binding not in left_out),
        crons=(),
        raw={**_raw(config, exports, left_out), "main": str(main), "compatibility_flags": list(flags)},
    )
    return JavaScriptWorker(standing_in, {}, stands_in=True)


def _code(exports: Exports) -> str:
    made = json.dumps(str(JAVASCRIPT / "stand_in.mjs"))
    lines = [
        "// Written by Stepwell: stands in for a Worker that is written in Python.",
        f"import {{ durableObject, entrypoint }} from {made};",
        f"export {{ __stepwell, __stepwellSetup }} from {made};",
        f"export default entrypoint(null, {_list(exports.entrypoints.get(DEFAULT, ()))});",
    ]
    for name, methods in exports.entrypoints.items():
        if name != DEFAULT:
            lines.append(f"export const {name} = entrypoint({json.dumps(name)}, {_list(methods)});")
    for name, methods in exports.objects.items():
        lines.append(f"export const {name} = durableObject({json.dumps(name)}, {_list(methods)});")
    return "\n".join([*lines, ""])


def _list(methods: tuple[str, ...]) -> str:
    return json.dumps(list(methods))


def _raw(config: WorkerConfig, exports: Exports, left_out: frozenset[str]) -> dict[str, Any]:
    """The configuration without what cannot work, and with bindings to the Worker's own Durable Objects."""
    raw = {key: value for key, value in config.raw.items() if key not in _DROPPED}
    for kind in KINDS:
        if kind.key in raw:
            raw[kind.key] = _without(kind, raw[kind.key], left_out)
    own = [{"name": _OBJECTS + name, "class_name": name} for name in exports.objects]
    if own:
        objects = raw.get("durable_objects")
        bound = list(objects.get("bindings") or []) if isinstance(objects, Mapping) else []
        raw["durable_objects"] = {"bindings": [*bound, *own]}
    return {key: value for key, value in raw.items() if value is not None}


def _without(kind: Kind, value: Any, left_out: frozenset[str]) -> Any:
    """The value of a binding's key without the entries whose names are left out; None when nothing stays."""
    if kind.shape == "object":
        return None if isinstance(value, Mapping) and value.get(kind.name_key) in left_out else value
    if kind.shape == "list":
        return [entry for entry in value if entry.get(kind.name_key) not in left_out]
    inner = "producers" if kind.shape == "queues" else "bindings"
    if not isinstance(value, Mapping):
        return value
    return {**value, inner: [e for e in value.get(inner) or [] if e.get(kind.name_key) not in left_out]}
