"""Output that does not pass through `sys.stdout`: of child processes, and what C code writes to descriptor 1.

It goes into files in memory, and from there into the stream that everything else is printed to, in order: each
print first passes on what is in the files, and so does the end of each attempt. Files, because a write to one never
waits for its reader: C code that fills a pipe while it holds the GIL would wait for a thread that needs the GIL.

On a terminal nothing is redirected: programs show colours and progress there, and `breakpoint()` edits its line.
Standard error of the process itself stays what it is, so the last words before a crash are not lost; and in a
forked child everything stays with the parent.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from stepwell.bindings.context import StepFrame
from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.left import close_here

#: Takes a level of `logging` and whole lines.
Write: TypeAlias = Callable[[int, str], None]

_CHUNK: Final = 64 * 1024
#: A file that was read whole is emptied beyond this size.
_LARGE: Final = 1024 * 1024
#: Seconds between two looks at the files while nothing is printed.
_PAUSE_S: Final = 0.1
#: Seconds without output after which a child that has ended is forgotten: its own children may still write.
_QUIET_S: Final = 5.0


class _Sink:
    """A file that another program or C code writes to, and how far it has been read."""

    def __init__(self, level: int, write: Write) -> None:
        self.descriptor = _memory_file()
        self._level = level
        self._write = write
        self.read_to = 0
        self.begun = b""
        self._context = contextvars.copy_context()
        self.last_ns = monotonic_ns()

    def pass_on(self, context: contextvars.Context | None = None, *, ended: bool = False) -> None:
        """Write the lines that have come since the last call, in the `context` of a step or the sink's own.

        If the writer has `ended`, what it has begun is a line as well.
        """
        while data := os.pread(self.descriptor, _CHUNK, self.read_to):
            self.read_to += len(data)
            self.last_ns = monotonic_ns()
            whole, newline, begun = data.rpartition(b"\n")
            if newline:
                self._emit(context, self.begun + whole)
            self.begun = begun if newline else self.begun + begun
        if ended and self.begun:
            self._emit(context, self.begun)
            self.begun = b""
        if self.read_to > _LARGE and os.fstat(self.descriptor).st_size == self.read_to:
            os.ftruncate(self.descriptor, 0)
            self.read_to = 0

    def _emit(self, context: contextvars.Context | None, lines: bytes) -> None:
        (context or self._context).run(self._write, self._level, lines.decode(errors="replace") + "\n")

    def close(self) -> None:
        os.close(self.descriptor)


def _memory_file() -> int:
    """A file that has no name and, where the system can, lies in memory; each write goes to its end."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("stepwell-output")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    import fcntl  # not on Windows, where nothing is redirected

    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_APPEND)
    return descriptor


class RawOutput:
    """All such output of the process, from `redirect` to its end."""

    def __init__(self, write: Write, child_write: Callable[[], Write | None]) -> None:
        """`write` takes what C code writes; `child_write` says who takes the output of a child started now."""
        self._lock = threading.RLock()
        self._passing = False
        self._owner = os.getpid()
        self._own = _Sink(logging.INFO, write)
        self._child_write = child_write
        self._children: list[tuple[subprocess.Popen[Any], _Sink]] = []
        self._attempts: dict[StepFrame, contextvars.Context] = {}
        self._ended = threading.Event()
        #: What descriptor 1 was before.
        self._saved: int | None = None

    # -- attempts of steps
    def attempt_began(self, frame: StepFrame) -> None:
        """Called in the context of the attempt."""
        self.pass_on()
        self._attempts[frame] = contextvars.copy_context()

    def attempt_ended(self, frame: StepFrame) -> None:
        self.pass_on(ended=True)
        self._attempts.pop(frame, None)

    def pass_on(self, *, ended: bool = False) -> None:
        """Print what is in the files. C code's output is that of the attempt that runs, if there is only one.

        If the code that runs has `ended`, lines that it has begun are whole.
        """
        own = self._own
        if not (self._children or own.begun) and os.lseek(own.descriptor, 0, os.SEEK_END) == own.read_to:
            return  # the rule, twice per step
        if self._passing or os.getpid() != self._owner:
            return
        with self._lock:
            if self._passing:  # by this thread: printing leads here again
                return
            self._passing = True
            try:
                attempts = list(self._attempts.values())
                self._own.pass_on(attempts[0] if len(attempts) == 1 else None, ended=ended)
                for child, sink in self._children:
                    sink.pass_on(ended=child.returncode is not None)
                self._forget_children()
            finally:
                self._passing = False

    def _forget_children(self) -> None:
        before_ns = monotonic_ns() - round(_QUIET_S * 1e9)
        for child, sink in list(self._children):
            if child.returncode is not None and sink.last_ns < before_ns:
                self._children.remove((child, sink))
                sink.close()

    # -- what is redirected
    @contextmanager
    def redirect(self) -> Iterator[None]:
        """Inside, descriptor 1 and the children of user code write to our files."""
        saved, plain_popen = os.dup(1), subprocess.Popen.__init__
        self._saved = saved
        os.dup2(self._own.descriptor, 1)
        subprocess.Popen.__init__ = self._popen(plain_popen)  # type: ignore[method-assign]
        reading = threading.Thread(target=self._read, name="stepwell-output", daemon=True)
        reading.start()
        try:
            yield
        finally:
            subprocess.Popen.__init__ = plain_popen  # type: ignore[method-assign]
            self._ended.set()
            reading.join()
            os.dup2(saved, 1)
            os.close(saved)
            self._saved = None
            with contextlib.suppress(Exception):  # whoever takes the output has stopped
                self.pass_on(ended=True)

    def leave_to_parent(self) -> None:
        """In a forked child: descriptor 1 is what the child would have had, and nothing else holds it open."""
        if self._saved is not None:
            os.dup2(self._saved, 1)
            close_here(self._saved)
            self._saved = None

    def _read(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            with contextlib.suppress(Exception):  # the output of user code must not end the reading
                self.pass_on()

    def _popen(self, plain: Any) -> Any:
        """`Popen.__init__` that gives a child of user code files for what it would inherit."""

        def init(child: subprocess.Popen[Any], *args: Any, **kwargs: Any) -> None:
            write = self._child_write()
            names = {"stdout": logging.INFO, "stderr": logging.WARNING}
            if write is None or len(args) > 1:  # with positional streams it says itself where they go
                plain(child, *args, **kwargs)
                return
            sinks = {name: _Sink(level, write) for name, level in names.items() if kwargs.get(name) is None}
            try:
                plain(child, *args, **{**kwargs, **{name: sink.descriptor for name, sink in sinks.items()}})
            except BaseException:
                for sink in sinks.values():
                    sink.close()
                raise
            with self._lock:
                self._children += [(child, sink) for sink in sinks.values()]

        return init
