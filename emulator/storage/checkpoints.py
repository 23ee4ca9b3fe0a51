"""Checkpoints away from the engine's thread.

A checkpoint copies the write-ahead log into the database and waits for the disk: 80 ms were measured in the middle
of a run of steps of 0.3 ms. So the writer never makes one by itself; a thread with a connection of its own does,
beside the writes. It needs no lock that the writer wants.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

import apsw

from stepwell.emulator.storage.connection import impatient

_log = logging.getLogger("stepwell.storage")

#: Pages of the log from which on it is worth a checkpoint, and then after as many again: 16 MB.
_WORTH_IT: Final = 4_000
#: A log that grows without a pause cannot start over beside the writes. From 64 MB on the writer sees to that
#: itself right after a checkpoint, when little is left to copy; from 256 MB on after each further 16 MB.
_LONG: Final = 16_000
_TOO_LONG: Final = 64_000
#: How long it waits for those who read what is to be copied.
_PATIENCE_MS: Final = 20


class Checkpoints:
    """Watches the log of the writer `db` of the database at `path`; the thread starts with the first need of it."""

    def __init__(self, path: str, db: apsw.Connection) -> None:
        self._path = path
        self._wanted = threading.Event()
        self._next = _WORTH_IT
        self._too_long = _TOO_LONG
        #: Whether a checkpoint has just ended.
        self._fresh = False
        #: How many were made.
        self.made = 0
        self._stopping = False
        self._thread: threading.Thread | None = None
        db.set_wal_hook(self._committed)

    def _committed(self, db: apsw.Connection, _: str, pages: int) -> int:
        if pages > (_LONG if self._fresh else self._too_long):
            self._fresh = False
            self._too_long = max(self._too_long, pages + _WORTH_IT)
            _start_over(db)
        elif pages <= _WORTH_IT:  # the log has started over
            self._next, self._too_long = _WORTH_IT, _TOO_LONG
        elif pages > self._next:
            self._next = pages + _WORTH_IT
            self._fresh = False
            self._wanted.set()
            self._ensure_thread()
        return apsw.SQLITE_OK  # anything else would fail a commit that has been made

    def _ensure_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="stepwell-checkpoints", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        db = apsw.Connection(self._path)
        db.pragma("journal_mode")  # one that has never read the file knows of no log, and copies nothing
        try:
            while self._wanted.wait() and not self._stopping:
                self._wanted.clear()  # first: who stops meanwhile wants to be heard
                self._checkpoint(db)
        finally:
            db.close()

    def _checkpoint(self, db: apsw.Connection) -> None:
        self._fresh = False
        try:
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self.made += 1
            self._fresh = True
        except apsw.Error as error:  # the next commit wants one again
            _log.warning("a checkpoint of the database failed: %s", error)

    def stop(self) -> None:
        """Returns when no checkpoint runs any more."""
        self._stopping = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()


def _start_over(db: apsw.Connection) -> None:
    """Copies the rest of the log, so that the next commit begins it anew, unless others read for long or copy."""
    db.set_busy_timeout(_PATIENCE_MS)
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    except apsw.Error as error:  # the log goes on growing, and one of the next commits tries again
        _log.debug("the log could not start over: %s", error)
    finally:
        impatient(db)
