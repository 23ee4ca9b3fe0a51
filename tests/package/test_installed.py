"""The installed wheel, used without the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.markdown import blocks
from tests.docs.sessions import commands, follow
from tests.e2e.process import DevProcess, until
from tests.package.conftest import ROOT, Installed, environment

README = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
NODE_MODULES = ROOT / "fixtures" / "node" / "node_modules"
needs_node_modules = pytest.mark.skipif(
    not (NODE_MODULES / "workerd").is_dir(), reason="fixtures/node is not installed: npm ci --prefix fixtures/node"
)


@pytest.fixture
def shop(installed: Installed, tmp_path: Path) -> Path:
    installed.run(installed.stepwell, "init", "shop", cwd=tmp_path)
    return tmp_path / "shop"


@pytest.fixture
def server(installed: Installed, shop: Path) -> Iterator[DevProcess]:
    with DevProcess(shop, "--port", "0", env=environment(installed.dist), command=installed.stepwell) as running:
        yield running


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_readme_works_word_for_word(installed: Installed, tmp_path: Path) -> None:
    start, tests = (block.text for block in README if block.language == "sh" and "-e '.[test]'" not in block.text)
    install, _, dev = start.rpartition(" && ")
    installed.run("bash", "-c", install, cwd=tmp_path)
    executable, verb, project = dev.split()
    assert verb == "dev"

    env = {**environment(installed.dist), "STEPWELL_PORT": "0"}
    with DevProcess(project, cwd=tmp_path, env=env, command=tmp_path / executable) as running:
        for block in README:
            for command in commands(block.text) if block.language == "console" else ():
                follow(command, running, str(tmp_path / executable))
        assert running.http.get("/__dashboard").is_success

    assert "3 passed" in installed.run("bash", "-c", tests, cwd=tmp_path)


def test_the_tests_of_a_new_project_pass(installed: Installed, shop: Path) -> None:
    assert "3 passed" in installed.run(installed.python, "-m", "pytest", cwd=shop)
    assert "3 passed" in installed.run(installed.python, "-m", "pytest", cwd=shop / "tests")


@needs_node_modules
def test_a_new_typescript_project_runs_and_its_tests_pass(installed: Installed, tmp_path: Path) -> None:
    installed.run(installed.stepwell, "init", "shop", "--typescript", cwd=tmp_path)
    os.symlink(NODE_MODULES, tmp_path / "shop" / "node_modules")

    assert "3 passed" in installed.run(installed.python, "-m", "pytest", cwd=tmp_path / "shop")
    arguments = (tmp_path / "shop", "--port", "0")
    with DevProcess(*arguments, env=environment(installed.dist), command=installed.stepwell) as running:
        running.post("/orders", {"id": "o-1", "cents": 4500})
        running.post("/orders/o-1/approval", {"approved": True})
        running.advance(3_600_000)
        until("complete", lambda: running.get("/orders/o-1")["status"] == "complete")


def test_pages_of_the_dashboard_come_with_their_assets(server: DevProcess) -> None:
    server.post("/orders", {"id": "o-1", "cents": 4500})
    pages = [
        server.http.get(f"/__dashboard{path}")
        for path in ("", "/workflows", "/workflows/orders/instances/o-1", "/clock")
    ]

    assets = {
        asset for page in pages for asset in re.findall(r'(?:href|src)="(/__dashboard/static/[^"]+)"', page.text)
    }

    assert [page.status_code for page in pages] == [200] * len(pages)
    assert len(assets) >= 3
    assert {asset: server.http.get(asset).status_code for asset in assets} == dict.fromkeys(assets, 200)


def test_the_contract_suite_is_in_the_wheel(installed: Installed, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    installed.run(installed.stepwell, "contract", "--only", "sleep", "--json", report, cwd=tmp_path)

    assert json.loads(report.read_text(encoding="utf-8"))


def test_the_pytest_plugin_works_in_a_foreign_project(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "test_flow.py").write_text(
        "from stepwell.testing import WorkflowEntrypoint\n\n"
        "class Flow(WorkflowEntrypoint):\n"
        "    async def run(self, event, step):\n"
        "        await step.sleep('a year', '1 year')\n"
        "        return 42\n\n"
        "async def test_a_year(workflows, auto_advance):\n"
        "    workflows.define(Flow)\n"
        "    assert await (await workflows.FLOW.create()).result() == 42\n",
        encoding="utf-8",
    )

    assert "1 passed" in installed.run(installed.python, "-m", "pytest", cwd=tmp_path)
