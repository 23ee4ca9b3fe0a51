"""Migrations of D1 databases: applied when a Worker is loaded, since no command reaches a database of ours."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import complete_statement
from typing import Any, Final, Protocol

from stepwell.bindings.errors import WorkerError
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.host import WorkerLoadError

_log = logging.getLogger("stepwell.worker")

_COMMENTS: Final = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Migrations:
    """Those of one database: its binding, the table of what was applied, the files with their statements."""

    binding: str
    table: str
    folder: Path
    files: tuple[tuple[str, tuple[str, ...]], ...]


class Applying(Protocol):
    async def migrate(self, worker: str, migrations: Migrations) -> Sequence[str]:
        """The names of the files that were new. Raises `WorkerError` when one fails."""
        ...


def migrations_of(config: WorkerConfig) -> list[Migrations]:
    """The migrations that lie where the configuration says, or where wrangler looks for them."""
    entries: Any = config.raw.get("d1_databases") or []
    found = [_of_database(entry, config.folder) for entry in entries if not entry.get("remote")]
    return [migrations for migrations in found if migrations.files]


def _of_database(entry: Mapping[str, Any], project: Path) -> Migrations:
    folder = project / entry.get("migrations_dir", "migrations")
    files = sorted(folder.glob("*.sql")) if folder.is_dir() else []
    texts = tuple((file.name, statements_of(file.read_text(encoding="utf-8"))) for file in files)
    return Migrations(entry["binding"], entry.get("migrations_table", "d1_migrations"), folder, texts)


def statements_of(text: str) -> tuple[str, ...]:
    """The statements of a script; the body of a trigger belongs to one."""
    found, statement = [], ""
    for piece in re.split(r"(?<=;)", text):
        statement += piece
        if complete_statement(statement):
            found.append(statement.strip())
            statement = ""
    return tuple(one for one in (*found, statement.strip()) if _COMMENTS.sub("", one).strip(" \t\r\n;"))


async def apply_migrations(applying: Applying, config: WorkerConfig) -> None:
    """Raises `WorkerLoadError` that names the folder when one cannot be applied."""
    for migrations in migrations_of(config):
        try:
            applied = await applying.migrate(config.name, migrations)
        except WorkerError as error:
            raise WorkerLoadError(
                f'A migration of the D1 database "{migrations.binding}" in {migrations.folder} cannot be applied: '
                f"{error.info.message} It was rolled back. Fix the file and save it."
            ) from None
        for name in applied:
            _log.info("%s: applied the migration %s to %s", config.name, name, migrations.binding)
