"""Whether somebody takes the first of several tasks to end, and goes on without the others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

#: What asyncio calls when a task ends that `asyncio.wait` or `asyncio.as_completed` waits for.
_WAIT: Final = "_wait.<locals>._on_completion"
_AS_COMPLETED: Final = ("as_completed.<locals>._on_completion", "_AsCompletedIterator._handle_completion")


def is_in_a_race(task: asyncio.Task[Any] | None) -> bool:
    """Whether the task is one of several of which user code takes the first. The task is still running."""
    # asyncio tells nobody who waits for a task; the functions that it will call do.
    callbacks: Iterable[tuple[Any, Any]] = getattr(task, "_callbacks", None) or ()
    return any(_takes_the_first(callback) for callback, _ in callbacks)


def _takes_the_first(callback: Any) -> bool:
    name = getattr(callback, "__qualname__", "")
    if name == _WAIT:
        cells = dict(zip(callback.__code__.co_freevars, callback.__closure__ or (), strict=True))
        first = cells["return_when"].cell_contents == asyncio.FIRST_COMPLETED if "return_when" in cells else False
        return first and cells["counter"].cell_contents > 1
    return name in _AS_COMPLETED
