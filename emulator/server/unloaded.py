"""The response of a Worker whose code has never loaded: the error with its source lines."""

from __future__ import annotations

from stepwell.emulator.web.notices import Notices
from stepwell.emulator.worker.host import AsgiApp, Receive, Scope, Send

_HEADERS = [(b"content-type", b"text/plain;charset=utf-8"), (b"cache-control", b"no-store")]
_NO_WORKER = "No dev server runs a Worker with Workflows yet."


async def no_worker(scope: Scope, receive: Receive, send: Send) -> None:
    """The app while no dev server has started a Worker."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1013, "reason": _NO_WORKER})
        return
    await send({"type": "http.response.start", "status": 503, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": f"{_NO_WORKER}\n".encode()})


class WhileUnloaded:
    """Wraps a Worker's app. Until its code loads, requests get 503 with the error."""

    def __init__(self, app: AsgiApp, notices: Notices, worker: str) -> None:
        self._app = app
        self._notices = notices
        self._worker = worker

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._worker not in self._notices.unloaded:
            await self._app(scope, receive, send)
            return
        problem = self._notices.problems.get(self._worker, "")
        text = f"{problem}\n\nThe Worker {self._worker!r} reloads as soon as you save a fix.\n"
        await send({"type": "http.response.start", "status": 503, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": text.encode(errors="replace")})
