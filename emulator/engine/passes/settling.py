"""Finding out when woken code has gone as far as it can.

Code of a run goes on for some turns of the loop after a wait of it has ended or begun. When it has called no step
by then and only waits are left, its instance rests. All runs share one count of turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from stepwell.emulator.clock import after_turns

#: Turns of the loop after which code that was woken has reached its next step, if it goes on at all.
_TURNS: Final = 4


class Settling:
    """Calls back once for each that was added, `_TURNS` to twice as many turns later."""

    def __init__(self) -> None:
        self._next: list[Callable[[], None]] = []
        self._running: list[Callable[[], None]] = []
        self._held = 0

    def __len__(self) -> int:
        return len(self._next) + len(self._running) + self._held

    def hold(self) -> None:
        """Code in another process was asked whether it has settled; until `release` it counts as going on."""
        self._held += 1

    def release(self) -> None:
        self._held -= 1

    def add(self, settle: Callable[[], None]) -> None:
        self._next.append(settle)
        if not self._running and len(self._next) == 1:
            self._begin()

    def _begin(self) -> None:
        self._running, self._next = self._next, []
        after_turns(_TURNS, self._end)

    def _end(self) -> None:
        settled, self._running = self._running, []
        for settle in settled:
            settle()
        if self._next and not self._running:
            self._begin()
