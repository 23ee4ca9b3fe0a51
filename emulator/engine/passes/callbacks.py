"""Runs callbacks of user code under a timeout, without task or timer for callbacks that never suspend.

On timeout the waiter gets the error. The callback runs on, but its result is ignored, as on Cloudflare (case
timeout-late-error).

Each callback needs its own task: asyncio.timeout, TaskGroup and anyio (hence httpx) remember the task in which they
were entered and may cancel it later. In the task of run(), they would cancel run() long after the callback was
abandoned. Creating a task and waiting for its turn is slow, so the waiter itself drives the callback until it first
suspends, with a spare task entered as the current task. Only a callback that suspends uses up the spare task.
"""

from __future__ import annotations

import asyncio
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, TypeVar

from stepwell.bindings.errors import WorkflowTimeoutError
from stepwell.bindings.escapes import as_ordinary
from stepwell.bindings.ports import RemoteAnswer, StepResult
from stepwell.emulator.engine.time.timers import Deadlines

T = TypeVar("T")


class _TimeIsUp(Exception):
    """Wakes the waiter when the timeout has passed."""


class _Outcome(asyncio.Future[Any]):
    """The future that the waiter of a suspended callback awaits; the first result or error wins."""

    def succeed(self, value: Any) -> None:
        if not self.done():
            self.set_result(value)

    def fail(self, error: BaseException) -> None:
        if not self.done():
            self.set_exception(error)
            self.exception()  # retrieve it, because a cancelled waiter never does and asyncio would log it

    def give_up(self) -> None:
        self.fail(_TimeIsUp())

    @property
    def is_given_up(self) -> bool:
        return self.done() and not self.cancelled() and isinstance(self.exception(), _TimeIsUp)


class Callbacks:
    """Runs callbacks; owns their deadlines and the tasks of abandoned callbacks."""

    def __init__(self, deadlines: Deadlines) -> None:
        self.deadlines = deadlines
        self._spare: _Driver | None = None
        self._stopped = False
        self._suspended: set[asyncio.Task[None]] = set()

    async def within(
        self, timeout_ms: int, coroutine: Coroutine[Any, Any, T], late: Callable[[], None] | None = None
    ) -> T:
        """Return the result of `coroutine`. Raises `WorkflowTimeoutError` after `timeout_ms`.

        Cancelling the waiter cancels the callback without waiting for it. `late` is called if the callback ends
        after its timeout.
        """
        driver, self._spare = self._take(), None
        try:
            awaited = driver.begin(coroutine)
        except StopIteration as done:
            self._keep(driver)
            result: T = done.value
            return result
        except BaseException:
            self._keep(driver)
            raise
        awaited_result: T = await self._suspend(driver, awaited, timeout_ms, late)
        return awaited_result

    async def answered(self, timeout_ms: int, answer: RemoteAnswer, late: Callable[[], None]) -> StepResult:
        """Like `within`, for a callback in another process, which needs no task here."""
        limit = _RemoteLimit(self.deadlines, timeout_ms, answer)
        try:
            result: StepResult = await answer
        except _TimeIsUp:
            answer.late = late
            raise WorkflowTimeoutError(timeout_ms) from None
        finally:
            limit.cancel()
        return result

    def _take(self) -> _Driver:
        spare = self._spare
        return spare if spare is not None and spare.is_fresh else _Driver(asyncio.get_running_loop())

    def _keep(self, driver: _Driver) -> None:
        """Reuse the task of a callback that never suspended."""
        if self._spare is None and not self._stopped:
            self._spare = driver
        else:
            driver.task.cancel()

    async def _suspend(
        self, driver: _Driver, awaited: Any, timeout_ms: int, late: Callable[[], None] | None
    ) -> Any:
        self._suspended.add(driver.task)
        driver.task.add_done_callback(self._suspended.discard)
        outcome = driver.go_on(awaited)

        def ended(_: asyncio.Task[None]) -> None:
            if late is not None and outcome.is_given_up and not self._stopped:
                late()

        driver.task.add_done_callback(ended)
        deadline = self.deadlines.after(timeout_ms, outcome.give_up)
        try:
            return await outcome
        except _TimeIsUp:
            raise WorkflowTimeoutError(timeout_ms) from None
        except asyncio.CancelledError:
            if not driver.task.done():  # otherwise the callback raised this CancelledError itself
                driver.task.cancel()
            raise
        finally:
            deadline.cancel()

    def stop(self) -> None:
        """Stop with the engine: cancel abandoned callbacks."""
        self._stopped = True
        self.deadlines.stop()
        if self._spare is not None:
            self._spare.task.cancel()
            self._spare = None
        for task in list(self._suspended):
            task.cancel()


