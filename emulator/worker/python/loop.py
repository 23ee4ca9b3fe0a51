"""The event loop that user code shares with the engine: nothing that a task of the user's does ends it."""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias
from weakref import WeakSet

from stepwell.bindings.escapes import is_ctrl_c
from stepwell.bindings.runtime import is_in_worker
from stepwell.bindings.tracebacks import error_text
from stepwell.emulator.left import Left
from stepwell.emulator.worker.workerd.selector import new_selector

_log = logging.getLogger("stepwell.worker")

if TYPE_CHECKING or sys.platform != "win32":

    class _Loop(asyncio.SelectorEventLoop):
        def __init__(self) -> None:
            super().__init__(new_selector())

else:
    _Loop = asyncio.ProactorEventLoop


AllTasks: TypeAlias = Callable[..., set[asyncio.Task[Any]]]

_EMULATOR: Final = str(Path(__file__).parents[2])
#: Methods through which code reaches a loop: its next turn, and whatever is to happen in it.
_ENTRANCES: Final = ("_run_once", "call_soon", "call_soon_threadsafe", "call_later", "call_at", "close")


class WorkerLoop(_Loop):
    """asyncio's own, but for the ways in which code that runs on it ends it."""

    def __init__(self) -> None:
        super().__init__()
        self._library_tasks: WeakSet[asyncio.Task[Any]] = WeakSet()

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = super().create_task(coro, **options)
        if not _is_ours(coro) and not is_in_worker():
            self._library_tasks.add(task)
        return task

    def is_user_task(self, task: asyncio.Task[Any]) -> bool:
        """Whether user code started a task: neither the engine nor a library that the engine called."""
        return task not in self._library_tasks and not _is_ours(task.get_coro())

    def leave_to_parent(self, end: Callable[[], NoReturn]) -> None:
        """In a forked child: calls `end` as soon as anything reaches the loop, which the parent goes on running."""
        for name in _ENTRANCES:
            setattr(self, name, lambda *_, **__: end())
        vars(self)["_ready"] = Left(end)

    def _run_once(self) -> None:
        """One turn. asyncio ends the loop at these two; the task that raised them has them as its error already."""
        try:
            super()._run_once()  # type: ignore[misc]  # there is no public way to go on after them
        except (KeyboardInterrupt, SystemExit) as error:
            if is_ctrl_c(error):
                raise
            _log.error(
                "Uncaught error in a task of the Worker; Stepwell continues.\n%s", error_text(error).rstrip()
            )

    def stop(self) -> None:
        if is_in_worker():
            raise RuntimeError("A Worker can't stop the event loop, because other instances run on it too")
        super().stop()


def _is_ours(coroutine: object) -> bool:
    """Whether a task runs a coroutine of the engine. Step functions of `bindings` are tasks of user code."""
    return isinstance(coroutine, CoroutineType) and coroutine.cr_code.co_filename.startswith(_EMULATOR)


def run_on_worker_loop(main: Coroutine[Any, Any, None], last_s: float) -> None:
    """`asyncio.run` on such a loop, which takes little longer than `main`, whatever user code does at the end.

    Tasks and generators of user code get `last_s` seconds each to hear of the end. Nobody waits for threads.
    """
    loop, all_tasks = WorkerLoop(), asyncio.all_tasks
    asyncio.set_event_loop(loop)
    _set_all_tasks(_user_tasks(all_tasks, loop))
    try:
        loop.run_until_complete(_and_end_the_rest(main, lambda: all_tasks(loop), last_s))
    finally:
        _set_all_tasks(all_tasks)
        asyncio.set_event_loop(None)
        loop.close()


def _set_all_tasks(all_tasks: AllTasks) -> None:
    for module in (asyncio, asyncio.tasks):
        vars(module)["all_tasks"] = all_tasks


def _user_tasks(all_tasks: AllTasks, worker_loop: WorkerLoop) -> AllTasks:
    """`asyncio.all_tasks` for user code, which may cancel what it finds: its own tasks, and the one that asks."""

    @functools.wraps(all_tasks)
    def user_tasks(loop: asyncio.AbstractEventLoop | None = None) -> set[asyncio.Task[Any]]:
        current, tasks = asyncio.current_task(loop), all_tasks(loop)
        if (loop or asyncio.get_running_loop()) is not worker_loop:
            return tasks
        return {task for task in tasks if task is current or worker_loop.is_user_task(task)}

    return user_tasks


async def _and_end_the_rest(
    main: Coroutine[Any, Any, None], all_tasks: Callable[[], set[asyncio.Task[Any]]], last_s: float
) -> None:
    loop = asyncio.get_running_loop()
    try:
        await main
    finally:
        await _end(_others(all_tasks()), last_s)
        await asyncio.wait({loop.create_task(loop.shutdown_asyncgens())}, timeout=last_s)
        left = _others(all_tasks())
        for task in left:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # said below, with its name
        if left:
            names = ", ".join(sorted({getattr(task.get_coro(), "__qualname__", "a task") for task in left}))
            _log.debug("tasks of the Worker are still running after they were cancelled: %s", names)


def _others(tasks: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
    return tasks - {asyncio.current_task()}


async def _end(tasks: set[asyncio.Task[Any]], last_s: float) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=last_s)
