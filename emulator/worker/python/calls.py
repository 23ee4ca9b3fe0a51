"""What the runtime asks of a Python Worker besides requests: batches of queues, methods, events of objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from stepwell.bindings.escapes import as_ordinary
from stepwell.bindings.queues import Message, MessageBatch
from stepwell.bindings.values import Value, ms_datetime
from stepwell.emulator.worker.python.generation import PythonGeneration
from stepwell.emulator.worker.python.handlers import Target, call_handler, call_method

if TYPE_CHECKING:
    from stepwell.bindings.held import Reach

T = TypeVar("T")


class RuntimeCalls:
    """Calls of one Worker, for `PythonService.call`.

    `generation` gives the code as it is now and raises `WorkerLoadError` when there is none; `report` takes an
    exception of user code and the name of the handler that raised it.
    """

    def __init__(
        self,
        generation: Callable[[], PythonGeneration],
        report: Callable[[BaseException, str], None],
        reach: Reach | None,
    ) -> None:
        self._generation = generation
        self._report = report
        self._reach = reach

    async def __call__(self, head: Mapping[str, Any], values: Value) -> Value:
        """The answer to one call: `head` says which, `values` are its arguments or the bodies of its messages."""
        if head["kind"] == "queue":
            return await self._queue(head["queue"], head["messages"], values)
        call = call_method(self._generation(), head["method"], values, Target.of(head), self._reach)
        try:
            return await in_task(call)
        except Exception as error:
            if head["method"] == "alarm":  # nobody else hears of it
                self._report(error, "alarm")
            raise

    async def _queue(self, queue: str, told: Sequence[Mapping[str, Any]], bodies: Sequence[Value]) -> Value:
        messages = [
            Message(each["id"], ms_datetime(each["timestamp"]), body, each["attempts"])
            for each, body in zip(told, bodies, strict=True)
        ]
        error = None
        try:
            await in_task(call_handler(self._generation(), "queue", MessageBatch(queue, messages)))
        except (Exception, asyncio.CancelledError) as failure:  # noqa: BLE001 - the queue tries again
            self._report(failure, "queue")
            error = f"{type(failure).__name__}: {failure}"
        return {
            "acknowledged": [message.id for message in messages if message.acknowledged is True],
            "retried": {message.id: message.delay_seconds for message in messages if message.acknowledged is False},
            "error": error,
        }


async def in_task(call: Coroutine[Any, Any, T]) -> T:
    """Runs user code in a task of its own: its context is not its caller's. What it raises is an `Exception`."""
    return await asyncio.create_task(_ordinary(call))


async def _ordinary(call: Coroutine[Any, Any, T]) -> T:
    try:
        return await call
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - user code may raise anything
        raise as_ordinary(error) from None
