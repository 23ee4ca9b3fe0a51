"""The only place that configures logging: the emulator's own words go to the printer."""

from __future__ import annotations

import logging

from emulator.terminal import safe
from emulator.terminal.printer import Printer

_COLOURS = {logging.WARNING: "yellow", logging.ERROR: "red", logging.CRITICAL: "red"}

#: Facts for other readers of the log: the terminal tells them as changes of their instance, or as its last word.
_TOLD_BY_FOLLOWER = frozenset({"errored", "engine_stopped"})


class PrinterHandler(logging.Handler):
    """A line for each record: instance and step in front, if the record has them; the traceback behind."""

    def __init__(self, printer: Printer) -> None:
        super().__init__()
        self._printer = printer

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "action", None) in _TOLD_BY_FOLLOWER:
            return
        style = self._printer.style
        colour = _COLOURS.get(record.levelno)
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        text = safe.visible(text)  # it may quote what user code named
        self._printer.text(style(text, colour) if colour else text)


def configure_logging(printer: Printer, level: int = logging.INFO) -> None:
    """Sends what Stepwell logs to the printer, and warnings of libraries too."""
    handler = PrinterHandler(printer)
    ours = logging.getLogger("stepwell")
    ours.handlers = [handler]
    ours.setLevel(level)
    ours.propagate = False
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
