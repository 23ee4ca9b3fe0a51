"""Running a callback of user code under a timeout, without a task or a timer for those that never suspend.

A callback runs in the task that awaits it. When its time is over the waiter goes on with the error, and the
callback is abandoned: it runs to its end in a task of its own, and what it gives is ignored, as on Cloudflare
(case timeout-late-error).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

from bindings.errors import WorkflowTimeoutError
from emulator.engine.timers import Deadlines

T = TypeVar("T")


class _TimeIsUp(Exception):
    """Wakes the waiter of an abandoned callback."""


class _Pending(asyncio.Future[None]):
    """Stands for the future that a callback awaits, so that its waiter can be woken without cancelling it."""

    def __init__(self, awaited: asyncio.Future[Any]) -> None:
        super().__init__(loop=awaited.get_loop())
        self.awaited = awaited
        awaited.add_done_callback(self._done)

    def _done(self, _: asyncio.Future[Any]) -> None:
        if not self.done():
            self.set_result(None)

    def cancel(self, msg: Any | None = None) -> bool:
        """Cancelling the task means cancelling what the callback awaits; it hears of it there."""
        return self.awaited.cancel(msg)

    def give_up(self) -> None:
        if not self.done():
            self.set_exception(_TimeIsUp())


class Callbacks:
    """Runs callbacks; owns the deadlines of those in flight, and those that were abandoned."""

    def __init__(self, deadlines: Deadlines) -> None:
        self.deadlines = deadlines
        self._abandoned: set[asyncio.Future[None]] = set()

    def within(self, timeout_ms: int, coroutine: Coroutine[Any, Any, T]) -> WithTimeout[T]:
        """Awaitable: the result of `coroutine`, or `WorkflowTimeoutError` after `timeout_ms`."""
        return WithTimeout(coroutine, timeout_ms, self)

    def abandon(self, coroutine: Coroutine[Any, Any, Any], awaited: Any) -> None:
        """Leaves a started coroutine, which waits for `awaited`, to itself."""
        rest = asyncio.ensure_future(_run_out(coroutine, awaited))
        self._abandoned.add(rest)
        rest.add_done_callback(self._forget)

    def _forget(self, rest: asyncio.Future[None]) -> None:
        self._abandoned.discard(rest)
        if not rest.cancelled():
            rest.exception()  # a late error is ignored

    def stop(self) -> None:
        """At the end of the engine: nobody waits for abandoned callbacks."""
        self.deadlines.stop()
        for rest in list(self._abandoned):
            rest.cancel()


class WithTimeout(Generic[T]):
    """One callback on its way; see `Callbacks.within`."""

    __slots__ = ("_callbacks", "_coroutine", "_pending", "_timed_out", "_timeout_ms")

    def __init__(self, coroutine: Coroutine[Any, Any, T], timeout_ms: int, callbacks: Callbacks) -> None:
        self._coroutine = coroutine
        self._timeout_ms = timeout_ms
        self._callbacks = callbacks
        self._pending: _Pending | None = None
        self._timed_out = False

    def __await__(self) -> Generator[Any, Any, T]:
        try:
            awaited = self._coroutine.send(None)
        except StopIteration as done:
            result: T = done.value
            return result
        return (yield from self._suspended(awaited))

    def _suspended(self, awaited: Any) -> Generator[Any, Any, T]:
        deadline = self._callbacks.deadlines.after(self._timeout_ms, self._time_is_up)
        try:
            while True:
                if self._timed_out:
                    self._abandon(awaited)
                try:
                    yield from self._pause(awaited)
                except _TimeIsUp:
                    self._abandon(awaited)
                awaited = self._coroutine.send(None)
        except StopIteration as done:
            result: T = done.value
            return result
        except GeneratorExit:
            self._coroutine.close()
            raise
        finally:
            deadline.cancel()

    def _pause(self, awaited: Any) -> Generator[Any, Any, None]:
        if awaited is None:  # a bare yield, such as asyncio.sleep(0)
            yield None
            return
        awaited._asyncio_future_blocking = False
        self._pending = _Pending(awaited)
        yield from self._pending

    def _time_is_up(self) -> None:
        self._timed_out = True
        if self._pending is not None:
            self._pending.give_up()

    def _abandon(self, awaited: Any) -> None:
        self._callbacks.abandon(self._coroutine, awaited)
        raise WorkflowTimeoutError(self._timeout_ms)


async def _run_out(coroutine: Coroutine[Any, Any, Any], awaited: Any) -> None:
    if awaited is not None:
        await asyncio.wait([awaited])
    await _Started(coroutine)


class _Started:
    """Awaitable: goes on with a coroutine that has been started already."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._coroutine.__await__())
