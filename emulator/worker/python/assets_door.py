"""Requests from outside to a Python Worker: where it has static assets, the runtime looks through them first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stepwell.emulator.worker.host import AsgiApp, Receive, Scope, Send

if TYPE_CHECKING:
    from stepwell.emulator.worker.workerd.stand_in import StandIn


class AssetsDoor:
    """The app of one Worker. WebSockets go to Python directly: no file is one."""

    def __init__(self, python: AsgiApp, stand_in: Callable[[], StandIn | None]) -> None:
        self._python = python
        self._stand_in = stand_in
        self._runtime: AsgiApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stand_in = self._stand_in()
        if stand_in is None or scope["type"] != "http" or not stand_in.serves_assets:
            await self._python(scope, receive, send)
            return
        if self._runtime is None:
            self._runtime = stand_in.front_door()
        await self._runtime(scope, receive, send)
