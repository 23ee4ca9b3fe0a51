"""Files and folders that only their owner may read: they hold secrets of Workers, and what instances work with."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Final

#: The umask of processes that write such files.
PRIVATE_UMASK: Final = 0o077
_FILE: Final = 0o600
_FOLDER: Final = 0o700


def make_private_folder(folder: Path) -> None:
    """Makes a folder, and those above it that are missing. Raises `OSError`."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(_FOLDER, exist_ok=True)


def write_private(file: Path, text: str) -> None:
    """Writes a file, and makes the folders above it that are missing."""
    make_private_folder(file.parent)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE), "w", encoding="utf-8") as opened:
        restrict(file)  # it may be there since a version that did not
        opened.write(text)


def create_private(file: Path) -> None:
    """Makes sure that a file is there; one that is new is its owner's alone. Raises `OSError`."""
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT, _FILE))


def restrict(path: Path) -> None:
    """Takes away what others may do with a file or folder, as far as the file system knows of it."""
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode
        if mode & PRIVATE_UMASK:
            path.chmod(mode & 0o700)


def remove_folder(folder: Path) -> None:
    """Removes a folder with all that is in it, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)
