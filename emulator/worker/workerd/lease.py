"""Who still needs the socket of a pass."""

from __future__ import annotations

from collections.abc import Callable


class Lease:
    """The right to a socket. It ends with the last who holds it: the runner, or a rollback handler.

    The engine calls rollback handlers after run() has ended; when it has dropped them all, nobody needs the socket.
    """

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release

    def __del__(self) -> None:
        self._release()
