"""The web server in a thread of its own: uvicorn on a socket that was bound before anything else was done."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepwell.emulator.worker.host import AsgiApp

if TYPE_CHECKING:
    import uvicorn


class PortInUse(Exception):
    """The server can't listen on the address. The message says what to do."""


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `PortInUse`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named: asyncio switches Nagle's algorithm off only then, and an answer in two writes would
    # wait 40 ms for an acknowledgement.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if hasattr(socket, "SO_REUSEADDR") and not _is_windows():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise PortInUse(
            f"Port {port} on {host} cannot be used ({error.strerror}). Stop the other process, or pass "
            "--port (0 picks a free port)."
        ) from None
    sock.setblocking(False)
    return sock


def _is_windows() -> bool:
    import sys

    return sys.platform == "win32"


class Listener:
    """Serves an ASGI app from a thread with its own event loop."""

    def __init__(self, app: AsgiApp, sock: socket.socket) -> None:
        self._app = app
        self._socket = sock
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=self._run, name="stepwell-server", daemon=True)

    def start(self, ready: Callable[[BaseException | None], None]) -> None:
        """Starts the thread; `ready` is called on it when requests are answered, or with what prevents that."""
        self._ready = ready
        self._thread.start()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._ready(error)
            raise

    async def _serve(self) -> None:
        import uvicorn

        from stepwell.emulator.bounded_http import BoundedHttp

        config = uvicorn.Config(
            self._app,
            lifespan="off",
            log_config=None,
            access_log=False,
            http=BoundedHttp,
            ws=_websockets,  # type: ignore[arg-type]  # called like the class that it makes one of
            server_header=False,
            timeout_graceful_shutdown=2,
        )
        self._server = _Server(config, self._ready)
        await self._server.serve(sockets=[self._socket])

    def stop(self, timeout_s: float = 5.0) -> None:
        """Stops accepting, lets answers in progress end, and joins the thread."""
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(timeout_s)
        self._socket.close()


def _websockets(**given: Any) -> asyncio.Protocol:
    """The WebSocket protocol of uvicorn, imported with the first upgrade: few Workers see one."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    return WebSocketsSansIOProtocol(**given)


def _Server(config: uvicorn.Config, ready: Callable[[BaseException | None], None]) -> uvicorn.Server:  # noqa: N802 - makes one
    """A uvicorn server that reports when it has started, and leaves signals to the main thread."""
    import uvicorn

    class Telling(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready(None)

    return Telling(config)
