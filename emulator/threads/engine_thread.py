"""The way from the server's thread to the engine's loop and back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final, ParamSpec, TypeVar

from stepwell.bindings.errors import EngineError
from stepwell.emulator.threads.held_loop import Standing, standing_of

P = ParamSpec("P")
T = TypeVar("T")


#: How long a call may wait to be begun, in seconds; how long it then takes is its own matter.
_PATIENCE_S: Final = 10.0


class EngineThread:
    """Runs coroutine functions on the engine's loop for callers on another loop.

    Cancelling the caller does not cancel the call: a command that was begun is carried out. One that cannot begin,
    because user code holds the loop, is withdrawn. To be made on the engine's loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, patience_s: float = _PATIENCE_S) -> None:
        self.loop = loop
        self._thread = threading.get_ident()
        self._patience_s = patience_s
        self._calls: set[asyncio.Task[Any]] = set()

    async def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `function(*args)`, awaited on the engine's loop; its exceptions come here.

        Raises `EngineError` ("engine.held") when the loop does not turn.
        """
        caller = asyncio.get_running_loop()
        if caller is self.loop:
            return await function(*args, **kwargs)
        answer: asyncio.Future[T] = caller.create_future()
        turn = (
            threading.Lock()
        )  # who takes it decides: the loop, that the call is made, or its caller, that it is not
        self.loop.call_soon_threadsafe(self._start, turn, caller, answer, function, args, kwargs)
        await asyncio.wait({answer}, timeout=self._patience_s)
        if not answer.done() and turn.acquire(blocking=False):
            raise EngineError(_HELD.format(self.standing()), code="engine.held")
        return await answer

    def standing(self) -> Standing:
        """Where the engine's thread stands."""
        return standing_of(self._thread)

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
        """Calls back on the engine's loop; nobody waits for it."""
        self.loop.call_soon_threadsafe(callback, *args)


_HELD: Final = (
    "{} holds the event loop, so nothing was done. It is free when that code awaits or returns; if it never does, "
    "change the code, stop Stepwell (Ctrl-C) and start it again."
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
