"""Waiting for sockets, on a loop that talks with a process beside it."""

from __future__ import annotations

import os
import selectors
from typing import Any, Final

from stepwell.emulator.clock import monotonic_ns

#: A wait of less than this is short, and this is how long the next one is spent looking.
_SHORT_NS: Final = 150_000


class EagerSelector(selectors.DefaultSelector):
    """If the last wait was short, looks again and again before it falls asleep, for as long as a short one takes.

    A step of a JavaScript Worker goes back and forth between two processes in some 300 microseconds, of which
    falling asleep and being woken are a part. Who is idle, or waits for longer things, sleeps at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._was_short = False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As any selector's: what is ready, after `timeout` seconds at the latest."""
        if timeout is not None and timeout * 1e9 < _SHORT_NS:
            return super().select(timeout)
        began = monotonic_ns()
        found = self._looked_for(began + _SHORT_NS) if self._was_short else []
        if not found:
            found = super().select(timeout)
            self._was_short = bool(found) and monotonic_ns() - began < _SHORT_NS
        return found

    def _looked_for(self, until_ns: int) -> list[Any]:
        look = super().select
        while monotonic_ns() < until_ns:
            if found := look(0):
                return found
        return []


def new_selector() -> selectors.BaseSelector:
    """An eager one, unless the other process would have to wait for this one's CPU."""
    return EagerSelector() if (os.cpu_count() or 1) > 1 else selectors.DefaultSelector()
