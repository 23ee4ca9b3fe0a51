"""A running emulator whose Workflow does a bit of everything, for clients to drive."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import ANSWERS, workflow, write_project

#: The packages of npm that the tests use.
NODE_MODULES = Path(__file__).parents[3] / "fixtures" / "node" / "node_modules"

SOURCE = (
    """
from workers.workflows import NonRetryableError

class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        payload = event["payload"] or {}
        attempts = payload.get("fail", 0)

        @step.do("prepare", config={"retries": {"limit": 5, "delay": "1 minute", "backoff": "constant"}})
        async def prepare(ctx):
            if ctx["attempt"] <= attempts:
                raise ValueError(f"attempt {ctx['attempt']} failed")
            return {"prepared": payload}

        async def forget(given):
            pass

        @step.do("secret", config={"sensitive": "output"}, rollback=forget)
        async def secret():
            return "hunter2"

        result = await prepare()
        await secret()
        if payload.get("error"):
            raise NonRetryableError(payload["error"])
        if payload.get("nap"):
            await step.sleep("nap", payload["nap"])
        if payload.get("wait"):
            received = await step.wait_for_event("approval", payload["wait"], timeout="1 day")
            result["received"] = received["payload"]
        return result


class Quick(WorkflowEntrypoint):
    async def run(self, event, step):
        return event["payload"]
"""
    + ANSWERS
)
WORKFLOWS = [workflow(), workflow("quick", "Quick", "QUICK")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevProcess]:
    """One emulator for all tests of a module; each uses ids of its own, or the Workflow it wipes."""
    folder = tmp_path_factory.mktemp("project")
    project = write_project(folder, SOURCE, workflows=WORKFLOWS)
    with DevProcess(project, "--port", "0", "--no-reload") as running:
        yield running


@pytest.fixture
def fresh(server: DevProcess) -> DevProcess:
    """The emulator without any instances."""
    server.post("/cdn-cgi/local/stepwell/wipe", {"action": "delete"})
    return server


@dataclass(frozen=True)
class Ran:
    """What a program printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def npm_package() -> Callable[[str], Path]:
    """The folder of an installed npm package; skips where it is not installed."""

    def find(name: str) -> Path:
        folder = NODE_MODULES / name
        if not folder.is_dir():
            pytest.skip(f"the npm package {name} is not installed; install it with: npm ci --prefix fixtures/node")
        return folder

    return find


@pytest.fixture
def run_node(npm_package: Callable[[str], Path], tmp_path: Path) -> Callable[..., Ran]:
    """Runs a script with the node of the tests: wrangler wants a newer one than some machines have."""
    node = npm_package("node") / "bin" / "node"

    def run(*arguments: str | Path, **environment: str) -> Ran:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDFLARE_")}
        done = subprocess.run(
            [str(node), *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            stdin=subprocess.DEVNULL,
            cwd=tmp_path,
            env={**inherited, "HOME": str(tmp_path), **environment},
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
