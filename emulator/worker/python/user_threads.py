"""Threads of user code belong to the step that started them, tasks of a pool to the step that submitted them.

Before Python 3.14 a thread begins with an empty context, so its output would be nobody's. Only the variables given
to `threads_keep` pass into it: user code's own context variables stay as Python has them.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import thread as _pools
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: The main function of a pool's threads: it runs tasks of many steps, so it belongs to none.
_POOL_THREAD = getattr(_pools, "_worker", None)


def carrying(function: Callable[..., Any], variables: Sequence[ContextVar[Any]]) -> Callable[..., Any]:
    """`function` with the values that `variables` have now, wherever it is called."""
    values = [(variable, variable.get()) for variable in variables]

    def call(*args: Any, **kwargs: Any) -> Any:
        def with_values() -> Any:
            for variable, value in values:
                variable.set(value)
            return function(*args, **kwargs)

        return contextvars.copy_context().run(with_values)

    return call


@contextmanager
def threads_keep(variables: Sequence[ContextVar[Any]], is_user_code: Callable[[], bool]) -> Iterator[None]:
    """Inside, threads and pools pass `variables` on from the code that uses them, if it is user code."""
    plain_start, plain_submit = threading.Thread.start, ThreadPoolExecutor.submit

    def start(thread: Any) -> None:
        if is_user_code() and getattr(thread, "_target", None) is not _POOL_THREAD:
            thread.run = carrying(thread.run, variables)
        plain_start(thread)

    def submit(pool: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if is_user_code():
            function = carrying(function, variables)
        return plain_submit(pool, function, *args, **kwargs)

    threading.Thread.start = start  # type: ignore[method-assign, assignment]
    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]
    try:
        yield
    finally:
        threading.Thread.start = plain_start  # type: ignore[method-assign]
        ThreadPoolExecutor.submit = plain_submit  # type: ignore[method-assign]
