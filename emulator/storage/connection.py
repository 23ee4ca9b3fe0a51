"""Opening a database: whose it is, how it is set, and in which version of the schema.

Each setting is a function that says why; `WRITER` and `READER` list them in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Final, Literal, TypeAlias

import apsw

Synchronous: TypeAlias = Literal["normal", "full"]

#: "Step" in ASCII: marks a database as ours (PRAGMA application_id).
APPLICATION_ID: Final = 0x53746570


class StorageError(Exception):
    """A database that cannot be used; the text says what to do."""


def wal(db: apsw.Connection) -> None:
    """Readers of the dashboard never wait for the engine, nor the engine for them."""
    db.pragma("journal_mode", "wal")


def patient(db: apsw.Connection) -> None:
    """A checkpoint of another connection may hold the lock for a moment."""
    db.set_busy_timeout(5_000)


def no_checkpoints(db: apsw.Connection) -> None:
    """They wait for the disk; checkpoints.py makes them in a thread of its own."""
    db.wal_autocheckpoint(0)


def small_cache(db: apsw.Connection) -> None:
    """4 MB: replay reads an instance in one query, and the operating system caches the file anyway."""
    db.pragma("cache_size", -4_000)


def temporary_in_memory(db: apsw.Connection) -> None:
    """Sorts of the dashboard's lists leave no files behind."""
    db.pragma("temp_store", "memory")


def read_only(db: apsw.Connection) -> None:
    """A reader that writes is a bug; SQLite says so."""
    db.pragma("query_only", True)


WRITER: Final[tuple[Callable[[apsw.Connection], None], ...]] = (
    patient,
    wal,
    no_checkpoints,
    small_cache,
    temporary_in_memory,
)
READER: Final[tuple[Callable[[apsw.Connection], None], ...]] = (
    patient,
    small_cache,
    temporary_in_memory,
    read_only,
)


def open_writer(path: str, synchronous: Synchronous = "normal") -> apsw.Connection:
    """Opens or makes the database at `path` (or ":memory:") and brings it to the newest schema.

    Raises `StorageError` when the file is no database, not ours, or newer than this version of Stepwell;
    the file is then untouched.
    """
    try:
        db = apsw.Connection(path)
    except apsw.CantOpenError as error:
        raise _unwritable(path, error) from None
    try:
        _check_owner(db, path)
        _check_age(db, path)
        for setting in WRITER:
            setting(db)
        db.pragma("synchronous", synchronous)
        migrate(db)
    except StorageError:
        db.close()
        raise
    except (apsw.NotADBError, apsw.CorruptError) as error:
        db.close()
        raise _unreadable(path, error) from None
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        db.close()
        raise _unwritable(path, error) from None
    return db


def _unreadable(path: str, error: apsw.Error) -> StorageError:
    what = "is damaged" if isinstance(error, apsw.CorruptError) else "is not a SQLite database"
    return StorageError(f"{path} {what}. Move it away, or name another folder with --persist-to.")


def _unwritable(path: str, error: apsw.Error) -> StorageError:
    return StorageError(
        f"{path} cannot be opened for writing ({error}). Check the folder's permissions, or name another one with "
        "--persist-to."
    )


def open_reader(path: str) -> apsw.Connection:
    """A second connection to a database that a writer has open; it sees what is committed."""
    db = apsw.Connection(path)
    for setting in READER:
        setting(db)
    return db


def _check_owner(db: apsw.Connection, path: str) -> None:
    owner = db.pragma("application_id")
    tables = db.execute("SELECT count(*) FROM sqlite_schema").get
    if owner != APPLICATION_ID and tables:
        raise StorageError(
            f"{path} is a database of another program (application id {owner}). Move it away, or name "
            "another folder with --persist-to."
        )


def migrations() -> list[tuple[int, str]]:
    """All migrations in order: number and SQL."""
    folder = resources.files("emulator.storage") / "sql" / "migrations"
    found = []
    for entry in folder.iterdir():
        if match := re.fullmatch(r"(\d{4})_\w+\.sql", entry.name):
            found.append((int(match[1]), entry.read_text(encoding="utf-8")))
    return sorted(found)


def _check_age(db: apsw.Connection, path: str) -> None:
    version, newest = int(db.pragma("user_version")), migrations()[-1][0]
    if version > newest:
        raise StorageError(
            f"{path} was written by a newer Stepwell (schema {version}; this one knows {newest}). Upgrade with "
            '"pip install -U stepwell", or name another folder with --persist-to.'
        )


def migrate(db: apsw.Connection) -> None:
    """Applies what is missing, each migration in one transaction with its version number."""
    version = int(db.pragma("user_version"))
    for number, sql in migrations():
        if number > version:
            with db:
                db.execute(sql)
                db.pragma("application_id", APPLICATION_ID)
                db.pragma("user_version", number)


def folder_database(folder: Path) -> str:
    """Where the database of a state folder lies."""
    return str(folder / "stepwell.sqlite")
