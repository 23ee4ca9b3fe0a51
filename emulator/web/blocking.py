"""Detects user code that blocks the engine's loop, and locates it. Pings only while pages are open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.threads.engine_thread import EngineThread
from stepwell.emulator.threads.loop_watchdog import BlockedAt
from stepwell.emulator.web.pauses import pause

#: Seconds between two pings of the engine's loop.
PING_S: Final = 0.25
#: Without an answer for this long it counts as blocked.
PATIENCE_MS: Final = 500


class LoopWatch:
    """Pings the engine's loop while pages are open. `blocked_ms` returns what the watchdog thread has measured."""

    def __init__(self, thread: EngineThread, blocked_ms: Callable[[], int], changed: Callable[[], None]) -> None:
        self._thread = thread
        self._watchdog_ms = blocked_ms
        self._changed = changed
        self._watchers = 0
        self._task: asyncio.Task[None] | None = None
        self._answered_ns = monotonic_ns()
        self._blocked: BlockedAt | None = None

    @property
    def blocked(self) -> BlockedAt | None:
        """The code that blocks the loop, or None while the loop is responsive."""
        return self._blocked or (self._thread.blocked_at() if self.is_blocked else None)

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
        return self._blocked is not None or self._watchdog_ms() >= PATIENCE_MS

    @property
    def blocked_ms(self) -> int:
        own_ms = (monotonic_ns() - self._answered_ns) // 1_000_000 if self._blocked is not None else 0
        return max(own_ms, self._watchdog_ms())

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
            self._blocked = self._thread.blocked_at()
        if (was is None) != (self._blocked is None):
            self._changed()
