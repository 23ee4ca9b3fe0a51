"""Each load of a Worker's code sets `logging` up as a fresh process would."""

from __future__ import annotations

import logging
import logging.config
import sys
from collections.abc import Callable

import pytest

from stepwell.emulator.worker.python.user_logging import UserLogging


@pytest.fixture
def bare_root(monkeypatch: pytest.MonkeyPatch) -> Callable[[], logging.Logger]:
    """Makes the root logger as a fresh process has it. Call it in the test: pytest puts handlers on for that."""

    def bare() -> logging.Logger:
        monkeypatch.setattr(logging.root, "handlers", [])
        monkeypatch.setattr(logging.root, "level", logging.WARNING)
        return logging.root

    return bare


def test_basic_config_works_in_every_load(bare_root: Callable[[], logging.Logger]) -> None:
    root = bare_root()
    setup = UserLogging()
    for level in (logging.DEBUG, logging.ERROR):
        with setup.of_a_load():
            logging.basicConfig(level=level, stream=sys.stdout)

        assert (len(root.handlers), root.level) == (1, level)


def test_a_load_without_a_set_up_has_none(bare_root: Callable[[], logging.Logger]) -> None:
    root = bare_root()
    setup = UserLogging()
    with setup.of_a_load():
        logging.basicConfig(level=logging.DEBUG)
    with setup.of_a_load():
        pass

    assert (root.handlers, root.level) == ([], logging.WARNING)


def test_a_handler_that_each_load_adds_is_there_once() -> None:
    setup = UserLogging()
    for _ in range(3):
        with setup.of_a_load():
            for name in ("some_shop_.orders", "asyncio"):
                logging.getLogger(name).addHandler(logging.StreamHandler())
        assert len(logging.getLogger("some_shop_.orders").handlers) == 1
        assert sum(type(each) is logging.StreamHandler for each in logging.getLogger("asyncio").handlers) == 1
    setup.undo()


def test_dict_config_switches_off_no_module_that_is_imported_after_it() -> None:
    setup = UserLogging()
    for _ in range(2):
        with setup.of_a_load():
            logging.config.dictConfig({"version": 1})
            logger = logging.getLogger("some_shop_.late")

        assert not logger.disabled
    setup.undo()


def test_after_a_load_that_fails_the_set_up_before_is_back(bare_root: Callable[[], logging.Logger]) -> None:
    root = bare_root()
    setup = UserLogging()
    with setup.of_a_load():
        logging.basicConfig(level=logging.DEBUG)
        logger = logging.getLogger("some_shop_.orders")
    handlers = root.handlers[:]

    def broken() -> None:
        with setup.of_a_load():
            logging.basicConfig(level=logging.ERROR)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        broken()

    assert (root.handlers, root.level) == (handlers, logging.DEBUG)
    assert logging.getLogger("some_shop_.orders") is logger
    setup.undo()


def test_a_handler_that_a_test_runner_puts_on_meanwhile_stays(bare_root: Callable[[], logging.Logger]) -> None:
    root = bare_root()
    setup, runners = UserLogging(), logging.NullHandler()
    with setup.of_a_load():
        pass
    root.addHandler(runners)
    with setup.of_a_load():
        pass

    assert root.handlers == [runners]


def test_a_null_handler_of_a_library_stays(bare_root: Callable[[], logging.Logger]) -> None:
    bare_root()
    setup = UserLogging()
    with setup.of_a_load():
        logging.getLogger("json").addHandler(logging.NullHandler())
    setup.undo()

    assert logging.getLogger("json").handlers
    logging.getLogger("json").handlers = []
