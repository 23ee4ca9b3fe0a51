"""The check of a large database, in a thread of its own: it reads the whole file."""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import Final

import apsw

from stepwell.emulator.storage.connection import CHECKED_PAGES, open_reader

_log = logging.getLogger("stepwell.storage")

#: How many faults are named.
_MOST: Final = 5


class BackgroundCheck:
    """Checks the database at `path` if it was too large to be checked when it was opened; logs what is damaged."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._db: apsw.Connection | None = None
        self._stopped = False
        #: What is damaged; empty while nothing is known.
        self.problem = ""
        self._thread = threading.Thread(target=self._run, name="stepwell-check", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            db = self._db = open_reader(self._path)
            if int(db.pragma("page_count")) > CHECKED_PAGES:
                self._check(db)
        except apsw.CorruptError as error:
            self._tell(str(error))
        except apsw.Error as error:
            if not self._stopped:
                _log.error("%s could not be checked: %s", self._path, error)
        finally:
            if self._db is not None:
                self._db.close()

    def _check(self, db: apsw.Connection) -> None:
        rows = db.execute(f"PRAGMA quick_check({_MOST})").fetchall()
        found = [" ".join(str(text).split()) for (text,) in rows]
        if found != ["ok"]:
            self._tell("; ".join(found))

    def _tell(self, problem: str) -> None:
        self.problem = problem
        _log.error(
            "%s is damaged: %s. What can be read works; restore the file from a copy, or move it away.",
            self._path,
            problem,
            extra={"action": "damaged"},
        )

    def stop(self) -> None:
        """Ends the check; returns when its connection is closed."""
        self._stopped = True
        if self._db is not None:
            with contextlib.suppress(apsw.ConnectionClosedError):
                self._db.interrupt()
        self._thread.join()
