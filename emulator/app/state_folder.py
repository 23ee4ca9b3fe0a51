"""The state folder: its lock, and the address of the process that uses it."""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from stepwell.emulator.left import close_here
from stepwell.emulator.private_files import create_private, make_private_folder, restrict, write_private

_LOCK: Final = "lock"
_SERVER: Final = "server.json"
_IGNORE_ALL: Final = "*\n"


class StateFolderError(Exception):
    """The folder can't be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The address and process id that the user of a state folder has stored in it."""

    url: str
    pid: int


class StateFolder:
    """Holds the lock from `claim` to `release`; the operating system releases it when the process dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_new = False
        self._lock: IO[str] | None = None
        self._claimed: os.stat_result | None = None
        self._logs: dict[Path, os.stat_result] = {}

    @property
    def database(self) -> Path:
        return self.path / "stepwell.sqlite"

    def claim(self) -> None:
        """Create the folder and lock it. Raises `StateFolderError` if it is in use or can't be written."""
        self._is_new = not self.path.exists()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            make_private_folder(self.path)
            self._restrict_if_ours()
            ignore = self.path / ".gitignore"
            if not ignore.exists():
                write_private(ignore, _IGNORE_ALL)
            create_private(self.path / _LOCK)
            lock = (self.path / _LOCK).open("a+", encoding="utf-8")
        except OSError as error:
            self.forget_if_new()
            raise self._unusable(error) from None
        try:
            is_locked = _try_lock(lock)
        except OSError as error:
            lock.close()
            raise StateFolderError(
                f"Can't lock the state folder {self.path} ({error.strerror}). Some network drives don't support "
                "locks. Choose a folder on a local disk with --persist-to DIR."
            ) from None
        if not is_locked:
            lock.close()
            raise StateFolderError(self._in_use())
        self._lock = lock

    def _restrict_if_ours(self) -> None:
        """Restrict a folder that an earlier version created readable by all; leave the user's folders unchanged."""
        ignore = self.path / ".gitignore"
        if (self.path / _LOCK).exists() and ignore.is_file() and ignore.read_text(errors="replace") == _IGNORE_ALL:
            for path in (self.path, self.path / _LOCK, self.path / _SERVER):
                restrict(path)

    def _unusable(self, error: OSError) -> StateFolderError:
        todo = "Free some space" if error.errno == errno.ENOSPC else "Check its permissions"
        return StateFolderError(
            f"Can't use the state folder {self.path} ({error.strerror}). {todo}, or choose another folder with "
            "--persist-to DIR."
        )

    def _in_use(self) -> str:
        running = read_running(self.path)
        user = f"process {running.pid} at {running.url}" if running else "another process"
        return (
            f"The state folder {self.path} is in use by {user}. Stop that process, or use another folder with "
            "--persist-to DIR."
        )

    def announce(self, url: str) -> None:
        """Store the address of this process for the command line. The database must exist.

        Raises `StateFolderError`.
        """
        new = self.path / f"{_SERVER}.new"
        try:
            self._claimed = os.stat(self.database)
            self._logs = {path: os.stat(path) for path in self._log_files() if path.exists()}
            write_private(new, json.dumps({"url": url, "pid": os.getpid()}))
            new.replace(self.path / _SERVER)
        except OSError as error:
            raise self._unusable(error) from None

    def _log_files(self) -> list[Path]:
        """SQLite's files beside an open database: the write-ahead log and its index."""
        return [self.database.with_name(self.database.name + end) for end in ("-wal", "-shm")]

    @property
    def lost_log(self) -> Path | None:
        """The first of SQLite's files that was deleted or replaced since `announce`, or None."""
        return next((path for path, known in self._logs.items() if not _is_same(path, known)), None)

    @property
    def is_lost(self) -> bool:
        """True if the folder or its database was deleted or replaced since `announce`.

        Open files stay usable after they are deleted, so no other error would occur.
        """
        return not (self._is_ours() and _is_same(self.database, self._claimed))

    def _is_ours(self) -> bool:
        return self._lock is not None and _is_same(self.path / _LOCK, os.fstat(self._lock.fileno()))

    def leave_to_parent(self) -> None:
        """In a forked child, which shares the lock: the child lets go of it, and the parent keeps it."""
        if self._lock is not None:
            close_here(self._lock.fileno())

    def forget_if_new(self) -> None:
        """Remove the folder if `claim` created it, so a failed start leaves nothing behind."""
        if self._is_new:
            import shutil

            shutil.rmtree(self.path, ignore_errors=True)

    def release(self) -> None:
        if self._is_ours():  # otherwise it was deleted, or belongs to another process now
            (self.path / _SERVER).unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _is_same(path: Path, known: os.stat_result | None) -> bool:
    try:
        return known is not None and os.path.samestat(os.stat(path), known)
    except OSError:
        return False


def read_running(folder: Path) -> RunningServer | None:
    """The process that last announced itself in this folder. It may no longer be running."""
    try:
        data = json.loads((folder / _SERVER).read_text(encoding="utf-8"))
        return RunningServer(str(data["url"]), int(data["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[str]) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _try_lock(file: IO[str]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True
