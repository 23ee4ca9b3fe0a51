"""Notices user code that holds the engine's loop, and says where it stands. Pings only while somebody looks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.threads.engine_thread import EngineThread
from stepwell.emulator.threads.held_loop import Standing
from stepwell.emulator.web.pauses import pause

#: How often the engine's loop is asked whether it turns.
PING_S: Final = 0.25
#: Without an answer for this long it counts as blocked.
PATIENCE_MS: Final = 500


class LoopWatch:
    """Pings the engine's loop as long as pages are open. `held_ms` is what others know who watch it too."""

    def __init__(self, thread: EngineThread, held_ms: Callable[[], int], changed: Callable[[], None]) -> None:
        self._thread = thread
        self._held_ms = held_ms
        self._changed = changed
        self._watchers = 0
        self._task: asyncio.Task[None] | None = None
        self._answered_ns = monotonic_ns()
        self._blocked: Standing | None = None

    @property
    def blocked(self) -> Standing | None:
        """Where the loop stands that does not answer; None while it does."""
        return self._blocked or (self._thread.standing() if self.is_blocked else None)

    def join(self) -> None:
        self._watchers += 1
        if self._task is None:
            self._answered_ns = monotonic_ns()
            self._task = asyncio.get_running_loop().create_task(self._run())

    def leave(self) -> None:
        self._watchers -= 1
        if self._watchers == 0 and self._task is not None:
            self._task.cancel()
            self._task = None

    def _pong(self) -> None:
        """Runs on the engine's thread."""
        self._answered_ns = monotonic_ns()

    @property
    def is_blocked(self) -> bool:
        return self._blocked is not None or self._held_ms() >= PATIENCE_MS

    @property
    def blocked_ms(self) -> int:
        own_ms = (monotonic_ns() - self._answered_ns) // 1_000_000 if self._blocked is not None else 0
        return max(own_ms, self._held_ms())

    async def _run(self) -> None:
        asked_ns = 0
        while True:
            if asked_ns <= self._answered_ns:
                asked_ns = monotonic_ns()
                self._thread.soon(self._pong)
            await pause(PING_S)
            silent_ms = (monotonic_ns() - asked_ns) // 1_000_000 if asked_ns > self._answered_ns else 0
            self._judge(silent_ms)

    def _judge(self, silent_ms: int) -> None:
        was = self._blocked
        if silent_ms < PATIENCE_MS:
            self._blocked = None
        elif was is None:
            self._blocked = self._thread.standing()
        if (was is None) != (self._blocked is None):
            self._changed()
