"""Calling a Python Worker's handlers: `fetch`, `scheduled`, `queue`, as methods of `Default` or as functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stepwell.bindings.entrypoints import ExecutionContext, call_with_what_fits
from stepwell.bindings.values import JsDict
from stepwell.emulator.worker.python.generation import PythonGeneration
from stepwell.emulator.worker.python.output import end_output

if TYPE_CHECKING:
    from stepwell.bindings.web.messages import FetchResponse

_DEFAULT: Final = "Default"


class Answered(NamedTuple):
    """A response, and the context that user code made it in: a stream goes on there."""

    response: FetchResponse
    context: Context


class NoHandler(Exception):
    """The Worker has no such handler; the text says it in workerd's words and adds how to write one."""


async def call_handler(generation: PythonGeneration, name: str, argument: Any) -> Any:
    """What the handler answers for one event. Raises `NoHandler`, and whatever the handler raises.

    Runs user code from here on in this task. A new object of `Default` is made for each event, as on Cloudflare.
    """
    generation.enter()
    env, ctx = generation.runtime.env, ExecutionContext()
    try:
        handler = _handler(generation, name, ctx)
        result = call_with_what_fits(handler, argument, env, ctx)
        return await result if inspect.isawaitable(result) else result
    finally:
        end_output()


def _handler(generation: PythonGeneration, name: str, ctx: ExecutionContext) -> Callable[..., Any]:
    module = generation.module
    default = getattr(module, _DEFAULT, None)
    if isinstance(default, type):
        method: Callable[..., Any] | None = getattr(default(ctx, generation.runtime.env), name, None)
        if method is not None:
            return method
        raise NoHandler(f"Handler does not export a {name}() function. Class {_DEFAULT} has no method {name}.")
    legacy = getattr(module, f"on_{name}", None)
    if legacy is None:
        raise NoHandler(
            f"Handler does not export a {name}() function. "
            f"Write a class {_DEFAULT}(WorkerEntrypoint) with a method {name} in the entry module."
        )
    if generation.config.compat.python_no_global_handlers:
        raise NoHandler(
            f"Handler does not export a {name}() function. on_{name} is ignored from compatibility date 2025-08-14 "
            f"on: write a class {_DEFAULT}(WorkerEntrypoint), or set disable_python_no_global_handlers."
        )
    return lambda *offered: call_with_what_fits(legacy, *offered)


def scheduled_controller(cron: str, scheduled_at: int) -> JsDict:
    """The first argument of `scheduled`."""
    return JsDict(cron=cron, scheduledTime=scheduled_at, type="scheduled", noRetry=lambda: None)
