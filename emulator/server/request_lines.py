"""Logs a line per request to the Worker, if enabled."""

from __future__ import annotations

import logging
from typing import Final

from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.worker.host import AsgiApp, Message, Receive, Scope, Send

_log = logging.getLogger("stepwell.requests")
#: Logged for a request without a response: the client left, or the Worker failed.
_NO_STATUS: Final = "no answer"


class RequestLines:
    """Stands before the Worker's front door: `GET /orders 200 5 ms` when a request has ended."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        status: object = _NO_STATUS
        began = monotonic_ns()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "websocket.accept":
                status = 101
            elif message["type"] in ("http.response.start", "websocket.http.response.start"):
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            took_ms = (monotonic_ns() - began) // 1_000_000
            _log.info("%s %s %s %d ms", scope.get("method", "GET"), _target(scope), status, took_ms)


def _target(scope: Scope) -> str:
    """The requested path with its query."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string", b"")
    whole = path.partition(b"?")[0] + (b"?" + query if query else b"")
    return whole.decode("ascii", "backslashreplace")
