"""`workers.utils`."""

from __future__ import annotations

import http.client
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final

from stepwell.bindings.entrypoints import DurableObject, WorkerEntrypoint, WorkflowEntrypoint
from stepwell.bindings.entrypoints import wait_until as wait_until
from stepwell.bindings.environment import patched
from stepwell.bindings.runtime import current_runtime

#: The names of JavaScript classes that `Response` takes as a body.
RESPONSE_ACCEPTED_TYPES: Final = frozenset(
    {"Blob", "ArrayBuffer", "Uint8Array", "FormData", "ReadableStream", "URLSearchParams", "Response"}
)


class HTTPMessageMapping(http.client.HTTPMessage, Mapping[str, str]):  # type: ignore[misc]
    """Headers as the standard library keeps them."""


def get_compat_flag(flag: str) -> bool:
    """Whether the Worker runs with a compatibility flag, such as "python_request_headers_preserve_commas"."""
    return flag in current_runtime().compatibility_flags


async def import_sdk_javascript_module_async(name: str) -> Any:
    """Raises `ImportError`: the SDK's JavaScript needs a JavaScript engine."""
    raise ImportError(f"Failed to import '{name}': Stepwell runs Python Workers in CPython, without JavaScript")


def waitUntil(awaitable: Awaitable[Any]) -> None:
    wait_until(awaitable)


def import_from_javascript(module_name: str) -> Any:
    """`cloudflare:workers`; every other module needs JavaScript and raises `ImportError`."""
    if module_name != "cloudflare:workers":
        raise ImportError(
            f"Failed to import '{module_name}': Stepwell runs Python Workers in CPython, without JavaScript; "
            "only 'cloudflare:workers' can be imported."
        )
    return SimpleNamespace(
        env=current_runtime().env,
        waitUntil=wait_until,
        DurableObject=DurableObject,
        WorkerEntrypoint=WorkerEntrypoint,
        WorkflowEntrypoint=WorkflowEntrypoint,
    )


@contextmanager
def patch_env(d: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None, **kwds: Any) -> Iterator[None]:
    """Other members of `env` for the length of a `with` block."""
    with patched(current_runtime().env, {**dict(d or {}), **kwds}):
        yield
