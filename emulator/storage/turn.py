"""The open transaction of the writer, and what is needed to make it again when SQLite loses it.

A database can be locked by another program, its disk can be full or fail for a moment. None of that may be lost or
reach a Workflow: every write since the last commit is kept until it is committed, and written anew after a failure.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import apsw

from stepwell.emulator.storage.connection import explain, is_passing, reason_of
from stepwell.emulator.storage.store import Damaged, StorageError, Unavailable

Row: TypeAlias = tuple[Any, ...]

#: What a write is expected to do when it is repeated: return this row, or change one row. None: not checked.
Expected: TypeAlias = Row | int | None
Read: TypeAlias = Callable[[], Any]

#: Between two attempts while the caller waits, in seconds.
_MOMENT_S: Final = 0.05
#: Attempts of a caller that waits, unless another program holds the lock: 5 s.
_ATTEMPTS: Final = 100


class Turn:
    """The writes since the last commit, in one transaction.

    A write that returns nothing never waits: while the database cannot be written it is only kept. One that
    returns something waits, as does a read that would miss what is kept.
    """

    def __init__(self, db: apsw.Connection, path: str, sql: Mapping[str, str]) -> None:
        """`sql`: the statements by their names."""
        self._db = db
        self._sql = sql
        self._cursor = db.cursor()
        self._path = path
        self._kept: list[tuple[str, Sequence[Any], Expected]] = []
        self.is_open = False
        #: Whether a ROLLBACK has failed.
        self._is_stuck = False
        self._began: Callable[[], None] = lambda: None
        self._waits: Callable[[str], None] = lambda reason: None
        self._broke: Callable[[StorageError], None] = lambda error: None
        self._broken: StorageError | None = None
        self.dirty = False
        #: Why the last attempt to open or commit failed.
        self.trouble = ""

    def on_first_write(self, callback: Callable[[], None]) -> None:
        """Calls back when the first write after a commit comes."""
        self._began = callback

    def on_trouble(self, waits: Callable[[str], None], broke: Callable[[StorageError], None]) -> None:
        """`waits` is called with the reason while a caller is made to wait, `broke` when waiting cannot help."""
        self._waits, self._broke = waits, broke

    # -- the transaction
    def begin(self) -> bool:
        """Opens the transaction unless it is open; False when the database cannot be written just now."""
        if self.is_open:
            return True
        try:
            self._open()
        except apsw.Error as error:
            self._lose(error)
            return False
        return True

    def _open(self) -> None:
        if self._broken is not None:
            raise self._broken
        if self._is_stuck:
            if self._db.in_transaction:  # SQLite may have ended it meanwhile
                self._cursor.execute("ROLLBACK")
            self._is_stuck = False
        self._cursor.execute("BEGIN IMMEDIATE")
        for sql, params, expected in self._kept:
            row = self._cursor.execute(sql, params).fetchone()
            if _differs(expected, row, self._db):
                self._break(StorageError(f"{self._path} was changed by another program while Stepwell ran."))
        self.is_open = True
        self._note()

    def _note(self) -> None:
        if not self.dirty:
            self.dirty = True
            self._began()

    def commit(self) -> None:
        """Raises `Unavailable` when that cannot be just now: call again. Any other `StorageError` is final."""
        if self._broken is not None:
            raise self._broken
        if not self.dirty:
            return
        try:
            if not self.is_open:
                self._open()
            self._cursor.execute("COMMIT")
        except apsw.Error as error:
            self._lose(error)
            raise Unavailable(self.trouble) from error
        self.is_open = self.dirty = False
        self._kept.clear()
        self.trouble = ""

    def rollback(self) -> None:
        """Forgets what was written since the last commit."""
        self._kept.clear()
        self.dirty = False
        if self.is_open:
            self._close()

    def _close(self) -> None:
        self.is_open = False
        if self._db.in_transaction:  # after some errors SQLite has ended it by itself
            try:
                self._cursor.execute("ROLLBACK")
            except apsw.Error:  # done before the next BEGIN
                self._is_stuck = True

    # -- writes and reads
    def write(self, name: str, params: Sequence[Any]) -> None:
        """Writes with the statement `name`, or keeps the write for later."""
        sql = self._sql[name]
        if self.is_open or self.begin():
            try:
                self._cursor.execute(sql, params)
            except apsw.ConstraintError:
                raise
            except apsw.Error as error:
                self._lose(error)
        self._kept.append((sql, params, None))
        if not self.dirty:
            self._note()

    def change(self, name: str, params: Sequence[Any]) -> bool:
        """Writes what must change one row; False when it does not. Kept for later, it counts as done."""
        sql = self._sql[name]
        if self.is_open or self.begin():
            try:
                self._cursor.execute(sql, params)
                if self._db.changes() != 1:
                    return False
            except apsw.ConstraintError:
                raise
            except apsw.Error as error:
                self._lose(error)
        self._kept.append((sql, params, 1))
        if not self.dirty:
            self._note()
        return True

    def write_returning(self, name: str, params: Sequence[Any]) -> Any:
        """Writes and returns the first column of the first row; waits while the database cannot be written."""
        sql = self._sql[name]
        row: Row | None = self._persist(lambda: self._cursor.execute(sql, params).fetchone(), writes=True)
        self._note()
        self._kept.append((sql, params, row if row is not None else ()))
        return row[0] if row else None

    def read(self, fetch: Callable[[apsw.Connection], Any]) -> Any:
        """What `fetch` reads, with all writes so far. Raises `Damaged`."""
        return self._persist(lambda: fetch(self._db), writes=False)

    def _persist(self, call: Read, *, writes: bool) -> Any:
        """The result of `call` in the open transaction, or without one; again after errors that pass."""
        attempt = 0
        while True:
            try:
                if (writes or self.dirty) and not self.is_open:
                    self._open()
                return call()
            except apsw.ConstraintError:
                raise
            except UnicodeDecodeError as error:
                raise Damaged(
                    f"{self._path} is damaged: a text in it is not UTF-8 ({bytes(error.object[:100])!r})."
                ) from None
            except apsw.CorruptError as error:
                if writes:
                    self._lose(error)
                if attempt:
                    raise Damaged(str(explain(self._path, error))) from None
            except apsw.Error as error:
                self._lose(error)
                self._wait(error, attempt)
            attempt += 1

    def _wait(self, error: apsw.Error, attempt: int) -> None:
        if attempt >= _ATTEMPTS and not isinstance(error, apsw.BusyError | apsw.LockedError):
            self._break(explain(self._path, error) or StorageError(f"{self._path} cannot be used: {error}"))
        if attempt:
            self._waits(self.trouble)
            threading.Event().wait(_MOMENT_S)

    # -- failures
    def _lose(self, error: apsw.Error) -> None:
        """The transaction is made again by the next that needs it. Raises when that would fail as well."""
        self._close()
        if not is_passing(error):
            self._break(explain(self._path, error) or StorageError(f"a write to {self._path} failed: {error}"))
        self.trouble = reason_of(error)

    def _break(self, error: StorageError) -> None:
        """Nothing is written from here on. Raises the error."""
        self._broken = error
        self._note()
        self._close()
        self._broke(error)
        raise error


class SharedTurn(Turn):
    """The turn of a database in memory: readers in other threads use the writer's connection, so all take turns."""

    def __init__(self, db: apsw.Connection, path: str, sql: Mapping[str, str], lock: threading.RLock) -> None:
        super().__init__(db, path, sql)
        self._lock = lock

    def begin(self) -> bool:
        with self._lock:
            return super().begin()

    def commit(self) -> None:
        with self._lock:
            super().commit()

    def rollback(self) -> None:
        with self._lock:
            super().rollback()

    def write(self, name: str, params: Sequence[Any]) -> None:
        with self._lock:
            super().write(name, params)

    def change(self, name: str, params: Sequence[Any]) -> bool:
        with self._lock:
            return super().change(name, params)

    def write_returning(self, name: str, params: Sequence[Any]) -> Any:
        with self._lock:
            return super().write_returning(name, params)

    def read(self, fetch: Callable[[apsw.Connection], Any]) -> Any:
        with self._lock:
            return super().read(fetch)


def _differs(expected: Expected, row: Row | None, db: apsw.Connection) -> bool:
    if expected is None:
        return False
    if isinstance(expected, int):
        return db.changes() != expected
    return (row or ()) != expected
