"""What user code prints: routed by where it runs, so that each line is known by its instance and step.

Everything of the process writes to `sys.stdout`. While a Python host runs, an object of ours stands there: what is
written inside of a Worker's code goes, line by line, to the host's `emit`; all else goes where it always did.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final, TextIO, TypeAlias

from stepwell.bindings.context import StepFrame, at_attempt_end, current_step
from stepwell.emulator.terminal import safe
from stepwell.emulator.worker.console import ConsoleLine

Emit: TypeAlias = Callable[[ConsoleLine], None]

_DEBUGGERS: Final = frozenset({"bdb", "cmd", "pdb", "ipdb", "pdbpp", "IPython"})

#: What writes a record to a stream.
_EMIT: Final = logging.StreamHandler.emit.__code__


class _Output:
    """The output of one pass, or of one event for a handler: lines that are begun wait here for their end."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._begun: dict[tuple[int, StepFrame | None], str] = {}

    def write(self, level: int, text: str) -> None:
        """Lines of different steps that go on at the same time keep apart."""
        frame = current_step.get()
        *lines, begun = (self._begun.pop((level, frame), "") + text).split("\n")
        if begun:
            self._begun[level, frame] = begun
        self.pass_on(level, lines, frame)

    def pass_on(self, level: int, lines: Iterable[str], frame: StepFrame | None) -> None:
        token = _output.set(None)  # emitting may print as well
        try:
            for line in lines:
                self._emit(
                    ConsoleLine(level, line)
                    if frame is None
                    else ConsoleLine(level, line, frame.instance_id, frame.step)
                )
        finally:
            _output.reset(token)

    def end_of(self, frame: StepFrame) -> None:
        """What the attempt has begun and not ended is a line, too."""
        if self._begun:
            self._flush([key for key in self._begun if key[1] == frame])

    def end(self) -> None:
        self._flush(list(self._begun))

    def _flush(self, keys: list[tuple[int, StepFrame | None]]) -> None:
        for level, frame in keys:
            self.pass_on(level, [self._begun.pop((level, frame))], frame)


#: Where the output of the code that runs goes; None outside of user code, and while a line is being emitted.
_output: Final[ContextVar[_Output | None]] = ContextVar("stepwell_output", default=None)


def enter_output(emit: Emit) -> None:
    """From here on, in this task or context, what is printed is user output."""
    output = _Output(emit)
    _output.set(output)
    at_attempt_end.set(output.end_of)


def end_output() -> None:
    """The code that was entered has come to its end: what it has begun to print is shown."""
    output = _output.get()
    if output is not None:
        output.end()


def is_of_user_code(record: logging.LogRecord) -> bool:
    """Whether user code made the record, in a Worker's context or in a thread of its own."""
    is_main = record.thread == threading.main_thread().ident
    is_our_thread = is_main or (record.threadName or "").startswith("stepwell")
    return _output.get() is not None or not is_our_thread


class RoutedStream(io.TextIOBase):
    """Stands in for a stream of the process."""

    def __init__(self, plain: TextIO, level: int) -> None:
        self._plain = plain
        self._level = level

    def write(self, text: str) -> int:
        output, writer = _output.get(), sys._getframe(1)
        if _is_debugger(writer):
            return self._plain.write(text)
        if output is not None:
            is_log = writer.f_code is _EMIT
            output.write(writer.f_locals["record"].levelno if is_log else self._level, text)
        else:  # the top level of a module, or a thread that user code has started
            self._plain.write(safe.printed(text))
        return len(text)

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
def routed_output() -> Iterator[None]:
    """Puts the streams in place, and back at the end. Several hosts may do so, one inside the other."""
    before = sys.stdout, sys.stderr
    sys.stdout = _routed(sys.stdout, logging.INFO)
    sys.stderr = _routed(sys.stderr, logging.WARNING)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _routed(stream: TextIO, level: int) -> TextIO:
    if isinstance(stream, RoutedStream):
        return stream
    made: Any = RoutedStream(stream, level)
    routed: TextIO = made
    return routed
