"""Where the clock was moved: with it, the engine's times can be told in real time too.

Kept with the skew, for the next process. Moves that follow one another at once (`advance` stops at each wake) are
one; of very many the oldest are forgotten, and times before them count as if nothing had been moved since.
"""

from __future__ import annotations

import json
from typing import Final

from stepwell.emulator.storage.records import ClockMove
from stepwell.emulator.storage.store import Store

SETTING: Final = "clock_moves"
_KEPT: Final = 500
#: After so many moves they are written down, also while the clock goes on.
_KEPT_EVERY: Final = 500
#: Moves this close to one another, in real time, are one as long as that one is no longer than a moment.
_GAP_MS: Final = 20
_MOMENT_MS: Final = 250


class ClockMoves:
    """The moves of a store's clock, oldest first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unkept, self._gathering = 0, False
        stored = store.setting(SETTING)
        self.all: tuple[ClockMove, ...] = tuple(ClockMove(*one) for one in json.loads(stored or "[]"))

    def note(self, start: int, end: int) -> None:
        """The clock went from one time to another at once."""
        if end <= start:
            return
        last = self.all[-1] if self.all else None
        gap = start - last.end if last is not None else 0
        if last is not None and 0 <= gap <= _GAP_MS and last.real_ms + gap <= _MOMENT_MS:
            self.all = (*self.all[:-1], ClockMove(last.start, end, last.real_ms + gap))
        else:
            self.all = (*self.all, ClockMove(start, end, 0))[-_KEPT:]
        self._unkept += 1
        if not self._gathering or self._unkept >= _KEPT_EVERY:
            self._write()

    def gather(self) -> None:
        """From here to `keep` not every move is written down: all are one text, too long to write at each wake."""
        self._gathering = True

    def keep(self) -> None:
        """Writes down what was gathered."""
        self._gathering = False
        self._write()

    def _write(self) -> None:
        if self._unkept:
            self._unkept = 0
            self._store.put_setting(SETTING, json.dumps(self.all, separators=(",", ":")))
