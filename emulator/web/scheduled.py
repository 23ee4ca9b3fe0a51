"""Calls of a Worker's `scheduled` handler, by its cron triggers or by hand."""

from __future__ import annotations

import logging

from stepwell.bindings.tracebacks import error_text
from stepwell.emulator.web.parts import ServerParts
from stepwell.emulator.worker.host import WorkerHost

_log = logging.getLogger("stepwell.worker")


async def call_scheduled(host: WorkerHost, cron: str, scheduled_at: int) -> bool:
    """Calls the handler; an error of it is logged. Whether it went well. On the engine's loop."""
    try:
        await host.scheduled(cron, scheduled_at)
    except Exception as error:  # noqa: BLE001 - the Worker's handler may raise anything
        _log.error("Uncaught (in scheduled) %s", error_text(error))
        return False
    return True


def host_of(parts: ServerParts, name: str) -> WorkerHost | None:
    """The Worker of a name; the first one for ""."""
    return next((host for host in parts.hosts if name in ("", host.name)), None)
