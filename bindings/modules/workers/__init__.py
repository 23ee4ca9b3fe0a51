"""`workers`: the names that Cloudflare's SDK 1.9.5 exports.

`env`, `wait_until` and the parts that deal with HTTP are resolved when they are first asked for: a Worker that
starts workflows and nothing else does not pay for them.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

from stepwell.bindings.entrypoints import DurableObject as DurableObject
from stepwell.bindings.entrypoints import WorkerEntrypoint as WorkerEntrypoint
from stepwell.bindings.entrypoints import WorkflowEntrypoint as WorkflowEntrypoint
from stepwell.bindings.entrypoints import handler as handler
from stepwell.bindings.runtime import current_runtime

_LAZY: Final = {
    "Blob": "stepwell.bindings.web.forms",
    "BlobEnding": "stepwell.bindings.web.forms",
    "BlobValue": "stepwell.bindings.modules.workers.types",
    "Body": "stepwell.bindings.modules.workers.types",
    "Context": "stepwell.bindings.modules.workers.types",
    "FetchKwargs": "stepwell.bindings.modules.workers.types",
    "FetchResponse": "stepwell.bindings.web.http",
    "File": "stepwell.bindings.web.forms",
    "FormData": "stepwell.bindings.web.forms",
    "FormDataValue": "stepwell.bindings.modules.workers.types",
    "Headers": "stepwell.bindings.web.http",
    "JSBody": "stepwell.bindings.modules.workers.types",
    "Request": "stepwell.bindings.web.http",
    "RequestInitCfProperties": "stepwell.bindings.modules.workers.types",
    "Response": "stepwell.bindings.web.http",
    "fetch": "stepwell.bindings.web.http",
    "import_from_javascript": "stepwell.bindings.modules.workers.utils",
    "patch_env": "stepwell.bindings.modules.workers.utils",
    "python_from_rpc": "stepwell.bindings.modules.workers.rpc",
    "python_to_rpc": "stepwell.bindings.modules.workers.rpc",
    "waitUntil": "stepwell.bindings.modules.workers.utils",
    "wait_until": "stepwell.bindings.modules.workers.utils",
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
