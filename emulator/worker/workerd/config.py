"""The configuration that `workerd serve` is started with: the Workers of a run, and what holds their bindings."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.private_files import make_private_folder
from stepwell.emulator.worker.workerd.bundling import ALS_MODULE, FRONT_EXPORT, OUTPUT, RUNS_EXPORT, Bundle
from stepwell.emulator.worker.workerd.capnp import Node, Verbatim, constant, quoted
from stepwell.emulator.worker.workerd.durable_objects import durable_classes
from stepwell.emulator.worker.workerd.kv import KV_SERVICE, WranglersKv, kv_namespace_id
from stepwell.emulator.worker.workerd.toolchain import Toolchain

#: The header in which the front door tells what Cloudflare knows of a request.
CF_HEADER: Final = "Stepwell-Cf"
_ENGINE: Final = "stepwell-engine"
_FORWARD: Final = "stepwell-forward"
_DISK: Final = "stepwell-disk"
#: Where wrangler stores, below the folder that it is given with --persist-to.
WRANGLERS_FOLDER: Final = "v3"
#: The folder for what the runtime stores, below the state folder.
DATA_FOLDER: Final = "runtime"
_ASYNC_HOOKS: Final = "async_hooks"
# The compatibility date of the Workers that workerd brings.
_BUNDLED_DATE: Final = "2026-01-01"
# That of Workers of ours, which every workerd knows.
_OWN_DATE: Final = "2024-01-01"
# Since when options of a Workflow binding cross by RPC; before, they were JSON, in which nothing is undefined.
_OPTIONS_ARE_VALUES_FROM: Final = "2026-06-16"


@dataclass(frozen=True, slots=True)
class WorkerPart:
    """One Worker of the run: its configuration, its variables with the secrets, its code."""

    config: WorkerConfig
    variables: Mapping[str, object]
    bundle: Bundle
    #: The configuration as the user wrote it; None where none says the same.
    file: Path | None = None

    @property
    def place(self) -> Path:
        """The folder of the configuration that wrangler reads."""
        return self.bundle.folder if self.file is None else self.file.parent


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """Where binding calls go, and the secret that both sides hold."""

    port: int
    token: str


def http_socket(worker: str) -> str:
    """The name of the socket that takes a Worker's requests."""
    return f"http:{worker}"


def runs_socket(worker: str) -> str:
    """The name of the socket by which the engine reaches a Worker's passes."""
    return f"runs:{worker}"


def setup_values(config: WorkerConfig, token: str) -> dict[str, object]:
    """What setup.mjs is told: which names of `env` and of `exports` are which Workflows."""
    return {
        "token": token,
        "worker": config.name,
        "workflows": {w.binding: w.name for w in config.workflows if w.binding is not None},
        "exports": {w.class_name: w.name for w in _exported(config)},
        "jsonOptions": config.compatibility_date < _OPTIONS_ARE_VALUES_FROM,
    }


def _exported(config: WorkerConfig) -> Iterator[Any]:
    exports = config.raw.get("exports")
    names = exports if isinstance(exports, Mapping) else {}
    return (w for w in config.workflows if w.class_name in names and w.script_name is None)


def unix_sockets(workers: Sequence[str]) -> dict[str, str]:
    """New names of Unix sockets for the passes of each Worker; none where the system has no such names.

    They are outside of the file system, as only Linux has them: no file is left behind, no path is too long. A
    message there and back takes 70 microseconds, and 110 over TCP. And no page in a browser can reach them.
    """
    if sys.platform != "linux":
        return {}
    run = secrets.token_hex(8)
    return {worker: f"stepwell-{run}-{number}" for number, worker in enumerate(workers)}


def http_of(runs: str) -> str:
    """The name of the Unix socket for a Worker's requests, beside that for its passes."""
    return f"{runs}-http"


