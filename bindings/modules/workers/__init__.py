"""`workers`: the names that Cloudflare's SDK 1.9.5 exports.

`env`, `wait_until` and the parts that deal with HTTP are resolved when they are first asked for: a Worker that
starts workflows and nothing else does not pay for them.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

from bindings.entrypoints import DurableObject as DurableObject
from bindings.entrypoints import WorkerEntrypoint as WorkerEntrypoint
from bindings.entrypoints import WorkflowEntrypoint as WorkflowEntrypoint
from bindings.entrypoints import handler as handler
from bindings.runtime import current_runtime

_LAZY: Final = {
    "Blob": "bindings.forms",
    "BlobEnding": "bindings.forms",
    "BlobValue": "bindings.modules.workers.types",
    "Body": "bindings.modules.workers.types",
    "Context": "bindings.modules.workers.types",
    "FetchKwargs": "bindings.modules.workers.types",
    "FetchResponse": "bindings.http",
    "File": "bindings.forms",
    "FormData": "bindings.forms",
    "FormDataValue": "bindings.modules.workers.types",
    "Headers": "bindings.http",
    "JSBody": "bindings.modules.workers.types",
    "Request": "bindings.http",
    "RequestInitCfProperties": "bindings.modules.workers.types",
    "Response": "bindings.http",
    "fetch": "bindings.http",
    "import_from_javascript": "bindings.modules.workers.utils",
    "patch_env": "bindings.modules.workers.utils",
    "python_from_rpc": "bindings.modules.workers.rpc",
    "python_to_rpc": "bindings.modules.workers.rpc",
    "waitUntil": "bindings.modules.workers.utils",
    "wait_until": "bindings.modules.workers.utils",
}
_SUBMODULES: Final = frozenset(
    {"asgi", "blob", "entrypoints", "formdata", "request", "response", "rpc", "types", "utils", "workflows", "wsgi"}
)

__all__ = ["DurableObject", "WorkerEntrypoint", "WorkflowEntrypoint", "env", "handler", *sorted(_LAZY)]


def __getattr__(name: str) -> Any:
    if name == "env":
        return current_runtime().env
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:  # `from workers import asgi`
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'workers' has no attribute {name!r}")
