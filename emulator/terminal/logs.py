"""The only place that configures logging: the emulator's own words go to the printer."""

from __future__ import annotations

import logging
from collections.abc import Callable

from emulator.local_time import local
from emulator.terminal import safe
from emulator.terminal.printer import Printer

_COLOURS = {logging.WARNING: "yellow", logging.ERROR: "red", logging.CRITICAL: "red"}

#: Facts for other readers of the log: the terminal tells them as changes of their instance, or as its last word.
_TOLD_BY_FOLLOWER = frozenset({"errored", "engine_stopped"})

#: What a library says, and what that means for who reads it.
_REWORDED = {
    "Invalid HTTP request received.": (
        "A client sent something that is not HTTP, and was answered 400. If it wanted https: the address begins "
        "with http://."
    )
}


class PrinterHandler(logging.Handler):
    """A line for each record: instance and step in front, if the record has them; the traceback behind."""

    def __init__(self, printer: Printer, taken: Callable[[logging.LogRecord], bool]) -> None:
        """`taken` says whether a record is user code's, and has been printed as such."""
        super().__init__()
        self._printer = printer
        self._taken = taken

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "action", None) in _TOLD_BY_FOLLOWER or self._taken(record):
            return
        style = self._printer.style
        colour = "dim" if record.name == "stepwell.requests" else _COLOURS.get(record.levelno)
        text = record.getMessage()
        if text in _REWORDED:
            text = f"{local(round(record.created * 1000)):%H:%M:%S} {_REWORDED[text]}"
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        text = safe.visible(text)  # it may quote what user code named
        self._printer.text(style(text, colour) if colour else text)


def configure_logging(
    printer: Printer, taken: Callable[[logging.LogRecord], bool], level: int = logging.INFO
) -> None:
    """Sends what Stepwell logs to the printer, and warnings of libraries too."""
    handler = PrinterHandler(printer, taken)
    ours = logging.getLogger("stepwell")
    ours.handlers = [handler]
    ours.setLevel(level)
    ours.propagate = False
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
