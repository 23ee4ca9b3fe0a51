"""Stepwell's records reach the terminal; the root logger belongs to user code."""

from __future__ import annotations

import io
import logging
import logging.config
from collections.abc import Callable, Iterator

import pytest

from stepwell.emulator.terminal.logs import LIBRARIES, configure_logging
from stepwell.emulator.terminal.printer import Printer
from stepwell.emulator.terminal.style import Style


@pytest.fixture
def bare_root(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Takes pytest's handlers from the root logger, which it puts on after the fixtures are made."""
    return lambda: monkeypatch.setattr(logging.root, "handlers", [])


@pytest.fixture
def shown() -> Iterator[io.StringIO]:
    """What the terminal shows; records in which `user` is true are user code's."""
    loggers = [logging.getLogger(name) for name in ("stepwell", *LIBRARIES)]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    stream = io.StringIO()
    configure_logging(Printer(stream, Style(coloured=False)), lambda record: getattr(record, "user", False))
    yield stream
    logging.disable(logging.NOTSET)
    for logger, handlers, level, propagate in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_the_root_logger_stays_unchanged(shown: io.StringIO) -> None:
    before = logging.root.handlers[:], logging.root.level

    configure_logging(Printer(shown), lambda _: False)

    assert (logging.root.handlers, logging.root.level) == before


def test_stepwells_records_do_not_reach_the_log_of_user_code(
    shown: io.StringIO, bare_root: Callable[[], None]
) -> None:
    bare_root()
    users = io.StringIO()
    logging.basicConfig(stream=users, level=logging.DEBUG)

    logging.getLogger("stepwell.dev").info("Reloaded shop")

    assert (shown.getvalue(), users.getvalue()) == ("Reloaded shop\n", "")


@pytest.mark.parametrize("name", ["uvicorn.error", "watchfiles.main", "asyncio", "httpx", "websockets.server"])
def test_a_librarys_warning_to_stepwell_is_not_in_the_log_of_user_code(
    shown: io.StringIO, bare_root: Callable[[], None], name: str
) -> None:
    bare_root()
    users = io.StringIO()
    logging.basicConfig(stream=users, level=logging.DEBUG)

    logging.getLogger(name).info("Started server process")
    logging.getLogger(name).warning("something is wrong")

    assert (shown.getvalue(), users.getvalue()) == ("something is wrong\n", "")


def test_a_librarys_record_for_user_code_is_in_the_log_of_user_code(
    shown: io.StringIO, bare_root: Callable[[], None]
) -> None:
    bare_root()
    users = io.StringIO()
    logging.basicConfig(stream=users, level=logging.INFO)

    logging.getLogger("httpx").info("HTTP Request: GET", extra={"user": True})

    assert (shown.getvalue(), users.getvalue()) == ("", "INFO:httpx:HTTP Request: GET\n")


def test_user_code_cannot_disable_the_log_of_stepwell(shown: io.StringIO) -> None:
    logging.config.dictConfig({"version": 1})
    logging.disable(logging.CRITICAL)

    logging.getLogger("stepwell.dev").error("shop cannot be loaded")

    assert shown.getvalue() == "shop cannot be loaded\n"
