"""What to do about "no such table": the project's SQL files, and the command that applies one."""

from __future__ import annotations

import logging
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.config.model import WorkerConfig

_log = logging.getLogger("stepwell.worker")

_NO_TABLE: Final = re.compile(r"no such table: ([^\s:]+)")
_CREATES: Final = r"create\s+table\s+(if\s+not\s+exists\s+)?[\"'`\[]?{}\b"
#: Folders that hold no SQL of the project's own.
_SKIPPED: Final = frozenset({"node_modules", "dist", "build", "venv", "python_modules", "__pycache__"})
_MOST_FILES: Final = 5


class MissingTables:
    """Says it once for each table. `data` is the folder of the local databases, as wrangler's --persist-to."""

    def __init__(self, config: WorkerConfig, data: Path) -> None:
        self._config = config
        self._data = data
        self._told: set[str] = set()

    def seen(self, info: ErrorInfo) -> None:
        """An error of the Worker's code, or of one of its bindings."""
        match = _NO_TABLE.search(info.message)
        databases: Any = self._config.raw.get("d1_databases")
        if match is not None and databases and match[1] not in self._told:
            self._told.add(match[1])
            _log.warning("%s", advice(match[1], self._config, databases[0], self._data))


def advice(table: str, config: WorkerConfig, database: Mapping[str, Any], data: Path) -> str:
    """Which SQL files may create the table, and the command for the likeliest."""
    files = sorted(_sql_files(config.folder))
    creating = [file for file in files if _creates(file, table)]
    name = database.get("database_name") or database["binding"]
    shown = [_relative(file, config.folder) for file in (creating or files)[:_MOST_FILES]]
    apply = (
        f"npx wrangler d1 execute {shlex.quote(str(name))} --local --persist-to {_relative(data, config.folder)}"
    )
    if not shown:
        return (
            f'{config.name}: the local database has no table "{table}", and the project has no .sql file. '
            f"Write one that creates the table, and apply it with: {apply} --file schema.sql"
        )
    which = "created by" if creating else "SQL files of the project:"
    return (
        f'{config.name}: the local database has no table "{table}" ({which} {", ".join(shown)}). '
        f"Apply a file with: {apply} --file {shown[0]}"
    )


def _sql_files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        yield from (Path(place) / name for name in names if name.endswith(".sql"))


def _creates(file: Path, table: str) -> bool:
    pattern = _CREATES.format(re.escape(table.rpartition(".")[2]))
    return re.search(pattern, file.read_text(encoding="utf-8", errors="replace"), re.IGNORECASE) is not None


def _relative(path: Path, folder: Path) -> str:
    return shlex.quote(os.path.relpath(path, folder))
