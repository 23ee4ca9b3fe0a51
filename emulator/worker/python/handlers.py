"""Calling a Python Worker's handlers: `fetch`, `scheduled`, `queue`, as methods of `Default` or as functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from stepwell.bindings.entrypoints import ExecutionContext, call_with_what_fits
from stepwell.bindings.values import JsDict
from stepwell.emulator.worker.python.exports import DEFAULT
from stepwell.emulator.worker.python.generation import PythonGeneration
from stepwell.emulator.worker.python.output import end_output

if TYPE_CHECKING:
    from stepwell.bindings.held import Reach
    from stepwell.bindings.web.messages import FetchResponse


class HandlerResponse(NamedTuple):
    """A response, and the context that user code made it in: a stream goes on there."""

    response: FetchResponse
    context: Context


class NoHandler(Exception):
    """The Worker has no such handler; the text says it in workerd's words and adds how to write one."""


class Target(NamedTuple):
    """Which class of a Worker an event is for: an entrypoint, or a Durable Object (class, id, name, token)."""

    entrypoint: str = DEFAULT
    durable_object: Mapping[str, Any] | None = None

    @staticmethod
    def of(told: Mapping[str, Any] | None) -> Target:
        """What the stand-in in the runtime told; None for a request from outside."""
        given = told or {}
        return Target(given.get("entrypoint") or DEFAULT, given.get("object"))


DEFAULT_TARGET: Final = Target()


async def call_handler(
    generation: PythonGeneration,
    name: str,
    argument: Any,
    target: Target = DEFAULT_TARGET,
    reach: Reach | None = None,
) -> Any:
    """What the handler answers for one event. Raises `NoHandler`, and whatever the handler raises.

    Runs user code from here on in this task. A new object of the entrypoint is made for each event, as on
    Cloudflare. `reach` is for Durable Objects, whose storage is in the runtime.
    """
    generation.enter()
    env, ctx = generation.runtime.env, ExecutionContext()
    try:
        handler = await _handler(generation, name, ctx, target, reach)
        result = call_with_what_fits(handler, argument, env, ctx)
        return await result if inspect.isawaitable(result) else result
    finally:
        end_output()


async def call_method(
    generation: PythonGeneration, name: str, arguments: Sequence[Any], target: Target, reach: Reach | None
) -> Any:
    """What a public method returns to its caller in another Worker. Raises what it raises."""
    generation.enter()
    try:
        method = await _handler(generation, name, ExecutionContext(), target, reach)
        # What an alarm is told of its earlier attempts is dropped unless it asks for it, as with other events.
        result = call_with_what_fits(method, *arguments) if name == "alarm" else method(*arguments)
        return await result if inspect.isawaitable(result) else result
    finally:
        end_output()


async def _handler(
    generation: PythonGeneration, name: str, ctx: ExecutionContext, target: Target, reach: Reach | None
) -> Callable[..., Any]:
    if target.durable_object is not None:
        return await _method_of_object(generation, name, target.durable_object, reach)
    return _method_of_entrypoint(generation, name, ctx, target.entrypoint)


async def _method_of_object(
    generation: PythonGeneration, name: str, told: Mapping[str, Any], reach: Reach | None
) -> Callable[..., Any]:
    assert reach is not None, "only the runtime calls Durable Objects"
    kind = getattr(generation.module, told["class"])
    instance = await generation.objects.entered(kind, told, generation.runtime.env, reach)
    method: Callable[..., Any] | None = getattr(instance, name, None)
    if method is None:
        raise NoHandler(f"Handler does not export a {name}() function. Class {told['class']} has no method {name}.")
    return method


def _method_of_entrypoint(
    generation: PythonGeneration, name: str, ctx: ExecutionContext, entrypoint: str
) -> Callable[..., Any]:
    module = generation.module
    default = getattr(module, entrypoint, None)
    if isinstance(default, type):
        method: Callable[..., Any] | None = getattr(default(ctx, generation.runtime.env), name, None)
        if method is not None:
            return method
        raise NoHandler(f"Handler does not export a {name}() function. Class {entrypoint} has no method {name}.")
    legacy = getattr(module, f"on_{name}", None)
    if legacy is None:
        raise NoHandler(
            f"Handler does not export a {name}() function. "
            f"Write a class {entrypoint}(WorkerEntrypoint) with a method {name} in the entry module."
        )
    if generation.config.compat.python_no_global_handlers:
        raise NoHandler(
            f"Handler does not export a {name}() function. on_{name} is ignored from compatibility date 2025-08-14 "
            f"on: write a class {DEFAULT}(WorkerEntrypoint), or set disable_python_no_global_handlers."
        )
    return lambda *offered: call_with_what_fits(legacy, *offered)


def scheduled_controller(cron: str, scheduled_at: int) -> JsDict:
    """The first argument of `scheduled`."""
    return JsDict(cron=cron, scheduledTime=scheduled_at, type="scheduled", noRetry=lambda: None)
