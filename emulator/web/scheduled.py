"""Calls of a Worker's `scheduled` handler by hand."""

from __future__ import annotations

from stepwell.emulator.web.parts import ServerParts
from stepwell.emulator.worker.host import WorkerHost
from stepwell.emulator.worker.host import call_scheduled as call_scheduled


def host_of(parts: ServerParts, name: str) -> WorkerHost | None:
    """The Worker by name; "" is the first Worker."""
    return next((host for host in parts.hosts if name in ("", host.name)), None)