def workerd_config(
    parts: Sequence[WorkerPart],
    engine: EngineAddress,
    state: Path,
    folder: Path,
    tools: Toolchain,
    runs: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The text of the configuration, for a file in `folder`.

    `state` is the folder for what Durable Objects, KV, D1 and queues store: all but queues where wrangler looks for
    it, so that either finds what was stored under the other. `tools` says what workerd can do. `runs`: see
    `unix_sockets`.
    """
    run = _Run(parts, engine, state, folder, tools)
    services = [*run.workers(), *run.shared(), *run.holders()]
    sockets = [socket for part in parts for socket in _sockets(part, runs.get(part.config.name))]
    config: dict[str, Node] = {"services": services, "sockets": sockets}
    if (extension := run.extension()) is not None:
        config["extensions"] = [extension]
    if tools.structured_logs:
        config["structuredLogging"] = True  # newer versions call it logging.structuredLogging, and know both
    return 'using Workerd = import "/workerd/workerd.capnp";\n\n' + constant("config", "Workerd.Config", config)


def usable_date(wanted: str, newest: str | None) -> str:
    """The compatibility date to run with: as wrangler does, the newest that workerd knows for one that is newer."""
    return wanted if newest is None else min(wanted, newest)


def _sockets(part: WorkerPart, runs_name: str | None) -> Iterator[dict[str, Node]]:
    name = part.config.name
    yield {
        "name": http_socket(name),
        "address": "127.0.0.1:0" if runs_name is None else f"unix-abstract:{http_of(runs_name)}",
        "http": {"cfBlobHeader": CF_HEADER},
        "service": {"name": name, "entrypoint": FRONT_EXPORT},
    }
    runs: Node = {"name": name, "entrypoint": RUNS_EXPORT}
    address = "127.0.0.1:0" if runs_name is None else f"unix-abstract:{runs_name}"
    yield {"name": runs_socket(name), "address": address, "http": Verbatim("()"), "service": runs}


class _Run:
    """What the Workers of one run share."""

    def __init__(
        self,
        parts: Sequence[WorkerPart],
        engine: EngineAddress,
        state: Path,
        folder: Path,
        tools: Toolchain,
    ) -> None:
        self._newest_date = tools.newest_date
        self._kv = WranglersKv.of(tools.miniflare)
        self._parts = parts
        self._engine = engine
        self._state = state / WRANGLERS_FOLDER
        self._folder = folder
        self._names = {part.config.name for part in parts}
        self._missing: set[str] = set()

    # -- the project's Workers
    def workers(self) -> Iterator[dict[str, Node]]:
        for part in self._parts:
            yield {"name": part.config.name, "worker": self._worker(part)}

    def _worker(self, part: WorkerPart) -> dict[str, Node]:
        config = part.config
        worker: dict[str, Node] = {
            "modules": [*_modules(part.bundle, self._folder), _als_module(part)],
            "compatibilityDate": usable_date(config.compatibility_date, self._newest_date),
            "compatibilityFlags": sorted({*config.compatibility_flags, *_als_flags(part)}),
            "bindings": list(self._bindings(part)),
        }
        if classes := list(_namespaces(config)):
            worker["durableObjectNamespaces"] = classes
            worker["durableObjectStorage"] = {"localDisk": self._disk("do")}
        return worker

    def _bindings(self, part: WorkerPart) -> Iterator[dict[str, Node]]:
        config = part.config
        for name, value in part.variables.items():
            yield {"name": name, "text": value} if isinstance(value, str) else _json(name, value)
        for service in config.services:
            target: dict[str, Node] = {"name": self._service(service.service)}
            if service.entrypoint is not None:
                target["entrypoint"] = service.entrypoint
            yield {"name": service.binding, "service": target}
        yield from self._held(config)
        yield _json("__STEPWELL", setup_values(config, self._engine.token))
        yield {"name": "__STEPWELL_ENGINE", "service": _ENGINE}
        yield {"name": "__STEPWELL_FORWARD", "service": _FORWARD}

    def _held(self, config: WorkerConfig) -> Iterator[dict[str, Node]]:
        """Bindings to Durable Objects, and to what workerd's own Workers hold."""
        for entry in _entries(config, "durable_objects", "bindings"):
            namespace: dict[str, Node] = {"className": entry["class_name"]}
            script = entry.get("script_name")
            if script not in (None, config.name):
                namespace["serviceName"] = self._service(script)
            yield {"name": entry["name"], "durableObjectNamespace": namespace}
        for entry in _entries(config, "kv_namespaces"):
            kv_id = kv_namespace_id(entry)
            own = self._kv is None
            service: Node = _props(KV_SERVICE, namespace=kv_id) if own else f"{KV_SERVICE}:{kv_id}"
            yield {"name": entry["binding"], "kvNamespace": service}
        for entry in _entries(config, "queues", "producers"):
            yield {"name": entry["binding"], "queue": _props("stepwell-queues", queue=entry["queue"])}
        for entry in _entries(config, "d1_databases"):
            database = entry.get("preview_database_id") or entry.get("database_id") or entry["binding"]
            inner: dict[str, Node] = {"name": "fetcher", "service": _props("stepwell-d1", database=database)}
            wrapped: dict[str, Node] = {"moduleName": "cloudflare-internal:d1-api", "innerBindings": [inner]}
            yield {"name": entry["binding"], "wrapped": wrapped}

    def _service(self, name: str) -> str:
        if name not in self._names:
            self._missing.add(name)
        return name

    # -- what all of them use
    def shared(self) -> Iterator[dict[str, Node]]:
        """The engine's address, the network (with loopback, for our own port), and what is not running."""
        address = f"127.0.0.1:{self._engine.port}"
        for name in (_ENGINE, _FORWARD):
            yield {"name": name, "external": {"address": address, "http": Verbatim("()")}}
        network: Node = {"allow": ["public", "private"], "tlsOptions": {"trustBrowserCas": True}}
        yield {"name": "internet", "network": network}
        for name in sorted(self._missing):
            yield {"name": name, "worker": _not_running(name)}

    def _disk(self, folder: str) -> str:
        make_private_folder(self._state / folder)
        return f"{_DISK}-{folder}"

    # -- the Workers that hold bindings: workerd's own, and Miniflare's for KV
    def extension(self) -> dict[str, Node] | None:
        """The modules that Miniflare's Workers import, where one of them runs."""
        uses_kv = any(_entries(part.config, "kv_namespaces") for part in self._parts)
        return self._kv.extension(self._folder) if uses_kv and self._kv is not None else None

    def holders(self) -> Iterator[dict[str, Node]]:
        configs = [part.config for part in self._parts]
        if any(durable_classes(config) for config in configs):
            yield self._storage("do")
        namespaces = {kv_namespace_id(entry) for config in configs for entry in _entries(config, "kv_namespaces")}
        if namespaces and self._kv is not None:
            yield self._storage("kv")
            yield from self._kv.services(sorted(namespaces), self._disk("kv"), self._folder)
        elif namespaces:
            yield from self._holder("kv", "KVNamespace", "SHARD", [_blobs()])
            make_private_folder(self._state / "kv-blobs")
            yield self._storage("kv-blobs")
        if any(_entries(config, "d1_databases") for config in configs):
            yield from self._holder("d1", "D1Database", "DATABASE", [], key="miniflare-D1DatabaseObject")
        if any(config.raw.get("queues") for config in configs):
            yield from self._holder("queues", "QueueShard", "SHARD", list(_consumers(configs)))

    def _storage(self, folder: str) -> dict[str, Node]:
        path = str(self._state / folder)
        return {"name": self._disk(folder), "disk": {"path": path, "writable": True}}

    def _holder(
        self, kind: str, class_name: str, binding: str, more: list[dict[str, Node]], key: str | None = None
    ) -> Iterator[dict[str, Node]]:
        """The Worker that holds a kind of binding, and the disk that it stores on.

        `key` names the folder on the disk, and the files in it are named by a hash of it.
        """
        namespace: Node = {"className": class_name, "uniqueKey": key or class_name, "enableSql": True}
        shard: dict[str, Node] = {"name": binding, "durableObjectNamespace": {"className": class_name}}
        worker: dict[str, Node] = {
            "modules": [{"name": f"{kind}.js", "bundled": f"/workerd/{kind}.js"}],
            "compatibilityDate": _BUNDLED_DATE,
            "compatibilityFlags": ["service_binding_extra_handlers"] if kind == "queues" else [],
            "bindings": [shard, *more],
            "durableObjectNamespaces": [namespace],
            "durableObjectStorage": {"localDisk": self._disk(kind)},
        }
        yield {"name": f"stepwell-{kind}", "worker": worker}
        yield self._storage(kind)


def _modules(bundle: Bundle, config_folder: Path) -> Iterator[dict[str, Node]]:
    # Relative to the configuration: workerd looks absolute paths up among its own files.
    folder = os.path.relpath(bundle.folder, config_folder)
    yield {"name": OUTPUT, "esModule": _embedded(folder, OUTPUT)}
    for name in bundle.modules:
        kind = "wasm" if name.endswith(".wasm") else "data"
        yield {"name": name, kind: _embedded(folder, name)}


def _has_als(config: WorkerConfig) -> bool:
    """Whether the Worker's own flags give it AsyncLocalStorage."""
    flags = config.compat | set(config.compatibility_flags)
    return any(flag == "nodejs_als" or flag.startswith("nodejs_compat") for flag in flags)


def _may_have_als(part: WorkerPart) -> bool:
    """Not where the Worker imports it and its flags do not let it: then it fails here as it would on Cloudflare."""
    return _has_als(part.config) or _ASYNC_HOOKS not in part.bundle.code


def _als_flags(part: WorkerPart) -> list[str]:
    return [] if _has_als(part.config) or not _may_have_als(part) else ["nodejs_als"]


def _als_module(part: WorkerPart) -> dict[str, Node]:
    real, none = (
        f'export {{ AsyncLocalStorage }} from "node:{_ASYNC_HOOKS}";',
        "export const AsyncLocalStorage = undefined;",
    )
    return {"name": ALS_MODULE, "esModule": real if _may_have_als(part) else none}


def _embedded(folder: str, name: str) -> Verbatim:
    return Verbatim(f"embed {quoted(os.path.join(folder, name))}")


def _namespaces(config: WorkerConfig) -> Iterator[dict[str, Node]]:
    for durable in durable_classes(config):
        key = f"{config.name}-{durable.first_name}"
        yield {"className": durable.name, "uniqueKey": key, "enableSql": durable.sqlite}


def _json(name: str, value: object) -> dict[str, Node]:
    return {"name": name, "json": json.dumps(value)}


def _props(service: str, **props: str) -> dict[str, Node]:
    return {"name": service, "props": {"json": json.dumps(props)}}


def _entries(config: WorkerConfig, key: str, inner: str | None = None) -> list[Any]:
    found: Any = config.raw.get(key) or {}
    return list(found.get(inner) or []) if inner is not None else list(found or [])


def _blobs() -> dict[str, Node]:
    return {"name": "BLOBS", "service": f"{_DISK}-kv-blobs"}


# The names that workerd's queues Worker takes for the keys of a consumer.
_CONSUMER_KEYS: Final = {
    "max_batch_size": "maxBatchSize",
    "max_batch_timeout": "maxBatchTimeout",
    "max_retries": "maxRetries",
    "dead_letter_queue": "deadLetterQueue",
    "max_concurrency": "maxConcurrency",
    "retry_delay": "retryDelay",
}


def _consumers(configs: Sequence[WorkerConfig]) -> Iterator[dict[str, Node]]:
    consumers: dict[str, object] = {}
    for config in configs:
        for entry in _entries(config, "queues", "consumers"):
            settings = {ours: entry[key] for key, ours in _CONSUMER_KEYS.items() if entry.get(key) is not None}
            consumers[entry["queue"]] = {"consumer": config.name, **settings}
    yield _json("CONSUMERS", consumers)
    for name in sorted({str(c["consumer"]) for c in consumers.values() if isinstance(c, dict)}):
        yield {"name": name, "service": name}


def _not_running(name: str) -> dict[str, Node]:
    """What stands for a Worker that others bind and that is not part of this run."""
    text = json.dumps(f'The Worker "{name}" is not running here. Start it in the same `stepwell dev`.')
    code = f"export default {{ fetch() {{ return new Response({text}, {{ status: 503 }}); }} }};"
    return {"modules": [{"name": "missing.js", "esModule": code}], "compatibilityDate": _OWN_DATE}
