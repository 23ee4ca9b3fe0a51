"""What user code prints: routed by where it runs, so that each line is known by its instance and step.

Everything of the process writes to `sys.stdout`. While a Python host runs, an object of ours stands there: what is
written inside of a Worker's code goes, line by line, to the host's `emit`, and so does what its threads write
(`user_threads.py`); all else goes where it always did. `raw_output.py` reads what passes `sys.stdout` by.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO, TypeAlias

from stepwell.bindings.context import StepFrame, at_attempt_end, at_attempt_start, current_step
from stepwell.emulator.terminal import safe
from stepwell.emulator.worker.console import ConsoleLine
from stepwell.emulator.worker.python.user_threads import threads_keep

if TYPE_CHECKING:
    from stepwell.emulator.worker.python.raw_output import RawOutput

Emit: TypeAlias = Callable[[ConsoleLine], None]

_DEBUGGERS: Final = frozenset({"bdb", "cmd", "pdb", "ipdb", "pdbpp", "IPython"})

#: What writes a record to a stream.
_EMIT: Final = logging.StreamHandler.emit.__code__


class _Writer(NamedTuple):
    """Who has begun a line, and at which level."""

    level: int
    frame: StepFrame | None
    thread: int


class _Output:
    """The output of one pass, or of one event for a handler: lines that are begun wait here for their end."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._begun: dict[_Writer, str] = {}

    def write(self, level: int, text: str) -> None:
        """Lines of different steps and threads that go on at the same time keep apart."""
        writer = _Writer(level, current_step.get(), threading.get_ident())
        *lines, begun = (self._begun.pop(writer, "") + text).split("\n")
        if begun:
            self._begun[writer] = begun
        if lines:
            self.pass_on(level, lines, writer.frame)

    def pass_on(self, level: int, lines: Iterable[str], frame: StepFrame | None) -> None:
        if _raw is not None:
            _raw.pass_on()
        token, emitting = _output.set(None), _emitting.set(True)  # emitting may print as well
        try:
            for line in lines:
                self._emit(
                    ConsoleLine(level, line)
                    if frame is None
                    else ConsoleLine(level, line, frame.instance_id, frame.step)
                )
        finally:
            _emitting.reset(emitting)
            _output.reset(token)

    def start_of(self, frame: StepFrame) -> None:
        if _raw is not None:
            _raw.attempt_began(frame)

    def end_of(self, frame: StepFrame) -> None:
        """What the attempt has begun and not ended is a line, too."""
        if _raw is not None:
            _raw.attempt_ended(frame)
        if self._begun:
            self._flush([writer for writer in list(self._begun) if writer.frame == frame])

    def end(self) -> None:
        self._flush(list(self._begun))

    def _flush(self, writers: list[_Writer]) -> None:
        for writer in writers:
            begun = self._begun.pop(writer, "")  # empty if its own thread has ended it meanwhile
            if begun:
                self.pass_on(writer.level, [begun], writer.frame)


#: Where the output of the code that runs goes; None outside of user code, and while a line is being emitted.
_output: Final[ContextVar[_Output | None]] = ContextVar("stepwell_output", default=None)

#: Whether a line is being emitted.
_emitting: Final[ContextVar[bool]] = ContextVar("stepwell_emitting", default=False)

#: What passes into threads of user code.
_OF_THREADS: Final = (_output, current_step)

#: Where output comes from that does not pass through `sys.stdout`, if it is read.
_raw: RawOutput | None = None


def enter_output(emit: Emit) -> None:
    """From here on, in this task or context, what is printed is user output."""
    output = _Output(emit)
    _output.set(output)
    at_attempt_start.set(output.start_of)
    at_attempt_end.set(output.end_of)


def end_output() -> None:
    """The code that was entered has come to its end: what it has begun to print is shown."""
    output = _output.get()
    if output is not None:
        output.end()


def is_of_user_code(record: logging.LogRecord) -> bool:
    """Whether user code made the record, in a Worker's context or in a thread of its own."""
    return _output.get() is not None or not _is_our_thread(record.thread, record.threadName)


def _is_our_thread(ident: int | None, name: str | None) -> bool:
    return ident == threading.main_thread().ident or (name or "").startswith("stepwell")


class RoutedStream(io.TextIOBase):
    """Stands in for a stream of the process."""

    def __init__(self, plain: TextIO, level: int, strays: _Output | None = None) -> None:
        """`strays` takes what threads write of which nothing is known."""
        self._plain = plain
        self._level = level
        self._strays = strays

    def write(self, text: str) -> int:
        output, writer = _output.get() or self._stray(), sys._getframe(1)
        if _is_debugger(writer):
            return self._plain.write(text)
        if output is not None:
            is_log = writer.f_code is _EMIT
            output.write(writer.f_locals["record"].levelno if is_log else self._level, text)
        else:
            self._plain.write(safe.printed(text))
        return len(text)

    def _stray(self) -> _Output | None:
        thread = threading.current_thread()
        return None if _emitting.get() or _is_our_thread(thread.ident, thread.name) else self._strays

    @property
    def buffer(self) -> io.RawIOBase:
        """Bytes that are written become text, and take the same way."""
        return _Bytes(self)

    def flush(self) -> None:
        if _output.get() is None:
            self._plain.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return _output.get() is None and self._plain.isatty()

    def fileno(self) -> int:
        return self._plain.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        return self._plain.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._plain.errors

    def __getattr__(self, name: str) -> Any:
        """`mode` and the like, of the stream behind."""
        return getattr(self._plain, name)


class _Bytes(io.RawIOBase):
    """The bytes behind a `RoutedStream`."""

    def __init__(self, stream: RoutedStream) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        text = bytes(data).decode(errors="replace")
        self._stream.write(text)
        return len(data)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()


def _is_debugger(frame: FrameType) -> bool:
    """Whether a debugger writes: it talks to the person at the terminal, half lines and all."""
    return frame.f_globals.get("__name__", "").partition(".")[0] in _DEBUGGERS


@contextmanager
def routed_output(emit: Emit | None = None) -> Iterator[None]:
    """Puts the streams in place, and back at the end. Several hosts may do so, one inside the other.

    `emit` takes the lines of threads of which nothing is known; without it they are printed as ever.
    """
    if isinstance(sys.stdout, RoutedStream) and isinstance(sys.stderr, RoutedStream):
        yield
        return
    before = sys.stdout, sys.stderr
    strays = None if emit is None else _Output(emit)
    sys.stdout = _routed(sys.stdout, logging.INFO, strays)
    sys.stderr = _routed(sys.stderr, logging.WARNING, strays)
    try:
        with threads_keep(_OF_THREADS, lambda: _output.get() is not None):
            yield
    finally:
        sys.stdout, sys.stderr = before


def _routed(stream: TextIO, level: int, strays: _Output | None) -> TextIO:
    if isinstance(stream, RoutedStream):
        return stream
    made: Any = RoutedStream(stream, level, strays)
    routed: TextIO = made
    return routed


@contextmanager
def read_raw_output(emit: Emit) -> Iterator[RawOutput]:
    """Inside, what children of user code and C code print is user output. POSIX only."""
    from stepwell.emulator.worker.python.raw_output import RawOutput

    def child_write() -> Callable[[int, str], None] | None:
        output = _output.get()
        return None if output is None else output.write

    global _raw
    _raw = RawOutput(_Output(emit).write, child_write)
    try:
        with _raw.redirect():
            yield _raw
    finally:
        _raw = None


def own_stdout() -> TextIO:
    """Standard output on a descriptor of its own, which `read_raw_output` leaves as it is."""
    return open(os.dup(1), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
