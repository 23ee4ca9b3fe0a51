"""Source lines for stacks: files of the project, read as they are now; nothing outside of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from stepwell.emulator.dashboard.parts.errors import ReadSource, SourceFile

_LARGEST: Final = 2_000_000
_KEPT: Final = 64
#: Folders of a project whose files are not the user's own.
_LIBRARIES: Final = frozenset({"node_modules", "site-packages", "python_modules", ".venv", "venv", ".stepwell"})


class Sources:
    """Reads files of a run's projects, by the names of their Workers; a file is read again when it has changed."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = {worker: folder.resolve() for worker, folder in folders.items()}
        self._files: dict[Path, tuple[int, list[str]]] = {}

    def of(self, worker: str) -> ReadSource:
        """Reads what this Worker's stacks name: their paths start in its folder unless they are absolute."""
        return partial(self._read, worker)

    def _read(self, worker: str, name: str) -> SourceFile | None:
        """A file of the user's, or None for any other."""
        path = self._own(worker, name)
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
        return SourceFile(str(path), known[1])

    def _own(self, worker: str, name: str) -> Path | None:
        if "\0" in name:
            return None
        home = self._folders.get(worker)
        for folder in self._folders.values() if Path(name).is_absolute() else filter(None, [home]):
            path = (folder / name).resolve()
            if path.is_relative_to(folder) and not _LIBRARIES & set(path.relative_to(folder).parts):
                return path
        return None
