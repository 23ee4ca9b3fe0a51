"""The ASGI app on the port: our own paths go to Starlette, everything else to the Worker.

The Starlette side (REST, local explorer, dashboard) is imported when its first request comes, so that the server
is ready before any of it is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepwell.emulator.server.request_lines import RequestLines
from stepwell.emulator.server.unloaded import WhileUnloaded, no_worker
from stepwell.emulator.web.parts import ServerParts
from stepwell.emulator.worker.host import AsgiApp, Receive, Scope, Send

if TYPE_CHECKING:
    from starlette.applications import Starlette

#: Paths that are ours; a Worker cannot serve them (it could not on Cloudflare either, /__dashboard excepted).
OUR_PATHS: Final = ("/__dashboard", "/client/v4", "/cdn-cgi/")


class App:
    """Dispatches by path. One per server."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts
        self._worker: AsgiApp | None = None
        self._ours: Starlette | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and is_ours(scope["path"]):
            await self._starlette()(scope, receive, send)
        else:
            await self._front(scope, receive, send)

    @property
    def _front(self) -> AsgiApp:
        """The first Worker's app; with dev servers there may be no Worker yet."""
        if self._worker is None and self._parts.hosts:
            host = self._parts.hosts[0]
            self._worker = WhileUnloaded(host.front_door(), self._parts.notices, host.name)
            if self._parts.settings.log_requests:
                self._worker = RequestLines(self._worker)
        return self._worker or no_worker

    def _starlette(self) -> Starlette:
        if self._ours is None:
            from stepwell.emulator.server.site import build_site

            self._ours = build_site(self._parts)
        return self._ours


def is_ours(path: str) -> bool:
    """Whether a path belongs to the emulator and not to the Worker."""
    return path.startswith(OUR_PATHS)
