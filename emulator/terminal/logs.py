"""The only place that configures logging: records of Stepwell and its libraries go to the printer.

The root logger belongs to user code and stays unchanged. Stepwell's loggers are below `stepwell`. Libraries that
both Stepwell and user code may use get a handler that separates their records.
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

#: Records for other readers of the log. The terminal's `Follower` prints them as changes of their instance.
_PRINTED_BY_FOLLOWER = frozenset({"errored", "engine_stopped"})

#: Messages of libraries, with better texts for the reader.
_REWORDED = {
    "Invalid HTTP request received.": (
        "Rejected a non-HTTP request (400). If you used https://, use http:// instead."
    )
}

#: Stepwell's libraries that log.
LIBRARIES: Final = ("asyncio", "httpcore", "httpx", "uvicorn", "watchfiles", "websockets")

#: Returns True for a record that user code caused.
IsUsers: TypeAlias = Callable[[logging.LogRecord], bool]


class PrinterHandler(logging.Handler):
    """Prints a line for each record, followed by its traceback."""

    def __init__(self, printer: Printer) -> None:
        super().__init__()
        self._printer = printer

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "action", None) in _PRINTED_BY_FOLLOWER:
            return
        style = self._printer.style
        colour = "dim" if record.name == "stepwell.requests" else _COLOURS.get(record.levelno)
        text = record.getMessage()
        if text in _REWORDED:
            text = f"{local(round(record.created * 1000)):%H:%M:%S} {_REWORDED[text]}"
        text = safe.visible(text + _traceback(record))  # it may quote names of user code
        self._printer.text(style(text, colour) if colour else text)


def _traceback(record: logging.LogRecord) -> str:
    """All frames for errors of Stepwell itself; user code's frames for errors that a library reports."""
    error = record.exc_info[1] if record.exc_info else None
    if record.exc_info is None or error is None:
        return ""
    if record.name.partition(".")[0] in LIBRARIES:
        return "\n" + error_text(error).rstrip()
    return "\n" + logging.Formatter().formatException(record.exc_info)


class LibraryHandler(PrinterHandler):
    """Prints a library's warnings to Stepwell; its records for user code go to user code's handlers."""

    def __init__(self, printer: Printer, is_users: IsUsers) -> None:
        super().__init__(printer)
        self._is_users = is_users

    def emit(self, record: logging.LogRecord) -> None:
        if self._is_users(record):
            logging.root.callHandlers(record)
        elif record.levelno >= logging.WARNING:
            super().emit(record)


class _OwnLogger(logging.Logger):
    """A logger that user code can't disable: `dictConfig` disables all loggers that it does not name."""

    @property
    def disabled(self) -> bool:
        return False

    @disabled.setter
    def disabled(self, _: bool) -> None:
        pass

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the name in logging
        """Ignores `logging.disable`."""
        return level >= self.getEffectiveLevel()


def configure_logging(printer: Printer, is_users: IsUsers, level: int = logging.INFO) -> None:
    """Send Stepwell's records and its libraries' warnings to the printer. The root logger stays unchanged."""
    own = _protected("stepwell")
    own.handlers = [PrinterHandler(printer)]
    own.setLevel(level)
    own.propagate = False
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
