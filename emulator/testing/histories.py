"""Histories in tests: today's code is replayed on them, or one of its callbacks runs with recorded inputs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from stepwell.bindings.values import decode
from stepwell.emulator.app.replay_command import HISTORIES, replay_file
from stepwell.emulator.app.replays import Replayer
from stepwell.emulator.config import Opened, open_project
from stepwell.emulator.histories.files import load_file
from stepwell.emulator.histories.imported import history_files, read_answers
from stepwell.emulator.testing.errors import HistoryDiffers

T = TypeVar("T")


def replay_histories(*places: str | Path) -> Callable[[Path], None]:
    """A test that replays today's code on histories, one test for each.

    `places` are files and folders, from the project's folder; without any, its folder `histories`. Assign the
    result to a name that pytest collects: `test_histories = replay_histories()`. A test fails with
    `HistoryDiffers`, which names the first call that differs.
    """
    opened = _project_of_caller()
    folder = opened.project.folder
    searched = [folder / place for place in places or (HISTORIES,)]
    files = sorted({file for place in searched for file in _files(place)})
    if not files:
        raise FileNotFoundError(f"no histories in {', '.join(map(str, searched))}")

    @pytest.mark.parametrize("history", files, ids=[os.path.relpath(file, folder) for file in files])
    def test_histories(history: Path) -> None:
        __tracebackhide__ = True
        result = asyncio.run(_replayed(opened, history))
        if result.outcome != "passed":
            raise HistoryDiffers("\n".join(result.lines()))

    return test_histories


def run_step(history: str | Path, step: str) -> Any:
    """Runs the callback of one step alone, with the inputs that a history has, and returns its result.

    `history` is a file, from the project's folder; `step` a name such as "charge" or "charge-2". No other step
    runs. Raises what the callback raises. In an async test, await it.
    """
    opened = _project_of_caller()
    return _now_or_awaited(_step_ran(opened, opened.project.folder / history, step))


async def _replayed(opened: Opened, history: Path) -> Any:
    async with Replayer(opened) as replayer:
        return await replay_file(replayer, history)


async def _step_ran(opened: Opened, history: Path, step: str) -> Any:
    async with Replayer(opened) as replayer:
        return decode(await replayer.run_step(load_file(history), read_answers(history), step))


def _now_or_awaited(coroutine: Coroutine[Any, Any, T]) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    return coroutine


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else list(history_files(place))


def _project_of_caller() -> Opened:
    """The project around the test file that calls the library."""
    file = sys._getframe(2).f_code.co_filename
    return open_project(Path(file).parent, environ=os.environ)
