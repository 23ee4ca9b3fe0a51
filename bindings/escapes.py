"""Turns SystemExit, KeyboardInterrupt and the like from user code into ordinary errors.

`KeyboardInterrupt`, `SystemExit` and `GeneratorExit` mean something to asyncio and to coroutines when they pass
through them. So each place that calls user code turns them into an ordinary exception that is told by their names.
"""

from __future__ import annotations

import asyncio
import signal
from typing import Any, cast

from stepwell.bindings.errors import error_info, stands_for


class Escape(Exception):
    """Wraps a user error that is not an `Exception`. `error_info` describes the original."""


def as_ordinary(error: BaseException) -> Exception:
    """Convert an error of user code to an `Exception`. Raises it again if it is a real Ctrl-C."""
    if issubclass(type(error), Exception):
        return cast(Exception, error)
    if is_ctrl_c(error):
        raise error
    info = error_info(error)
    return stands_for(Escape(info.message), info)


def is_ctrl_c(error: BaseException) -> bool:
    """Whether a `KeyboardInterrupt` may be a person's: a process with a handler of its own gets none of those."""
    return (
        issubclass(type(error), KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def is_order(error: BaseException, task: asyncio.Task[Any] | None) -> bool:
    """True if an exception in a coroutine of `task` is no user error but a cancellation or a real Ctrl-C."""
    return is_ctrl_c(error) or (issubclass(type(error), GeneratorExit) and _is_being_closed(task))


def _is_being_closed(task: asyncio.Task[Any] | None) -> bool:
    """A coroutine is closed when its task is dropped; then that is not the one that runs."""
    try:
        return asyncio.current_task() is not task
    except RuntimeError:  # no loop runs: it is the end of the process
        return True
