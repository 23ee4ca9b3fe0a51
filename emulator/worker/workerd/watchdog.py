"""Detects hung runtimes and measures how long they were paused.

A runtime in an endless loop answers no ping while it uses the CPU. It is given the CPU time of an invocation,
however long that takes on a busy machine. One that a debugger has stopped is deaf too, but idle: it is left alone,
and the time does not count for what its code has to get done.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.worker.host import HostCrashed

_INTERVAL_S: Final = 1.0
#: Longest response time of a healthy runtime. Only after it the CPU time is checked, which reads much of /proc.
_WELL_S: Final = 0.25
#: How often an unresponsive runtime is checked.
_LOOK_S: Final = 0.5
#: Below this share of CPU time, an unresponsive runtime counts as paused. A debugger uses some CPU itself. Without
#: a debugger, only a stopped process uses none, while an endless loop on a busy machine may get little.
_STANDS_IN_DEBUGGER: Final = 0.5
_STANDS: Final = 0.001
#: Maximum number of pauses that are remembered.
_REMEMBERED: Final = 1_000


class Pinged(Protocol):
    async def ping(self) -> None:
        """Wait for the response. Raises `HostCrashed` if the runtime is gone."""
        ...


class Measured(Protocol):
    def cpu_seconds(self) -> float | None: ...


class Watchdog:
    """Pings one process. `give_up` is called once, with the reason, when it hangs."""

    def __init__(
        self,
        pinged: Pinged,
        measured: Measured,
        patience_s: float,
        give_up: Callable[[str], None],
        *,
        inspected: bool = False,
    ) -> None:
        """`patience_s` is CPU time. `inspected`: a debugger can stop the runtime."""
        self._pinged = pinged
        self._measured = measured
        self._patience_s = patience_s
        self._give_up = give_up
        self._inspected = inspected
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        #: Resolved at the next check: True if the runtime is paused.
        self._look: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._heard_at = monotonic_ns()
        self._standstills: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        #: Number of responses so far.
        self.pongs = 0

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._watch())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def stood_ms(self, since_ns: int) -> int:
        """How many ms the runtime has been paused since `since_ns` of `monotonic_ns`.

        If it is paused now, wait until it continues.
        """
        self._hurry.set()
        while await self._next_look():
            pass
        stood_ns = sum(max(0, end - max(start, since_ns)) for start, end in self._standstills)
        return stood_ns // 1_000_000

    async def _next_look(self) -> bool:
        """True if the runtime is paused. False after the end of the watch."""
        if self._task is None or self._task.done():
            return False
        look = self._look
        await asyncio.wait([look])
        return look.result()

    def _tell(self, *, stands: bool) -> None:
        look, self._look = self._look, asyncio.get_running_loop().create_future()
        look.set_result(stands)

    async def _watch(self) -> None:
        try:
            with contextlib.suppress(HostCrashed):
                while await self._answers():
                    await self._pause()
        finally:
            self._tell(stands=False)

    async def _pause(self) -> None:
        self._hurry.clear()
        waiting = asyncio.ensure_future(self._hurry.wait())
        try:
            await asyncio.wait([waiting], timeout=_INTERVAL_S)
        finally:
            waiting.cancel()

    async def _answers(self) -> bool:
        """True if the ping was answered, however late; False if the runtime hangs."""
        ping = asyncio.ensure_future(self._pinged.ping())
        try:
            await asyncio.wait([ping], timeout=min(_WELL_S, self._patience_s))
            if not ping.done() and not await self._outlasted(ping):
                return False
        finally:
            ping.cancel()
        await ping
        self.pongs += 1
        self._heard_at = monotonic_ns()
        self._tell(stands=False)
        return True

    async def _outlasted(self, ping: asyncio.Future[None]) -> bool:
        """Check an unresponsive runtime until it responds. False if it has used up its CPU time."""
        used_s = 0.0
        while not ping.done():
            before, looked_at = self._measured.cpu_seconds(), monotonic_ns()
            await asyncio.wait([ping], timeout=min(_LOOK_S, self._patience_s))
            after, now = self._measured.cpu_seconds(), monotonic_ns()
            passed_s = (now - looked_at) / 1e9
            # If the CPU time is unknown, an unresponsive runtime counts as busy.
            look_s = passed_s if before is None or after is None else after - before
            stands = look_s < passed_s * (_STANDS_IN_DEBUGGER if self._inspected else _STANDS)
            used_s = 0.0 if stands and self._inspected else used_s + look_s
            if stands:
                self._standstills.append((self._heard_at, now))
                self._heard_at = now
            if not ping.done():
                if used_s >= self._patience_s:
                    self._give_up(f"unresponsive for {self._patience_s:g} s at full CPU, probably an endless loop")
                    return False
                self._tell(stands=stands)
        return True
