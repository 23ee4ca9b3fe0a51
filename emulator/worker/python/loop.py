"""The event loop that user code shares with the engine: nothing that a task of the user's does ends it."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from stepwell.bindings.escapes import is_ctrl_c
from stepwell.bindings.runtime import is_in_worker
from stepwell.bindings.tracebacks import error_text
from stepwell.emulator.worker.workerd.selector import new_selector

_log = logging.getLogger("stepwell.worker")

if TYPE_CHECKING or sys.platform != "win32":

    class _Loop(asyncio.SelectorEventLoop):
        def __init__(self) -> None:
            super().__init__(new_selector())

else:
    _Loop = asyncio.ProactorEventLoop


class WorkerLoop(_Loop):
    """asyncio's own, but for the ways in which code that runs on it ends it."""

    def _run_once(self) -> None:
        """One turn. asyncio ends the loop at these two; the task that raised them has them as its error already."""
        try:
            super()._run_once()  # type: ignore[misc]  # there is no public way to go on after them
        except (KeyboardInterrupt, SystemExit) as error:
            if is_ctrl_c(error):
                raise
            _log.error("Uncaught in a task of the Worker; Stepwell goes on.\n%s", error_text(error).rstrip())

    def stop(self) -> None:
        if is_in_worker():
            raise RuntimeError(
                "A Worker cannot stop the event loop that it runs on: other instances run on it, too"
            )
        super().stop()


def run_on_worker_loop(main: Coroutine[Any, Any, None]) -> None:
    """`asyncio.run` on such a loop."""
    with asyncio.Runner(loop_factory=WorkerLoop) as runner:
        runner.run(main)
