"""The classes that Python Workers derive from, and what their constructors are given."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from types import FunctionType, MethodType
from typing import Any, NoReturn, ParamSpec, TypeVar

from stepwell.bindings.runtime import current_runtime

P = ParamSpec("P")
R = TypeVar("R")


class ExecutionContext:
    """`ctx` of a handler or a run: background work, in both spellings."""

    def __init__(self, props: object = None) -> None:
        self.props = {} if props is None else props

    def waitUntil(self, other: Awaitable[Any]) -> None:
        """Lets an awaitable continue after the answer was sent; what it raises goes to the log."""
        wait_until(other)

    wait_until = waitUntil

    def passThroughOnException(self) -> None:
        """Accepted and without effect: there is no origin server to pass to."""


def wait_until(awaitable: Awaitable[Any]) -> None:
    """`workers.wait_until`: as `ctx.waitUntil`, from anywhere in a Worker."""
    if not inspect.isawaitable(awaitable):
        raise TypeError(f"waitUntil needs an awaitable, not {type(awaitable).__name__}")
    current_runtime().wait_until(awaitable)


class _Entrypoint:
    ctx: Any
    env: Any

    def __init__(self, ctx: Any, env: Any) -> None:
        self.ctx = ctx
        self.env = env

    def __init_subclass__(cls, **_: Any) -> None:
        """Takes and ignores class keywords, as the SDK does."""
        super().__init_subclass__()


class WorkerEntrypoint(_Entrypoint):
    """A Worker's handlers as methods: `fetch`, `scheduled`, `queue`. The one that is served is called `Default`."""


class WorkflowEntrypoint(_Entrypoint):
    """A Workflow: `run(event, step)`, sync or async. One object is made for each pass of run()."""


class DurableObject(_Entrypoint):
    """A Durable Object: one Python object for each id, for as long as the runtime keeps it in memory."""


class DurableObjectAbort(BaseException):
    """Ends the call in which `ctx.abort()` was called; `except Exception` does not catch it."""


class DurableObjectContext:
    """`ctx` of a Durable Object: its id, its storage, and control over its calls."""

    def __new__(cls, ctx: Any) -> Any:
        return ctx if isinstance(ctx, cls) else super().__new__(cls)

    def __init__(self, ctx: Any) -> None:
        """`ctx` is the state that the host gives, or a context, which is then the result itself."""
        if ctx is not self:
            self._ctx = ctx

    def __getattr__(self, name: str) -> Any:
        if name == "_ctx":
            raise AttributeError(name)
        return getattr(self._ctx, name)

    def abort(self, reason: str | None = None) -> NoReturn:
        """Ends the object: its memory is lost, its storage stays, and the next call meets a new object."""
        self._ctx.abort(reason)
        raise DurableObjectAbort(reason or "Durable Object abort requested")


def handler(func: Callable[P, R]) -> Callable[P, R]:
    """The SDK's decorator of module-level handlers. Ours are given Python objects anyway."""

    @functools.wraps(func)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return func(*args, **kwargs)

    return wrapper


def call_with_what_fits(function: Callable[..., Any], *offered: Any) -> Any:
    """Calls a handler with as many of the offered arguments as its signature takes.

    Cloudflare's runtime drops surplus arguments: `fetch(self)`, `scheduled(self, controller)`.
    """
    return function(*offered[: _positional_count(function, len(offered))])


def _positional_count(function: Callable[..., Any], most: int) -> int:
    """`most`, or fewer if the function takes fewer. Asked at every request, where inspect is slow."""
    method = function if isinstance(function, MethodType) else None
    plain = method.__func__ if method is not None else function
    if type(plain) is FunctionType and not hasattr(plain, "__wrapped__"):
        code = plain.__code__
        taken = code.co_argcount - (1 if method is not None else 0)
        return most if code.co_flags & inspect.CO_VARARGS else min(most, taken)
    return _inspected_count(function, most)


def _inspected_count(function: Callable[..., Any], most: int) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return most
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return most
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(most, sum(parameter.kind in positional for parameter in parameters))
