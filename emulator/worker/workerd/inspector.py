"""The debugger's port. It stays open while processes of the runtime come and go.

Each process opens an inspector on a port of its own. Connections to the debugger's port lead to the process that
takes requests, so that a new process never waits for the port of the one it replaces.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Coroutine
from typing import Any, Final

from stepwell.emulator.worker.host import WorkerLoadError

_LOOPBACK: Final = "127.0.0.1"
_PIECE: Final = 64 * 1024
_LONGEST_HEAD: Final = 16 * 1024
_LOCAL_HOST: Final = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
#: Pages that may attach: the developer tools of browsers, and pages of this machine.
_LOCAL_ORIGIN: Final = re.compile(
    rb"(?:devtools|chrome-devtools)://.*|https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE
)
_UNAVAILABLE: Final = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_FORBIDDEN: Final = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class InspectorProxy:
    """Listens on `port` and passes connections on to the port that `target` returns, None while there is none."""

    def __init__(self, port: int, target: Callable[[], int | None]) -> None:
        self._port = port
        self._target = target
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the port, unless it is open. Raises `WorkerLoadError` when another program has it."""
        if self._server is not None:
            return
        try:
            self._server = await asyncio.start_server(self._accept, _LOOPBACK, self._port, limit=_LONGEST_HEAD)
        except OSError as error:
            raise WorkerLoadError(
                f"Can't open the inspector on port {self._port}: {error.strerror or error}. "
                "Close the program that uses the port, or choose another with --inspector-port."
            ) from None

    def disconnect(self) -> None:
        """End all connections: debuggers connect again, to the process that takes requests now."""
        for connection in self._connections:
            connection.cancel()

    async def stop(self) -> None:
        """Close the port and all connections."""
        if self._server is not None:
            self._server.close()
        self.disconnect()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        try:
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await self._serve(reader, writer)
        finally:
            self._connections.discard(connection)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return
        if not _is_local(head):
            writer.write(_FORBIDDEN)
            return
        target = self._target()
        if target is None:
            writer.write(_UNAVAILABLE)
            return
        runtime_reader, runtime_writer = await asyncio.open_connection(_LOOPBACK, target)
        try:
            runtime_writer.write(head)
            await _either_ends(_pass(reader, runtime_writer), _pass(runtime_reader, writer))
        finally:
            runtime_writer.close()


def _is_local(head: bytes) -> bool:
    """Whether a request comes from this machine: no page of a website may drive the debugger."""
    headers = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    hosts = [value.strip() for name, _, value in headers if name.lower() == b"host"]
    origins = [value.strip() for name, _, value in headers if name.lower() == b"origin"]
    local_hosts = len(hosts) == 1 and _LOCAL_HOST.fullmatch(hosts[0])
    return bool(local_hosts) and all(_LOCAL_ORIGIN.fullmatch(origin) for origin in origins)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_PIECE):
            writer.write(data)
            await writer.drain()


async def _either_ends(*directions: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.ensure_future(direction) for direction in directions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
