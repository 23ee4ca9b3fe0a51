"""A child process that user code makes with `os.fork()` is a copy of Stepwell; it must not go on as a second one.

The child may do as it likes, run `os.exec()`, end with `os._exit()`, or be one of `multiprocessing`. When it comes
back from where user code was called, it ends.
"""

from __future__ import annotations

import os
import signal
import socket
from typing import TYPE_CHECKING, Final, NoReturn

from stepwell.bindings.context import current_step
from stepwell.emulator.app.state_folder import StateFolder
from stepwell.emulator.left import close_here
from stepwell.emulator.storage.store import Store
from stepwell.emulator.terminal.printer import Printer
from stepwell.emulator.terminal.safe import visible
from stepwell.emulator.terminal.user_output import UserOutput
from stepwell.emulator.worker.python.loop import WorkerLoop

if TYPE_CHECKING:
    from stepwell.emulator.worker.python.raw_output import RawOutput

#: The exit code of a child that came back.
_CAME_BACK: Final = 70

_MESSAGE: Final = (
    "The process {} was created with os.fork(){} and returned into Stepwell, so it was ended. Stepwell continues. "
    "End a child with os._exit(), or use subprocess or multiprocessing.\n"
)


class Forks:
    """Keeps the forked children of one run of `stepwell dev` from using what belongs to the run."""

    def __init__(
        self,
        loop: WorkerLoop,
        store: Store,
        folder: StateFolder,
        sock: socket.socket,
        printer: Printer,
        output: UserOutput,
        raw_output: RawOutput | None,
    ) -> None:
        self._loop = loop
        self._store = store
        self._folder = folder
        self._socket = sock
        self._printer = printer
        self._output = output
        self._raw_output = raw_output

    def watch(self) -> None:
        """From now on, for as long as the process runs: Python has no way to take it back."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def _in_child(self) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._loop.leave_to_parent(_end)
        self._store.leave_to_parent(_end)
        self._output.stop()
        if self._raw_output is not None:
            self._raw_output.leave_to_parent()
        self._printer.leave_to_parent()
        self._folder.leave_to_parent()
        close_here(self._socket.fileno())


def _end() -> NoReturn:
    """Says why, with nothing of the process that the parent uses too, and ends the child."""
    frame = current_step.get()
    where = ""
    if frame is not None:
        step = f'the step "{frame.step}" of ' if frame.step is not None else ""
        where = f" in {step}{frame.workflow_name}/{frame.instance_id}"
    text = visible(_MESSAGE.format(os.getpid(), where))
    os.write(2, text.encode(errors="backslashreplace"))
    os._exit(_CAME_BACK)
