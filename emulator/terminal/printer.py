"""Writes lines to the terminal, whole and one after another, from whatever thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date
from typing import TextIO

from stepwell.emulator.local_time import local
from stepwell.emulator.terminal import safe
from stepwell.emulator.terminal.lines import Line
from stepwell.emulator.terminal.style import Style, style_for


class Printer:
    """Owns the stream: everything that `stepwell dev` says goes through here.

    Whatever is printed can be: a text that the stream's encoding does not have must neither fail the step that
    printed it nor end the thread that tells of it.
    """

    def __init__(self, stream: TextIO, style: Style | None = None) -> None:
        safe.encode_anything(stream)
        self._stream = stream
        self._style = style or style_for(stream)
        self._lock = threading.Lock()
        self._tell_changes: Callable[[], None] = lambda: None
        self._day: date | None = None

    @property
    def style(self) -> Style:
        return self._style

    def before_text(self, tell_changes: Callable[[], None]) -> None:
        """Calls this before each text, so that a text comes after the changes that were made before it."""
        self._tell_changes = tell_changes

    def text(self, text: str) -> None:
        """A line, or several, as they are."""
        self._tell_changes()
        self._write(text)

    def _write(self, text: str) -> None:
        with self._lock:
            try:
                self._stream.write(text + "\n")
                self._stream.flush()
            except BrokenPipeError:
                pass  # nobody reads any more (`stepwell dev | head`); what user code prints must not fail for it

    def lines(self, lines: list[Line]) -> None:
        if lines:
            self._write("\n".join(self._render(line) for line in lines))

    def _time(self, at: int) -> str:
        """The time of day, in the machine's zone; the date too where it is another one than before."""
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
