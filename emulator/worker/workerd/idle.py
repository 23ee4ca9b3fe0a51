"""Connections on which nothing goes on, kept for a moment: the next who needs one may use them."""

from __future__ import annotations

import asyncio
from typing import Final, Generic, Protocol, TypeVar

from stepwell.emulator.clock import monotonic_ns

#: After this time without use a connection is closed: what a burst has opened must not stay open.
_IDLE_S: Final = 2.0


class Closable(Protocol):
    @property
    def closed(self) -> bool:
        """Whether it is of no use any more, whoever closed it."""
        ...

    def close(self) -> None: ...


Connection = TypeVar("Connection", bound=Closable)


class Idle(Generic[Connection]):
    """The free connections to one place, at most `most`; belongs to one loop."""

    def __init__(self, most: int, idle_s: float = _IDLE_S) -> None:
        self._most = most
        self._idle_s = idle_s
        self._free: list[tuple[Connection, int]] = []
        self._closing: asyncio.Task[None] | None = None
        self._is_over = False

    def __len__(self) -> int:
        return len(self._free)

    def take(self) -> Connection | None:
        """The connection that was used last, if there is one."""
        while self._free:
            connection, _ = self._free.pop()
            if not connection.closed:
                return connection
            connection.close()
        return None

    def give(self, connection: Connection) -> None:
        """Keeps a connection, or closes it when there are enough."""
        if self._is_over or connection.closed or len(self._free) >= self._most:
            connection.close()
            return
        self._free.append((connection, monotonic_ns()))
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close_unused())

    async def _close_unused(self) -> None:
        """Runs as long as there are connections, of which the first has been free for longest."""
        try:
            while self._free:
                age_s = (monotonic_ns() - self._free[0][1]) / 1e9
                if age_s >= self._idle_s:
                    self._free.pop(0)[0].close()
                else:
                    await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=self._idle_s - age_s)
        finally:
            self._closing = None

    def close(self) -> None:
        """Closes all; connections that are given later are closed at once."""
        self._is_over = True
        while self._free:
            self._free.pop()[0].close()
        if self._closing is not None:
            self._closing.cancel()
