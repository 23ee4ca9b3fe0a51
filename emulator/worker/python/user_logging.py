"""The set-up of `logging` that user code makes when it is loaded, undone before it is loaded again.

The root logger belongs to user code. Loggers are shared by the whole process, so without this a second load would
find the first one's set-up: `basicConfig` would do nothing, `addHandler` would double each line, and `dictConfig`
would switch off loggers of modules that it has not imported yet.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from stepwell.emulator.worker.python.public_modules import is_elsewhere

_Entry: TypeAlias = logging.Logger | logging.PlaceHolder
_OURS: Final = "stepwell"


@dataclass(frozen=True, slots=True)
class _State:
    """How a logger is set up."""

    handlers: tuple[logging.Handler, ...]
    level: int
    propagate: bool
    disabled: bool

    @staticmethod
    def of(logger: logging.Logger) -> _State:
        return _State(tuple(logger.handlers), logger.level, logger.propagate, logger.disabled)


_NEW: Final = _State((), logging.NOTSET, propagate=True, disabled=False)


class _Setup:
    """What changed since `before()`: the loggers that user code made, and the set-up of the others."""

    def __init__(self, before: dict[str, _State]) -> None:
        entries = logging.root.manager.loggerDict
        self._made = {
            name: entry for name, entry in entries.items() if name not in before and not _is_of_a_library(name)
        }
        self._changed = [
            (logger, old, new)
            for name, logger in _loggers()
            if name not in self._made and (new := _State.of(logger)) != (old := before.get(name, _NEW))
        ]

    def undo(self) -> None:
        for name in self._made:
            logging.root.manager.loggerDict.pop(name, None)
        for logger, old, new in self._changed:
            _change(logger, new, old)

    def redo(self) -> None:
        logging.root.manager.loggerDict.update(self._made)
        for logger, old, new in self._changed:
            _change(logger, old, new)


def _is_of_a_library(name: str) -> bool:
    """Whether a logger is that of an installed module, which is not loaded again and keeps it."""
    return bool(is_elsewhere(name.partition(".")[0]))


def _loggers() -> Iterator[tuple[str, logging.Logger]]:
    yield "", logging.root
    for name, entry in logging.root.manager.loggerDict.items():
        if isinstance(entry, logging.Logger) and name.partition(".")[0] != _OURS:
            yield name, entry


def _change(logger: logging.Logger, old: _State, new: _State) -> None:
    """Handlers that somebody else put on meanwhile stay."""
    for handler in old.handlers:
        if handler not in new.handlers and not isinstance(handler, logging.NullHandler):
            logger.removeHandler(handler)
    for handler in new.handlers:
        logger.addHandler(handler)
    if logger.level == old.level:
        logger.setLevel(new.level)
    logger.propagate = new.propagate
    logger.disabled = new.disabled


class UserLogging:
    """Of one host: its Worker's set-up, from load to load."""

    def __init__(self) -> None:
        self._setup: _Setup | None = None

    @contextmanager
    def of_a_load(self) -> Iterator[None]:
        """Code that is loaded inside sets `logging` up afresh. If it raises, the set-up before is back."""
        previous = self._setup
        if previous is not None:
            previous.undo()
        before = {name: _State.of(logger) for name, logger in _loggers()}
        before |= {name: _NEW for name in logging.root.manager.loggerDict if name not in before}
        try:
            yield
        except BaseException:
            _Setup(before).undo()
            if previous is not None:
                previous.redo()
            raise
        self._setup = _Setup(before)

    def undo(self) -> None:
        """The Worker is gone."""
        if self._setup is not None:
            self._setup.undo()
            self._setup = None
