"""Calling the Worker of a test's project as a request would."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from bindings.messages import Request
from emulator.testing.emulation import Emulation
from emulator.testing.errors import WorkflowTestError
from emulator.testing.project_code import ProjectCode
from emulator.worker.python_host import PythonHost


async def fetch(emulation: Emulation, url: str, options: Mapping[str, Any]) -> Any:
    """The answer of the first project's Worker; `url` may be a path."""
    await emulation.started()
    for code in emulation.codes:
        if isinstance(code, ProjectCode) and isinstance(code.host, PythonHost):
            request = Request(urljoin("http://localhost/", url), **options)
            # In a task of its own: what user code does to its context is not the test's.
            return (await asyncio.create_task(code.host.answer(request, wants_page=False))).response
    raise WorkflowTestError("fetch() needs the project of a Python Worker: workflows.load(...)")
