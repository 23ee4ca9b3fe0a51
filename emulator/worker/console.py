"""What the runtime prints, by line: the user's console, with instance and step, and the runtime's own words."""

from __future__ import annotations

import json
import logging
import re
from collections import deque
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Final

_log = logging.getLogger("stepwell.worker")

_LEVELS: Final = {
    "debug": logging.DEBUG,
    "trace": logging.DEBUG,
    "log": logging.INFO,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "fatal": logging.ERROR,
}
# As scope.mjs writes it: `[instance] text` or `[instance step] text`.
_TAG: Final = re.compile(r"\[(\S+)(?: ([^\]\n]*))?\] ?")
# As wrangler shows console.warn and console.error.
_MARKED: Final = re.compile(r"[▲✘] \[(WARNING|ERROR)\] ")
# As workerd says what a handler threw; our entry has told it already, with its stack.
_UNCAUGHT: Final = re.compile(r"Uncaught exception: .*?\bremote\.jsg\.(?P<error>.*)")
# What workerd adds about our own sockets when code does not load: a consequence of what it has said before.
_OF_OURS: Final = re.compile(r'Socket ".*" refers to service ".*" with a named entrypoint "__Stepwell')
_KEPT_LINES: Final = 40
# As V8 says it before it ends the process.
_OUT_OF_MEMORY: Final = "JavaScript heap out of memory"


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """One message. `instance_id` and `step` for what user code logs in a pass, `level` of `logging`."""

    level: int
    text: str
    instance_id: str | None = None
    step: str | None = None


def log_line(line: ConsoleLine) -> None:
    """Writes a line to the log, with the instance and step as fields and for people."""
    where = "" if line.instance_id is None else f"[{line.instance_id}{f' {line.step}' if line.step else ''}] "
    extra = {"action": "console", "instance_id": line.instance_id, "step": line.step}
    _log.log(line.level, "%s%s", where, line.text, extra=extra)


class Console:
    """Reads one process's output. `instances` holds the ids of those whose passes ran in it."""

    def __init__(
        self,
        instances: Container[str],
        mapped: Callable[[str], str],
        emit: Callable[[ConsoleLine], None] = log_line,
    ) -> None:
        """`mapped` puts the user's own file names into stack traces."""
        self._instances = instances
        self._mapped = mapped
        self._emit = emit
        self._last: deque[str] = deque(maxlen=_KEPT_LINES)
        #: Whether the process said that it has no memory left.
        self.out_of_memory = False

    @property
    def last_lines(self) -> str:
        """What was printed last, for the report of a process that ended."""
        return "\n".join(self._last)

    def read(self, raw: str) -> None:
        """Takes one line of output: JSON as workerd's structured logging writes it, or plain text."""
        level, text = _parsed(raw)
        if _OF_OURS.match(text):
            return
        text = self._mapped(text)
        if (uncaught := _UNCAUGHT.match(text)) and self._told(uncaught["error"]):
            return
        self._last.append(text)
        self.out_of_memory |= _OUT_OF_MEMORY in text
        self._emit(self._tagged(level, text))

    def _told(self, error: str) -> bool:
        """Whether this error was among what was printed last."""
        return any(text.partition("\n")[0] == error for text in self._last)

    def _tagged(self, level: int, text: str) -> ConsoleLine:
        match = _TAG.match(text)
        if match is None or match[1] not in self._instances:
            return ConsoleLine(level, text)
        return ConsoleLine(level, text[match.end() :], match[1], match[2])


def _parsed(raw: str) -> tuple[int, str]:
    if raw.startswith("{"):
        try:
            record = json.loads(raw)
        except ValueError:
            record = None
        if isinstance(record, dict) and "message" in record:
            return _LEVELS.get(str(record.get("level")), logging.INFO), str(record["message"])
    marked = _MARKED.match(raw)
    return (_LEVELS[marked[1].lower()], raw[marked.end() :]) if marked is not None else (logging.INFO, raw)
