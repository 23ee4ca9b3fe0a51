"""Which bindings of a Python Worker cannot work here, and why: one line for each."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from stepwell.emulator.config.binding_kinds import KINDS, Kind, binding_names
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.host import WorkerLoadError
from stepwell.emulator.worker.workerd.durable_objects import durable_classes
from stepwell.emulator.worker.workerd.runtime_choice import Wanted, choose_runtime
from stepwell.emulator.worker.workerd.toolchain import Toolchain

#: Kinds that only run on Cloudflare itself, also under `wrangler dev`.
_ONLY_REMOTE: Final = frozenset(
    {"ai", "ai_search", "ai_search_namespaces", "media", "vpc_services", "vpc_networks", "agent_memory", "k2"}
)
_LOG_IN: Final = (
    "it runs on Cloudflare only, and wrangler is not logged in: run `npx wrangler login`, "
    "or set CLOUDFLARE_API_TOKEN"
)
_INSTALL: Final = (
    "Cloudflare's runtime is not installed: run `npm install --save-dev wrangler` in the project, then start again"
)


def unavailable_bindings(
    config: WorkerConfig, running: Collection[str], tools: Toolchain, wanted: Wanted
) -> dict[str, str]:
    """The reasons by the names of the bindings. `running`: the Workers of this run."""
    reasons: dict[str, str] = {}
    nothing_runs = why_no_runtime(config, tools, wanted)
    logged_in = is_logged_in()
    for kind in KINDS:
        for name, entry in _entries(kind, config.raw.get(kind.key)):
            reason = None
            if kind.key == "services":
                reason = None if entry.get("service") in running else _not_running(entry)
            elif (kind.key in _ONLY_REMOTE or entry.get("remote") is True) and not logged_in:
                reason = _LOG_IN
            if reason is None and kind.key != "services":
                reason = nothing_runs
            if reason is not None:
                reasons[name] = reason
    return reasons


def why_no_runtime(config: WorkerConfig, tools: Toolchain, wanted: Wanted) -> str | None:
    """Why nothing can hold the bindings of a Worker; None when something can."""
    if tools.workerd is None and tools.wrangler is None:
        return _INSTALL
    try:
        choose_runtime(wanted, [config], tools)
    except WorkerLoadError as error:
        return " ".join(str(error).split()).replace("The Worker", "the Worker", 1)
    return None


def needs_runtime_at_once(config: WorkerConfig) -> list[str]:
    """What of a Worker only works while the runtime runs, whether or not its code uses a binding."""
    queues = config.raw.get("queues")
    parts = {
        "queue consumers": isinstance(queues, Mapping) and queues.get("consumers"),
        "Durable Objects": durable_classes(config),
        "static assets": config.raw.get("assets"),
    }
    return [name for name, value in parts.items() if value]


def is_logged_in() -> bool:
    """Whether wrangler can reach an account: by a token, or by `wrangler login`."""
    if os.environ.get("CLOUDFLARE_API_TOKEN") or os.environ.get("CLOUDFLARE_API_KEY"):
        return True
    config_home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    homes = (config_home, Path.home(), Path.home() / "Library" / "Preferences")
    return any((home / ".wrangler" / "config" / "default.toml").is_file() for home in homes)


def _entries(kind: Kind, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The bindings of a kind by their names; Workflows are ours."""
    if kind.key == "workflows" or not value:
        return
    inner = {"queues": "producers", "bindings": "bindings"}.get(kind.shape)
    entries = value.get(inner) or [] if inner else value if isinstance(value, list) else [value]
    for entry in entries:
        for name in binding_names(kind, {inner: [entry]} if inner else [entry]):
            yield name, entry


def _not_running(entry: Mapping[str, Any]) -> str:
    return f'the Worker "{entry.get("service")}" is not running: add its configuration with -c'
