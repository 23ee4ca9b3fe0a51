"""What code of ours that user code calls needs of the host it runs in: `env`, the time, background work.

The modules that user code imports exist once, but several Workers and several loads of each may run. So they ask
the context they are called in; the host sets it around everything that it calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Final, NamedTuple


class Runtime(NamedTuple):
    """One load of one Worker's code, as its own code reaches it."""

    worker_name: str
    env: Any
    loop: asyncio.AbstractEventLoop
    now_ms: Callable[[], int]
    #: Keeps the work alive after the answer, and reports what it raises.
    wait_until: Callable[[Awaitable[Any]], None]
    #: What the date and the flags of the configuration switch on.
    compatibility_flags: frozenset[str] = frozenset()


_current: Final[ContextVar[Runtime | None]] = ContextVar("stepwell_runtime", default=None)


class NoRuntime(RuntimeError):
    """Something of the `workers` module was used where no Worker runs, such as a thread of the user's own."""


def current_runtime() -> Runtime:
    """The Worker that the calling code belongs to; raises `NoRuntime` outside of one."""
    runtime = _current.get()
    if runtime is None:
        raise NoRuntime(
            "No Worker context. Call this from code of a Worker; start threads with asyncio.to_thread, which "
            "keeps the context."
        )
    return runtime


def is_in_worker() -> bool:
    """Whether the calling code is a Worker's, or was called by it."""
    return _current.get() is not None


def enter_runtime(runtime: Runtime) -> None:
    """Makes `runtime` the current one for the rest of this task or context."""
    _current.set(runtime)
