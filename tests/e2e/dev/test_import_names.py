"""`stepwell dev` on a project whose own modules have the names of Stepwell's folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import write_project

WORKER = """
import bindings, config, emulator, tests

class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        return [module.OWNER for module in (bindings, config, emulator, tests)]

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("hello")
"""


@pytest.mark.parametrize("environment", [{}, {"PYTHONPATH": "src"}], ids=["src", "PYTHONPATH=src"])
def test_a_worker_may_call_its_modules_bindings_and_emulator(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path, WORKER)
    for name in ("bindings", "emulator", "config", "tests"):
        (tmp_path / "src" / f"{name}.py").write_text('OWNER = "project"\n', encoding="utf-8")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    with DevProcess("--port", "0", cwd=tmp_path) as server:
        server.create("flow", "a")

        assert server.until_status("flow", "a", "complete")["output"] == ["project"] * 4
