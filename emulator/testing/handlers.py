"""Calling the Worker of a test's project as a request would."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

import httpx

from stepwell.bindings.web.messages import Request, Response
from stepwell.emulator.testing.emulation import Emulation
from stepwell.emulator.testing.errors import WorkflowTestError
from stepwell.emulator.testing.project_code import ProjectCode
from stepwell.emulator.worker.host import WorkerHost
from stepwell.emulator.worker.python.host import PythonHost


async def fetch(emulation: Emulation, url: str, options: Mapping[str, Any]) -> Any:
    """The answer of the first project's Worker; `url` may be a path."""
    await emulation.started()
    hosts = [code.host for code in emulation.codes if isinstance(code, ProjectCode) and code.host is not None]
    if not hosts:
        raise WorkflowTestError("fetch() needs the project of a Worker: workflows.load(...)")
    host, address = hosts[0], urljoin("http://localhost/", url)
    if isinstance(host, PythonHost):
        # In a task of its own: what user code does to its context is not the test's.
        answering = asyncio.create_task(host.answer(Request(address, **options), wants_page=False))
        return (await answering).response
    return await _through_front_door(host, address, dict(options))


async def _through_front_door(host: WorkerHost, address: str, options: dict[str, Any]) -> Response:
    """Asks a Worker that runs in a runtime of its own."""
    method, body = options.pop("method", "GET"), options.pop("body", None)
    transport = httpx.ASGITransport(app=host.front_door())
    async with httpx.AsyncClient(transport=transport) as client:
        answer = await client.request(method, address, content=body, **options)
    return Response(answer.content, answer.status_code, headers=dict(answer.headers))
