"""The only import name that Stepwell adds is `stepwell`: a project's own `bindings` and `emulator` stay its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.running import run_pytest, write_worker

NAMES = ("bindings", "emulator", "config", "tests")
TEST = """
import bindings, config, emulator, tests

async def test_own_modules_and_workflows(workflows):
    assert [module.OWNER for module in (bindings, config, emulator, tests)] == ["project"] * 4
    instance = await workflows.FLOW.create(params={"n": 21})
    assert await instance.result() == 21
"""


def write_project(folder: Path, modules: str) -> None:
    write_worker(folder)
    (folder / modules).mkdir(exist_ok=True)
    for name in NAMES:
        (folder / modules / f"{name}.py").write_text('OWNER = "project"\n', encoding="utf-8")
    (folder / "test_names.py").write_text(TEST, encoding="utf-8")


@pytest.mark.parametrize(
    ("modules", "ini", "environment"),
    [
        (".", "", {}),
        (".", "addopts = --import-mode=importlib\npythonpath = .\n", {}),
        ("src", "pythonpath = src\n", {}),
        ("src", "", {"PYTHONPATH": "src"}),
    ],
    ids=["working directory", "importlib mode", "pythonpath = src", "PYTHONPATH=src"],
)
def test_a_project_may_call_its_modules_bindings_and_emulator(
    tmp_path: Path, modules: str, ini: str, environment: dict[str, str]
) -> None:
    write_project(tmp_path, modules)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{ini}", encoding="utf-8")

    result = run_pytest(tmp_path, env=environment)

    assert result.cases["test_own_modules_and_workflows"].outcome == "passed", result.output
