"""The only place that configures logging: what Stepwell and its libraries log goes to the printer.

The root logger belongs to user code, so nothing of ours is on it. Stepwell's loggers are below `stepwell`.
Libraries that both Stepwell and user code may use have a handler that tells whose record it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from stepwell.bindings.tracebacks import error_text
from stepwell.emulator.local_time import local
from stepwell.emulator.terminal import safe
from stepwell.emulator.terminal.printer import Printer

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

#: Libraries of Stepwell that log.
LIBRARIES: Final = ("asyncio", "httpcore", "httpx", "uvicorn", "watchfiles", "websockets")

#: Whether user code made a record.
IsUsers: TypeAlias = Callable[[logging.LogRecord], bool]


class PrinterHandler(logging.Handler):
    """A line for each record: instance and step in front, if the record has them; the traceback behind."""

    def __init__(self, printer: Printer) -> None:
        super().__init__()
        self._printer = printer

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "action", None) in _TOLD_BY_FOLLOWER:
            return
        style = self._printer.style
        colour = "dim" if record.name == "stepwell.requests" else _COLOURS.get(record.levelno)
        text = record.getMessage()
        if text in _REWORDED:
            text = f"{local(round(record.created * 1000)):%H:%M:%S} {_REWORDED[text]}"
        text = safe.visible(text + _traceback(record))  # it may quote what user code named
        self._printer.text(style(text, colour) if colour else text)


def _traceback(record: logging.LogRecord) -> str:
    """All frames for Stepwell's own faults; the user's frames for what a library reports."""
    error = record.exc_info[1] if record.exc_info else None
    if record.exc_info is None or error is None:
        return ""
    if record.name.partition(".")[0] in LIBRARIES:
        return "\n" + error_text(error).rstrip()
    return "\n" + logging.Formatter().formatException(record.exc_info)


class LibraryHandler(PrinterHandler):
    """Prints warnings that a library gives Stepwell; what it logs for user code goes to user code's handlers."""

    def __init__(self, printer: Printer, is_users: IsUsers) -> None:
        super().__init__(printer)
        self._is_users = is_users

    def emit(self, record: logging.LogRecord) -> None:
        if self._is_users(record):
            logging.root.callHandlers(record)
        elif record.levelno >= logging.WARNING:
            super().emit(record)


class _OwnLogger(logging.Logger):
    """A logger that user code does not switch off: `dictConfig` disables what it does not name."""

    @property
    def disabled(self) -> bool:
        return False

    @disabled.setter
    def disabled(self, _: bool) -> None:
        pass

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the name in logging
        """Without regard to `logging.disable`."""
        return level >= self.getEffectiveLevel()


def configure_logging(printer: Printer, is_users: IsUsers, level: int = logging.INFO) -> None:
    """Sends what Stepwell logs to the printer, and the warnings of its libraries. Leaves the root logger alone."""
    ours = _protected("stepwell")
    ours.handlers = [PrinterHandler(printer)]
    ours.setLevel(level)
    ours.propagate = False
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("stepwell."):
            _protected(name)
    handler = LibraryHandler(printer, is_users)
    for name in LIBRARIES:
        library = logging.getLogger(name)
        library.handlers = [handler]
        library.propagate = False


def _protected(name: str) -> logging.Logger:
    logger = logging.getLogger(name)
    logger.__class__ = _OwnLogger
    return logger
