"""Writes whole lines to the terminal, from any thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from datetime import date
from typing import TextIO

from stepwell.emulator.left import close_here
from stepwell.emulator.local_time import local
from stepwell.emulator.terminal import safe
from stepwell.emulator.terminal.lines import Line
from stepwell.emulator.terminal.style import Style, style_for


class Printer:
    """Owns the stream: all output of `stepwell dev` goes through it.

    Characters that the stream's encoding lacks are escaped. They must neither fail the step that printed them
    nor end the thread that prints changes.
    """

    def __init__(self, stream: TextIO, style: Style | None = None, prefix: str = "") -> None:
        """`prefix` begins each line, to tell it from those of another program on the same terminal."""
        safe.encode_anything(stream)
        self._stream = stream
        self._style = style or style_for(stream)
        self._prefix = f"{self._style(prefix, 'cyan')} " if prefix else ""
        self._lock = threading.Lock()
        self._print_changes: Callable[[], None] = lambda: None
        self._day: date | None = None

    @property
    def style(self) -> Style:
        return self._style

    def before_text(self, print_changes: Callable[[], None]) -> None:
        """Set a callback that runs before each text, so the text follows the changes made before it."""
        self._print_changes = print_changes

    def leave_to_parent(self) -> None:
        """In a forked child: the parent tells of changes, and a thread that is left there may hold the lock."""
        self._print_changes = lambda: None
        self._lock = threading.Lock()
        if self._stream.fileno() != 1 and sys.__stdout__ is not None:  # a copy, which would keep a pipe open
            close_here(self._stream.fileno())
            self._stream = sys.__stdout__

    def text(self, text: str) -> None:
        """Print one or more lines unchanged."""
        self._print_changes()
        self._write(text)

    def _write(self, text: str) -> None:
        if self._prefix:
            text = "\n".join(self._prefix + line for line in text.split("\n"))
        with self._lock:
            try:
                self._stream.write(text + "\n")
                self._stream.flush()
            except BrokenPipeError:
                pass  # the reader has ended (`stepwell dev | head`); user code's output must not fail because of it

    def lines(self, lines: list[Line], note: str = "") -> None:
        """Print lines about changes, and a note that follows them."""
        texts = [*(self._render(line) for line in lines), *([note] if note else [])]
        if texts:
            self._write("\n".join(texts))

    def _time(self, at: int) -> str:
        """The local time of day; with the date when it differs from the last line's."""
        time = local(at)
        before, self._day = self._day, time.date()
        return f"{time:%H:%M:%S}" if before in (None, self._day) else f"{time:%Y-%m-%d %H:%M:%S}"

    def _render(self, line: Line) -> str:
        style = self._style
        time = style(self._time(line.at), "dim")
        where = safe.name(f"{line.workflow}/{line.instance}")
        step = f" {style(safe.name(line.step), 'bold')}" if line.step is not None else ""
        what = style(line.what, line.colour) if line.colour else line.what
        text = f"{time} {style(where, 'blue')}{step} {what}"
        if line.stack is None:
            return text
        return text + "\n" + "\n".join("    " + part for part in safe.stack_text(line.stack).split("\n"))
