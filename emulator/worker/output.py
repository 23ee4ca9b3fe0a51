"""What user code prints: routed by where it runs, so that each line is known by its instance and step.

Everything of the process writes to `sys.stdout`. While a Python host runs, an object of ours stands there: what is
written inside of a Worker's code goes, line by line, to the host's `emit`; all else goes where it always did.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final, TextIO, TypeAlias

from bindings.context import current_step
from emulator.worker.console import ConsoleLine

Emit: TypeAlias = Callable[[ConsoleLine], None]

_DEBUGGERS: Final = frozenset({"bdb", "cmd", "pdb", "ipdb", "pdbpp", "IPython"})

#: Where the output of the code that runs goes; None outside of user code, and while a line is being emitted.
_emit: Final[ContextVar[Emit | None]] = ContextVar("stepwell_output", default=None)


def enter_output(emit: Emit) -> None:
    """From here on, in this task or context, what is printed is user output."""
    _emit.set(emit)


class RoutedStream(io.TextIOBase):
    """Stands in for a stream of the process."""

    def __init__(self, plain: TextIO, level: int) -> None:
        self._plain = plain
        self._level = level
        self._begun = ""

    def write(self, text: str) -> int:
        emit = _emit.get()
        if emit is None or _is_debugger(sys._getframe(1)):
            return self._plain.write(text)
        # Nothing of one print is awaited in between, so the pieces of a line arrive together.
        *lines, self._begun = (self._begun + text).split("\n")
        self._pass_on(lines, emit)
        return len(text)

    def _pass_on(self, lines: Iterable[str], emit: Emit) -> None:
        frame = current_step.get()
        token = _emit.set(None)  # emitting may print as well
        try:
            for line in lines:
                emit(
                    ConsoleLine(self._level, line)
                    if frame is None
                    else ConsoleLine(self._level, line, frame.instance_id, frame.step)
                )
        finally:
            _emit.reset(token)

    def flush(self) -> None:
        if _emit.get() is None:
            self._plain.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return _emit.get() is None and self._plain.isatty()

    def fileno(self) -> int:
        return self._plain.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        return self._plain.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self._plain.errors

    def __getattr__(self, name: str) -> Any:
        """`buffer` and the like, of the stream behind."""
        return getattr(self._plain, name)


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
