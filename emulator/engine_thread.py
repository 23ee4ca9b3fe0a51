"""The way from the server's thread to the engine's loop and back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class EngineThread:
    """Runs coroutine functions on the engine's loop for callers on another loop.

    Cancelling the caller does not cancel the call: a command that was begun is carried out.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._calls: set[asyncio.Task[Any]] = set()

    async def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function(*args)`, awaited on the engine's loop; its exceptions come here."""
        caller = asyncio.get_running_loop()
        if caller is self.loop:
            return await function(*args, **kwargs)
        answer: asyncio.Future[T] = caller.create_future()
        self.loop.call_soon_threadsafe(self._start, caller, answer, function, args, kwargs)
        return await answer

    def _start(
        self,
        caller: asyncio.AbstractEventLoop,
        answer: asyncio.Future[T],
        function: Callable[..., Awaitable[T]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        task = self.loop.create_task(_run(caller, answer, function, args, kwargs))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    def soon(self, callback: Callable[..., None], *args: Any) -> None:
        """Calls back on the engine's loop; nobody waits for it."""
        self.loop.call_soon_threadsafe(callback, *args)


async def _run(
    caller: asyncio.AbstractEventLoop,
    answer: asyncio.Future[T],
    function: Callable[..., Awaitable[T]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    try:
        result = await function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - raised again where the caller is
        _tell(caller, _fail, answer, error)
    except asyncio.CancelledError:
        _tell(caller, _fail, answer, EngineStopped("the engine stopped before the call was done"))
        raise
    else:
        _tell(caller, _succeed, answer, result)


class EngineStopped(Exception):
    """The engine was stopped while a call waited for it."""


def _tell(caller: asyncio.AbstractEventLoop, what: Callable[..., None], *args: Any) -> None:
    if not caller.is_closed():
        caller.call_soon_threadsafe(what, *args)


def _succeed(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
