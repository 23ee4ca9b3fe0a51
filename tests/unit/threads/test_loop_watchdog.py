"""Which code a blocked loop is said to run, and what the notice advises."""

from __future__ import annotations

import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import stepwell.emulator
from stepwell.emulator.threads.loop_watchdog import BlockedAt, locate_thread, notice_of

LIBRARY: Final = str(Path(sysconfig.get_paths()["purelib"]) / "click" / "core.py")
OWN: Final = str(Path(stepwell.emulator.__file__).parent / "app" / "dev.py")
PROJECT: Final = "/project/src/entry.py"


def _function_of(file: str, code: str, **names: Any) -> Callable[[], Any]:
    exec(compile(f"def work(): {code}", file, "exec"), names)
    return names["work"]  # type: ignore[no-any-return]


@contextmanager
def _blocked(*files: str) -> Iterator[BlockedAt]:
    """Where a thread is that waits in the last of `files`, each called by the one before."""
    began, end = threading.Event(), threading.Event()

    work = _function_of(files[-1], "began.set(); end.wait()", began=began, end=end)
    for file in reversed(files[:-1]):
        work = _function_of(file, "call()", call=work)
    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    assert thread.ident is not None
    try:
        yield locate_thread(thread.ident)
    finally:
        end.set()
        thread.join()


def test_a_library_that_started_stepwell_is_not_the_code_that_blocks() -> None:
    with _blocked(LIBRARY, OWN) as blocked_at:
        assert blocked_at.places == ()


def test_a_line_of_the_project_is_named() -> None:
    with _blocked(LIBRARY, OWN, PROJECT, LIBRARY) as blocked_at:
        assert blocked_at.places == (f"{PROJECT}:1 in work",)


def test_a_library_that_stepwell_calls_is_named_when_there_is_no_line_of_the_project() -> None:
    with _blocked(LIBRARY, OWN, LIBRARY) as blocked_at:
        assert blocked_at.places == (f"{LIBRARY}:1 in work",)


def test_a_loop_that_stepwell_blocks_itself_brings_no_advice_about_user_code() -> None:
    text = notice_of(BlockedAt(), 3)

    assert text.startswith("Stepwell has been busy for 3 s")
    assert "asyncio" not in text


def test_a_loop_that_user_code_blocks_brings_advice() -> None:
    assert "asyncio.to_thread" in notice_of(BlockedAt(places=(f"{PROJECT}:1 in work",)), 3)
