"""Which runtime a run uses: `workerd serve`, which starts at once, or the project's `wrangler dev`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from stepwell.emulator.config.keys import KNOWN_KEYS
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.workerd.toolchain import Toolchain, missing

RuntimeName: TypeAlias = Literal["workerd", "wrangler"]
Wanted: TypeAlias = Literal["auto", "workerd", "wrangler"]

# fmt: off
# Keys that our configuration of workerd carries out.
_UNDERSTOOD: Final = frozenset({
    "name", "main", "compatibility_date", "compatibility_flags", "vars", "secrets", "workflows", "exports",
    "durable_objects", "migrations", "services", "triggers", "define", "alias", "jsx_factory", "jsx_fragment",
    "tsconfig", "minify", "keep_names",
})
# Keys that mean nothing on one's own machine.
_WITHOUT_EFFECT: Final = frozenset({
    "$schema", "env", "dev", "observability", "placement", "route", "routes", "workers_dev", "preview_urls",
    "previews", "account_id", "logpush", "upload_source_maps", "limits", "compliance_region", "send_metrics",
    "tail_consumers", "streaming_tail_consumers", "preserve_file_names", "configPath", "userConfigPath",
    "topLevelName", "definedEnvironments",
})
# fmt: on
# Keys for which workerd must bring a Worker of its own.
_BUNDLED: Final = frozenset({"kv_namespaces", "d1_databases", "queues"})


@dataclass(frozen=True, slots=True)
class Choice:
    """The runtime and, for the log, why."""

    runtime: RuntimeName
    reason: str


def choose_runtime(wanted: Wanted, workers: Sequence[WorkerConfig], tools: Toolchain) -> Choice:
    """The runtime for all Workers of a run. Raises `WorkerLoadError` when what is needed is not installed."""
    choice = _choice(wanted, workers, tools)
    name = workers[0].name
    if choice.runtime == "workerd" and tools.workerd is None:
        raise missing(name, "workerd", "workerd")
    if choice.runtime == "workerd" and tools.esbuild is None:
        raise missing(name, "esbuild, which bundles its modules", "wrangler")
    if choice.runtime == "wrangler" and tools.wrangler is None:
        raise missing(name, f"wrangler ({choice.reason})")
    if choice.runtime == "wrangler" and tools.node is None:
        raise missing(name, "Node, which runs wrangler", "node")
    return choice


def _choice(wanted: Wanted, workers: Sequence[WorkerConfig], tools: Toolchain) -> Choice:
    if wanted != "auto":
        return Choice(wanted, f"--runtime {wanted}")
    unknown = [f"{key} of {worker.name}" for worker in workers for key in _unknown(worker, tools)]
    if unknown:
        return Choice("wrangler", f"workerd serve does not support {', '.join(unknown)}")
    if tools.workerd is None and tools.wrangler is None:
        raise missing(workers[0].name, "workerd or wrangler")
    if tools.workerd is None or tools.esbuild is None:
        return Choice("wrangler", "workerd and esbuild are not both installed")
    return Choice("workerd", "it supports the whole configuration")


def _unknown(worker: WorkerConfig, tools: Toolchain) -> Iterator[str]:
    for key, value in worker.raw.items():
        if not value or key in _WITHOUT_EFFECT:
            continue
        if key in _BUNDLED and tools.bundled:
            continue
        if key == "exports" and not _plain_exports(value):
            yield "exports"
        elif key in KNOWN_KEYS and key not in _UNDERSTOOD:
            yield key  # a typo, which the check of the file warns of, does not move a project


def _plain_exports(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    kinds = ("workflow", "durable-object", "worker")
    return all(isinstance(entry, Mapping) and entry.get("type") in kinds for entry in value.values())
