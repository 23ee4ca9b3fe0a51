"""A look at a database that may be in use, damaged, or not ours. Nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from stepwell.emulator.storage.connection import APPLICATION_ID

#: Larger databases are not checked for damage here: it takes a second for each 500 MB.
_MOST_CHECKED_BYTES: Final = 200 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """`instances` is None when it cannot be read; `problem` says why, or what is damaged."""

    instances: int | None = None
    problem: str = ""


def sqlite_version() -> str:
    return apsw.sqlite_lib_version()


def inspect_database(path: Path) -> DatabaseFacts:
    """What is in a database. Never raises."""
    try:
        db = _open(path)
    except apsw.Error as error:
        return DatabaseFacts(problem=f"it can't be opened ({error})")
    try:
        if db.pragma("application_id") != APPLICATION_ID:
            return DatabaseFacts(problem="it is a database of another program")
        if path.stat().st_size <= _MOST_CHECKED_BYTES:
            found = " ".join(str(db.execute("PRAGMA quick_check(1)").get).split())
            if found != "ok":
                return DatabaseFacts(problem=f"it is damaged ({found})")
        return DatabaseFacts(instances=int(db.execute("SELECT count(*) FROM instance").get))
    except (apsw.Error, OSError) as error:
        return DatabaseFacts(problem=f"it can't be read ({error})")
    finally:
        db.close()


def _open(path: Path) -> apsw.Connection:
    """Without a log nobody has it open: then SQLite need not make the files that belong to one."""
    has_log = path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    return apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