class _RemoteLimit:
    """The timeout of a callback in another process. Time spent paused in a debugger does not count."""

    def __init__(self, deadlines: Deadlines, ms: int, answer: RemoteAnswer) -> None:
        self._deadlines = deadlines
        self._answer = answer
        self._granted_ms = 0
        self._asking: asyncio.Task[None] | None = None
        self._deadline = deadlines.after(ms, self._over)

    def _over(self) -> None:
        self._asking = asyncio.get_running_loop().create_task(self._ask())

    async def _ask(self) -> None:
        stood_ms = await self._answer.stood_ms()
        more_ms, self._granted_ms = stood_ms - self._granted_ms, stood_ms
        if self._answer.done():
            return
        if more_ms > 0:
            self._deadline = self._deadlines.after(more_ms, self._over)
        else:
            self._answer.set_exception(_TimeIsUp())

    def cancel(self) -> None:
        self._deadline.cancel()
        if self._asking is not None:
            self._asking.cancel()


class _Driver:
    """The task of one callback. It waits until the callback has suspended, then drives it to its end."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._suspended: asyncio.Future[None] = loop.create_future()
        self._coroutine: Coroutine[Any, Any, Any] | None = None
        self._context: Context | None = None
        self._awaited: Any = None
        self._outcome = _Outcome(loop=loop)
        self.task: asyncio.Task[None] = loop.create_task(self._main(), name="step callback")

    @property
    def is_fresh(self) -> bool:
        """False if the task has ended or was cancelled: an earlier callback may have kept a reference to it."""
        return not self.task.done() and not self.task.cancelling()

    def begin(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Drive the callback to its first suspension; return the future that it awaits.

        Raises `StopIteration` with the result if it never suspends, or the error of the callback.
        """
        self._context = copy_context()
        waiter = asyncio.current_task()
        assert waiter is not None
        _leave_task(self._loop, waiter)
        _enter_task(self._loop, self.task)
        try:
            awaited = self._context.run(_turn, coroutine, None)
        finally:
            _leave_task(self._loop, self.task)
            _enter_task(self._loop, waiter)
        self._coroutine = coroutine
        _hold(awaited, False)
        return awaited

    def go_on(self, awaited: Any) -> _Outcome:
        """Hand the suspended callback over to the task."""
        self._awaited = awaited
        self._suspended.set_result(None)
        return self._outcome

    async def _main(self) -> None:
        await self

    def __await__(self) -> Generator[Any, Any, None]:
        error = yield from self._until_suspended()
        if self._coroutine is None:
            return
        try:
            self._outcome.succeed((yield from self._drive(self._coroutine, error)))
        except GeneratorExit:  # the task was garbage-collected, possibly after the loop was closed
            if not self._loop.is_closed():
                self._outcome.cancel()
            raise
        except BaseException as raised:  # noqa: BLE001 - user code may raise anything
            self._outcome.fail(raised)

    def _until_suspended(self) -> Generator[Any, Any, BaseException | None]:
        """Wait for the handover. Returns a cancellation that arrived earlier, to be thrown into the callback."""
        try:
            yield from self._suspended
        except asyncio.CancelledError as cancelled:
            # Cancelling the awaited future delivers the cancellation to the callback.
            if self._awaited is None or not self._awaited.cancel():
                return cancelled
        return None

    def _drive(self, coroutine: Coroutine[Any, Any, Any], error: BaseException | None) -> Generator[Any, Any, Any]:
        """Drive the callback to its end; return its result."""
        assert self._context is not None
        run, awaited = self._context.run, self._awaited
        _hold(awaited, True)
        while True:
            if error is None:
                try:
                    yield awaited
                except GeneratorExit:
                    coroutine.close()
                    raise
                except BaseException as thrown:  # noqa: BLE001 - a cancellation
                    error = thrown
            try:
                awaited = run(_turn, coroutine, error)
            except StopIteration as done:
                return done.value
            error = None


def _hold(awaited: object, is_held: bool) -> None:
    """Set or clear asyncio's mark for a future that a coroutine is handing to its task.

    The handover here takes a turn of the loop, in which other code may await the same future. With the mark still
    set, asyncio would reject that: "await wasn't used with future".
    """
    if asyncio.isfuture(awaited):
        awaited._asyncio_future_blocking = is_held


def _turn(coroutine: Coroutine[Any, Any, Any], error: BaseException | None) -> Any:
    """Drive user code to its next suspension. SystemExit and the like become ordinary exceptions."""
    try:
        return coroutine.send(None) if error is None else coroutine.throw(error)
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as raised:  # noqa: BLE001 - user code may raise anything
        raise as_ordinary(raised) from None
