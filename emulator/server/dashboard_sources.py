"""Source lines for stacks: files of the project, read as they are now; nothing outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

_LARGEST: Final = 2_000_000
_KEPT: Final = 64
#: Folders of a project whose files are not the user's own.
_LIBRARIES: Final = frozenset({"node_modules", "site-packages", "python_modules", ".venv", "venv", ".stepwell"})


class Sources:
    """Reads files of the folders given; a file is read again when it has changed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [folder.resolve() for folder in folders]
        self._files: dict[Path, tuple[int, list[str]]] = {}

    def read(self, name: str) -> Sequence[str] | None:
        """The lines of an own file, or None for any other."""
        path = self._own(name)
        if path is None:
            return None
        try:
            facts = path.stat()
            if facts.st_size > _LARGEST:
                return None
            known = self._files.get(path)
            if known is None or known[0] != facts.st_mtime_ns:
                known = (facts.st_mtime_ns, path.read_text("utf-8", "replace").splitlines())
                if len(self._files) >= _KEPT:
                    self._files.clear()
                self._files[path] = known
        except OSError:
            return None
        return known[1]

    def _own(self, name: str) -> Path | None:
        if "\0" in name:
            return None
        for folder in self._folders:
            path = (folder / name).resolve()
            if path.is_relative_to(folder) and not _LIBRARIES & set(path.relative_to(folder).parts):
                return path
        return None
