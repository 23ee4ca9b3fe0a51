"""Calls from the server's thread into the engine's loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final, ParamSpec, TypeVar

from stepwell.bindings.errors import EngineError
from stepwell.emulator.threads.loop_watchdog import BlockedAt, locate_thread

P = ParamSpec("P")
T = TypeVar("T")


#: Seconds until a call must have started. A call that has started may take as long as it needs.
_PATIENCE_S: Final = 10.0


class EngineThread:
    """Runs coroutine functions on the engine's loop for callers on another loop.

    Cancelling the caller does not cancel a call that has started. A call that can't start, because user code blocks
    the loop, is withdrawn. Create the object on the engine's loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, patience_s: float = _PATIENCE_S) -> None:
        self.loop = loop
        self._thread = threading.get_ident()
        self._patience_s = patience_s
        self._calls: set[asyncio.Task[Any]] = set()

    async def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Await `function(*args)` on the engine's loop; return its result or raise its exception.

        Raises `EngineError` ("engine.held") if the loop is blocked.
        """
        caller = asyncio.get_running_loop()
        if caller is self.loop:
            return await function(*args, **kwargs)
        answer: asyncio.Future[T] = caller.create_future()
        # Whoever acquires the lock decides: the loop runs the call, or the caller withdraws it.
        turn = threading.Lock()
        self.loop.call_soon_threadsafe(self._start, turn, caller, answer, function, args, kwargs)
        await asyncio.wait({answer}, timeout=self._patience_s)
        if not answer.done() and turn.acquire(blocking=False):
            raise EngineError(_HELD.format(self.blocked_at()), code="engine.held")
        return await answer

    def blocked_at(self) -> BlockedAt:
        """Locate the code that the engine's thread is running."""
        return locate_thread(self._thread)

    def _start(
        self,
        turn: threading.Lock,
        caller: asyncio.AbstractEventLoop,
        answer: asyncio.Future[T],
        function: Callable[..., Awaitable[T]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        if not turn.acquire(blocking=False):
            return
        task = self.loop.create_task(_run(caller, answer, function, args, kwargs))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    def soon(self, callback: Callable[..., None], *args: Any) -> None:
        """Schedule a callback on the engine's loop without waiting for it."""
        self.loop.call_soon_threadsafe(callback, *args)


_HELD: Final = (
    "{} is blocking the event loop, so the command did not run. Retry when it has finished. If this is an endless "
    "loop, fix the code and restart Stepwell."
)


async def _run(
    caller: asyncio.AbstractEventLoop,
    answer: asyncio.Future[T],
    function: Callable[..., Awaitable[T]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    try:
        result = await function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - raised again on the caller's loop
        _report(caller, _fail, answer, error)
    except asyncio.CancelledError:
        _report(caller, _fail, answer, EngineStopped("the engine stopped before the call finished"))
        raise
    else:
        _report(caller, _succeed, answer, result)


class EngineStopped(Exception):
    """The engine stopped while a call was waiting for it."""


def _report(caller: asyncio.AbstractEventLoop, callback: Callable[..., None], *args: Any) -> None:
    if not caller.is_closed():
        caller.call_soon_threadsafe(callback, *args)


def _succeed(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
