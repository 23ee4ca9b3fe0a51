"""The engine's times as real ones: how long things took by the clock on the wall, when the engine's was moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from stepwell.emulator.storage.records import ClockMove


class RealTime:
    """Maps times of the engine to those of the machine. `skew_ms` is how far the engine's clock is ahead now."""

    def __init__(self, moves: Sequence[ClockMove] = (), skew_ms: int = 0) -> None:
        self._moves = tuple(moves)
        self._skew_ms = skew_ms

    def __call__(self, at: int) -> int:
        skew = self._skew_ms
        for move in reversed(self._moves):
            if at >= move.end:
                break
            moved_by = move.end - move.start - move.real_ms
            skew -= moved_by
            if at > move.start:  # within the move: real time went on by a part of what the move took
                share = (at - move.start) / (move.end - move.start)
                return move.start - skew + round(share * move.real_ms)
        return at - skew

    def engine(self, real: int) -> int:
        """The engine's time at a real one: the first one that is it."""
        return real + bisect_left(range(real, real + self._skew_ms + 1), real, key=self)

    def span(self, start: int, end: int) -> int:
        """How much real time lies between two times."""
        return self(end) - self(start)

    def moved_within(self, start: int, end: int) -> bool:
        """Whether the clock was moved between two times."""
        return any(move.start < end and move.end > start for move in self._moves)
