"""How many passes of run() a host can carry at once: each costs it descriptors, of which a process has few."""

from __future__ import annotations

from collections.abc import Callable


class Room:
    """Counts the passes of one host. The engine enters each pass before its code begins.

    The host enters passes as well: those that the engine has released and that still cost something.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self._on_free: Callable[[], None] | None = None

    @property
    def is_full(self) -> bool:
        return self.taken >= self.most

    def on_free(self, callback: Callable[[], None]) -> None:
        """Calls back when a pass leaves a room that was full; replaces the callback before."""
        self._on_free = callback

    def enter(self) -> None:
        self.taken += 1

    def leave(self) -> None:
        was_full = self.is_full
        self.taken -= 1
        if was_full and not self.is_full and self._on_free is not None:
            self._on_free()
