"""`workers.utils`."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from bindings.entrypoints import DurableObject, WorkerEntrypoint, WorkflowEntrypoint
from bindings.entrypoints import wait_until as wait_until
from bindings.environment import patched
from bindings.runtime import current_runtime


def waitUntil(awaitable: Awaitable[Any]) -> None:
    wait_until(awaitable)


def import_from_javascript(module_name: str) -> Any:
    """`cloudflare:workers`; every other module needs JavaScript and raises `ImportError`."""
    if module_name != "cloudflare:workers":
        raise ImportError(
            f"Failed to import '{module_name}': Python Workers run in CPython here, which has no JavaScript "
            "modules; only 'cloudflare:workers' can be imitated."
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
