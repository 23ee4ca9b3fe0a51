"""Finding out when the code of a pass has come as far as it can.

After a wait has begun or ended, code of run() continues for some turns of the loop. If it has called no step by
then and only waits are left, its instance rests. Code in another process must say itself when it only waits: turns
of our loop say nothing about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from stepwell.bindings.ports import RemoteRunner, RunEvent
from stepwell.emulator.clock import after_turns

#: Turns of the loop after which code that was woken has reached its next step, if it continues at all.
_TURNS: Final = 4
#: Rounds of `_TURNS` for branches side by side: one of them may be on its way to a step through code of its own.
_ROUNDS: Final = 8


class Settling:
    """One count of turns for all passes: calls back once per `add`, `_TURNS` to twice as many turns later."""

    def __init__(self) -> None:
        self._next: list[Callable[[], None]] = []
        self._running: list[Callable[[], None]] = []
        self._held = 0

    def __len__(self) -> int:
        return len(self._next) + len(self._running) + self._held

    def hold(self) -> None:
        """Code in another process was asked whether it has settled; until `release` it counts as running."""
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


class CodeWatch:
    """Watches the code of one pass; calls `settled` when the code may have come as far as it can."""

    def __init__(self, settling: Settling, settled: Callable[[], None]) -> None:
        self._settling = settling
        self._settled = settled
        self._is_scheduled = False
        #: Rounds since the code last called a step or was woken.
        self._rounds = 0
        self._asking: asyncio.Task[None] | None = None
        #: The other process has said that its code only waits.
        self._is_quiet = False

    def look_soon(self) -> None:
        """Looks in a few turns whether the code still runs."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self._settling.add(self._look)

    def _look(self) -> None:
        self._is_scheduled = False
        self._settled()

    def restart(self) -> None:
        """The code has called a step, or was woken: it gets all rounds again."""
        self._rounds = 0

    def has_settled(self) -> None:
        """What the other process said has been used; the next time it is asked again."""
        self._is_quiet = False

    def may_call_another_step(self, is_in_wait: Callable[[], bool]) -> bool:
        """Whether code of this process gets another round. `is_in_wait`: run() itself is in a wait."""
        self._rounds += 1
        if self._rounds > _ROUNDS or is_in_wait():
            return False
        self.look_soon()
        return True

    def host_may_call_another_step(self, remote: RemoteRunner, event: RunEvent) -> bool:
        """Whether code in another process may still call a step; asks that process if it has not been asked."""
        if not self._is_quiet and self._asking is None:
            self._settling.hold()
            self._asking = asyncio.get_running_loop().create_task(remote.quiesce(event))
            self._asking.add_done_callback(self._answered)
        return not self._is_quiet

    def _answered(self, asking: asyncio.Task[None]) -> None:
        self._asking = None
        self._settling.release()
        if not asking.cancelled() and asking.exception() is None and not self._is_scheduled:
            self._is_quiet = True
            self._look()
