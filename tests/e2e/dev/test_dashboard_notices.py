"""What the dashboard of a running server says about its code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.e2e.process import DevProcess, until
from tests.e2e.projects import write_entry

WORKER = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        return 1
"""


def test_code_that_cannot_be_loaded_is_shown_with_its_lines_until_it_is_mended(
    dev: Callable[..., DevProcess], project: Callable[..., Path]
) -> None:
    folder = project(WORKER)
    server = dev(folder)
    assert "failed to load" not in server.http.get("/__dashboard").text

    write_entry(folder, WORKER + "\nbroken = (1 +\n")

    page = until("the notice", lambda: _with_trouble(server))
    assert "never closed" in page
    assert "broken = (1 +" in page

    write_entry(folder, WORKER)
    until("the end of the notice", lambda: _with_trouble(server) is None)


def _with_trouble(server: DevProcess) -> str | None:
    page = server.http.get("/__dashboard").text
    return page if "failed to load" in page else None
