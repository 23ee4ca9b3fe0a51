"""Changes of a project's files are noticed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from stepwell.emulator.worker.reload import watch

pytestmark = pytest.mark.anyio

PATIENCE_S = 20.0


class Watched:
    """A folder that is watched; `changes` are the calls there were."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls: asyncio.Queue[None] = asyncio.Queue()
        self.files: Sequence[Path] = ()
        self.fails_with: Exception | None = None

    async def changed(self, files: Sequence[Path]) -> None:
        self.files = files
        self.calls.put_nowait(None)
        if self.fails_with is not None:
            raise self.fails_with

    async def noticed(self, change: Callable[[], Any]) -> None:
        """Makes a change again and again until it is noticed: watching begins some time after it was asked for."""
        while True:
            change()
            try:
                await asyncio.wait_for(self.calls.get(), 0.5)
            except TimeoutError:
                continue
            break


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    for name in ("src/entry.py", "node_modules/pkg/index.js", ".stepwell/state.sqlite", "state/kept.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    made = Watched(tmp_path)
    task = asyncio.create_task(watch(tmp_path, made.changed, ignored=[tmp_path / "state"]))
    async with asyncio.timeout(PATIENCE_S):
        await made.noticed(lambda: (tmp_path / "wrangler.jsonc").write_text("{}"))
        await made.noticed(lambda: (tmp_path / "src" / "entry.py").write_text("x = 1"))
    yield made
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_changed_file_is_noticed(watched: Watched) -> None:
    (watched.folder / "src" / "entry.py").write_text("x = 2")

    await asyncio.wait_for(watched.calls.get(), PATIENCE_S)


async def test_the_changed_files_are_named(watched: Watched) -> None:
    (watched.folder / "src" / "entry.py").write_text("x = 2")

    await asyncio.wait_for(watched.calls.get(), PATIENCE_S)

    assert list(watched.files) == [watched.folder / "src" / "entry.py"]


async def test_a_new_folder_is_watched_too(watched: Watched) -> None:
    (watched.folder / "lib").mkdir()
    await asyncio.wait_for(watched.calls.get(), PATIENCE_S)

    async with asyncio.timeout(PATIENCE_S):
        await watched.noticed(lambda: (watched.folder / "lib" / "part.py").write_text("x = 1"))


async def test_what_is_no_code_is_not_noticed(watched: Watched) -> None:
    for name in ("node_modules/pkg/index.js", ".stepwell/state.sqlite", "state/kept.txt", "src/data.sqlite-wal"):
        (watched.folder / name).write_text("changed")
    (watched.folder / "src" / "entry.py").write_text("x = 3")

    # The file that counts was changed last: had the others been noticed, there would be more calls than one.
    await asyncio.wait_for(watched.calls.get(), PATIENCE_S)

    assert watched.calls.empty()


async def test_a_reload_that_fails_is_logged_and_the_next_change_noticed(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.fails_with = RuntimeError("no")
    with caplog.at_level(logging.ERROR, "stepwell.worker"):
        (watched.folder / "src" / "entry.py").write_text("x = 4")
        await asyncio.wait_for(watched.calls.get(), PATIENCE_S)

    async with asyncio.timeout(PATIENCE_S):
        await watched.noticed(lambda: (watched.folder / "src" / "entry.py").write_text("x = 5"))
    assert "Reloading failed" in caplog.text
