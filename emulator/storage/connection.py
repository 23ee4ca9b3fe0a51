"""Opening a database: whose it is, how it is set, and in which version of the schema.

Each setting is a function that says why; `WRITER` and `READER` list them in order.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Final, Literal, TypeAlias

import apsw

from stepwell.emulator.private_files import create_private, restrict
from stepwell.emulator.storage.store import StorageError as StorageError

Synchronous: TypeAlias = Literal["normal", "full"]

#: "Step" in ASCII: marks a database as ours (PRAGMA application_id).
APPLICATION_ID: Final = 0x53746570

#: Up to this size (8 MB) a database is checked when it is opened: it takes some 20 ms. A larger one is checked
#: in the background (checking.py).
CHECKED_PAGES: Final = 2_048
#: How long a connection waits for the lock of another.
BUSY_MS: Final = 5_000


def wal(db: apsw.Connection) -> None:
    """Readers of the dashboard never wait for the engine, nor the engine for them."""
    db.pragma("journal_mode", "wal")


def patient(db: apsw.Connection) -> None:
    """A checkpoint of another connection may hold the lock for a moment."""
    db.set_busy_timeout(BUSY_MS)


def no_checkpoints(db: apsw.Connection) -> None:
    """They wait for the disk; checkpoints.py makes them in a thread of its own."""
    db.wal_autocheckpoint(0)


def short_log(db: apsw.Connection) -> None:
    """64 MB: a log that was longer gives the room back when it starts over."""
    db.pragma("journal_size_limit", 64 * 1024 * 1024)


def small_cache(db: apsw.Connection) -> None:
    """4 MB: replay reads an instance in one query, and the operating system caches the file anyway."""
    db.pragma("cache_size", -4_000)


def temporary_in_memory(db: apsw.Connection) -> None:
    """Sorts of the dashboard's lists leave no files behind."""
    db.pragma("temp_store", "memory")


def impatient(db: apsw.Connection) -> None:
    """While another program holds the lock, `turn.py` decides who waits: SQLite's own wait would hold the loop."""
    db.set_busy_timeout(0)


def whole_turns(db: apsw.Connection) -> None:
    """Nothing of a turn goes to the disk before its commit: a full disk then fails the commit alone."""
    db.pragma("cache_spill", False)


def read_only(db: apsw.Connection) -> None:
    """A reader that writes is a bug; SQLite says so."""
    db.pragma("query_only", True)


WRITER: Final[tuple[Callable[[apsw.Connection], None], ...]] = (
    patient,
    wal,
    no_checkpoints,
    short_log,
    small_cache,
    temporary_in_memory,
    whole_turns,
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
    _keep_private(path)
    with explained(path):
        db = apsw.Connection(path)
        try:
            _check_owner(db, path)
            _check_age(db, path)
            _check_health(db, path)
            for setting in WRITER:
                setting(db)
            db.pragma("synchronous", synchronous)
            migrate(db)
            _check_tables(db, path)
            impatient(db)
        except (StorageError, apsw.Error):
            db.close()
            raise
    return db


def _keep_private(path: str) -> None:
    """Only its owner may read a database. SQLite gives its other files the same permissions."""
    if path == ":memory:":
        return
    with contextlib.suppress(OSError):  # SQLite says what is wrong with the place
        create_private(Path(path))
    for suffix in ("", "-wal", "-shm"):
        restrict(Path(path + suffix))


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """What SQLite says about the file at `path` becomes a `StorageError` that says what to do."""
    try:
        yield
    except apsw.Error as error:
        explanation = explain(path, error)
        if explanation is None:
            raise
        raise explanation from None


def explain(path: str | Path, error: apsw.Error) -> StorageError | None:
    """What to say of an error; None for one that is no fault of the file or its disk."""
    elsewhere = "or name another folder with --persist-to"
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StorageError(
                f"{path} is locked by another program ({error}). Close what uses it (a database browser, a backup) "
                f"and start again, {elsewhere}."
            )
        case apsw.CorruptError():
            return StorageError(f"{path} is damaged ({error}). Move it away, {elsewhere}.")
        case apsw.NotADBError():
            return StorageError(f"{path} is not a SQLite database. Move it away, {elsewhere}.")
        case apsw.FullError():
            return StorageError(
                f"The disk that holds {path} is full. Free some space and start again, {elsewhere}."
            )
        case apsw.IOError():
            return StorageError(
                f"{path} cannot be read or written ({error}). Check the disk for space and errors, {elsewhere}."
            )
        case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError():
            return StorageError(
                f"{path} cannot be opened for writing ({error}). Check the folder's permissions, {elsewhere}."
            )
    return None


#: Errors after which the same may succeed: a lock that is let go, room on the disk, a network drive that is back.
_PASSING: Final = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.FullError,
    apsw.IOError,
    apsw.NoMemError,
    apsw.CantOpenError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
    apsw.PermissionsError,
    apsw.InterruptError,
    apsw.SchemaChangeError,
)


def is_passing(error: apsw.Error) -> bool:
    """Whether a statement that failed so may be repeated."""
    return isinstance(error, _PASSING)


def reason_of(error: apsw.Error) -> str:
    """Why the database cannot be written, for people: "its disk is full (...)"."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return f"another program has locked it ({error})"
        case apsw.FullError():
            return f"its disk is full ({error})"
        case apsw.IOError():
            return f"its disk reports an error ({error})"
        case apsw.NoMemError():
            return f"there is not enough memory ({error})"
    return str(error)


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


def _check_health(db: apsw.Connection, path: str) -> None:
    """A damaged database is refused before anything depends on it; a large one only where the damage is read."""
    if int(db.pragma("page_count")) > CHECKED_PAGES:
        return
    found = " ".join(str(db.execute("PRAGMA quick_check(1)").get).split()).removeprefix("*** in database main *** ")
    if found != "ok":
        raise StorageError(f"{path} is damaged ({found}). Move it away, or name another folder with --persist-to.")


def _check_tables(db: apsw.Connection, path: str) -> None:
    """Refuses a database that has lost a table: what needs it would fail one by one."""
    whole = apsw.Connection(":memory:")
    try:
        for _, sql in migrations():
            whole.execute(sql)
        missing = _tables(whole) - _tables(db)
    finally:
        whole.close()
    if missing:
        names = ", ".join(sorted(missing))
        raise StorageError(
            f"{path} has lost the table {names}. Restore the file from a copy, or move it away, or name another "
            "folder with --persist-to."
        )


def _tables(db: apsw.Connection) -> set[str]:
    return {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def migrations() -> list[tuple[int, str]]:
    """All migrations in order: number and SQL."""
    folder = resources.files("stepwell.emulator.storage") / "sql" / "migrations"
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
