"""Notices that the files of a project changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepwell.emulator.clock import turns

if TYPE_CHECKING:
    from watchfiles import Change, DefaultFilter

_log = logging.getLogger("stepwell.worker")

#: Besides those that watchfiles ignores itself (.git, .venv, node_modules, __pycache__, ...).
_IGNORED_FOLDERS: Final = frozenset({".stepwell", ".wrangler", "python_modules", "venv", "coverage"})
#: Files that a Worker writes while it runs, and no code.
_IGNORED_ENDINGS: Final = (".sqlite", ".sqlite-wal", ".sqlite-shm", ".db", ".db-wal", ".db-shm", ".log", ".tmp")

#: How the names of files begin that say how a Worker is loaded.
_CONFIGURATION: Final = ("wrangler.", "stepwell.", "pyproject.toml", ".dev.vars", ".env")

#: Changes that come within this time of each other are one: an editor writes a file in several steps.
_STEP_MS: Final = 50
_LONGEST_MS: Final = 300
#: Turns of the loop after which the folder and those in it are watched.
_TURNS_TO_BEGIN: Final = 4


async def watch(
    folder: Path,
    on_change: Callable[[Sequence[Path]], Awaitable[None]],
    *,
    ignored: Collection[Path] = (),
    at_once: bool = False,
) -> None:
    """Calls `on_change` with the files after each change of the project's files, until it is cancelled.

    One call at a time; what changes during a call leads to the next. `ignored` names files and folders besides the
    usual ones, such as a state folder inside the project. `at_once`: the first call comes as soon as changes are
    noticed, for one that may have been made before; it has no files.
    """
    changed = _Changed()
    watching = asyncio.ensure_future(_watch_tree(folder, _filter(ignored), changed))
    try:
        await begun()
        if at_once:
            changed.set()
        while True:
            await _either(watching, changed)
            await _call(on_change, changed.take())
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def begun() -> None:
    """Returns when the system has been asked to watch, for each watch whose task was made before."""
    await turns(_TURNS_TO_BEGIN)


def is_configuration(file: Path) -> bool:
    """Whether a file says how a Worker is loaded, whatever its language."""
    return file.name.startswith(_CONFIGURATION)


class _Changed:
    """The files that changed since they were taken."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._files: dict[Path, None] = {}

    def set(self, changes: Iterable[tuple[Change, str]] = ()) -> None:
        self._files.update((Path(path), None) for _, path in sorted(changes))
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()

    def take(self) -> list[Path]:
        files = list(self._files)
        self._files.clear()
        self._event.clear()
        return files


async def _either(watching: asyncio.Future[Any], changed: _Changed) -> None:
    """Waits for a change; raises what ended the watching, should that end."""
    waiting: asyncio.Future[Any] = asyncio.ensure_future(changed.wait())
    try:
        await asyncio.wait({watching, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()
    finally:
        waiting.cancel()


async def _call(on_change: Callable[[Sequence[Path]], Awaitable[None]], files: Sequence[Path]) -> None:
    try:
        await on_change(files)
    except Exception:  # noqa: BLE001 - the next change may mend it
        _log.exception("Reloading failed", extra={"action": "reload_failed"})


async def _watch_tree(folder: Path, wanted: DefaultFilter, changed: _Changed) -> None:
    """Watches the folder itself, and each folder in it that is not ignored.

    The system is asked for every folder that is watched, so node_modules must not be among them.
    """
    from watchfiles import awatch

    while True:
        below = asyncio.ensure_future(_watch_below(_subfolders(folder, wanted), wanted, changed))
        try:
            async for changes in awatch(
                folder, watch_filter=wanted, recursive=False, step=_STEP_MS, debounce=_LONGEST_MS
            ):
                changed.set(changes)
                if _touches_a_folder(folder, changes):
                    break
        finally:
            below.cancel()
            await asyncio.gather(below, return_exceptions=True)


def _touches_a_folder(folder: Path, changes: Collection[tuple[Change, str]]) -> bool:
    """Whether a folder directly in `folder` came or went."""
    return any(Path(path).parent == folder and not Path(path).is_file() for _, path in changes)


async def _watch_below(folders: Collection[Path], wanted: DefaultFilter, changed: _Changed) -> None:
    from watchfiles import awatch

    if folders:
        async for changes in awatch(*folders, watch_filter=wanted, step=_STEP_MS, debounce=_LONGEST_MS):
            changed.set(changes)


def _subfolders(folder: Path, wanted: DefaultFilter) -> list[Path]:
    from watchfiles import Change

    return [path for path in folder.iterdir() if path.is_dir() and wanted(Change.modified, str(path))]


def _filter(ignored: Collection[Path]) -> DefaultFilter:
    from watchfiles import DefaultFilter

    class Wanted(DefaultFilter):
        def __call__(self, change: Change, path: str) -> bool:
            return super().__call__(change, path) and not path.endswith(_IGNORED_ENDINGS)

    folders = [*DefaultFilter.ignore_dirs, *_IGNORED_FOLDERS]
    return Wanted(ignore_dirs=folders, ignore_paths=[str(path) for path in ignored])
