"""Finds a runtime that is caught in an endless loop: it answers no ping while it uses the CPU.

A debugger that has stopped the code is deaf too, but idle; so is one that waits for its disk. Those are left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final, Protocol

from emulator.worker.host import HostCrashed

_INTERVAL_S: Final = 1.0
#: Of the time in which no answer came, how much CPU time says "busy".
_BUSY: Final = 0.5


class Pinged(Protocol):
    async def ping(self) -> None:
        """Returns at the answer. Raises `HostCrashed` when the runtime is gone."""
        ...


class Measured(Protocol):
    def cpu_seconds(self) -> float | None: ...


class Watchdog:
    """Pings one process. `give_up` is called once, with the reason, when it hangs."""

    def __init__(
        self, pinged: Pinged, measured: Measured, patience_s: float, give_up: Callable[[str], None]
    ) -> None:
        self._pinged = pinged
        self._measured = measured
        self._patience_s = patience_s
        self._give_up = give_up
        self._task: asyncio.Task[None] | None = None
        #: Answers so far.
        self.pongs = 0

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._watch())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        with contextlib.suppress(HostCrashed):
            while True:
                ping = asyncio.ensure_future(self._pinged.ping())
                if not await self._answered(ping):
                    ping.cancel()
                    return
                await ping
                self.pongs += 1
                await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=_INTERVAL_S)

    async def _answered(self, ping: asyncio.Future[None]) -> bool:
        """Waits for the answer for as long as the runtime is idle or within its patience; False if it hangs."""
        # Looking at the CPU time reads much of /proc; a runtime that is well has answered before there is need.
        await asyncio.wait([ping], timeout=min(_INTERVAL_S, self._patience_s))
        while not ping.done():
            before = self._measured.cpu_seconds()
            done, _ = await asyncio.wait([ping], timeout=self._patience_s)
            if done:
                return True
            after = self._measured.cpu_seconds()
            if before is not None and after is not None and after - before < _BUSY * self._patience_s:
                continue
            seconds = f"{self._patience_s:g}"
            self._give_up(f"it did not answer for {seconds} s and used the CPU all the time: an endless loop")
            return False
        return True
