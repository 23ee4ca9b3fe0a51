"""Tests in vitest: Workflows run in Stepwell, and Cloudflare's introspection API changes them."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.devservers.conftest import needs_node
from tests.e2e.devservers.tools import copy_project, tool_environment
from tests.e2e.process import DevProcess

pytestmark = needs_node


def run_tests(folder: Path) -> DevProcess:
    return DevProcess("--port", "0", "--", "npm", "test", cwd=folder, env=tool_environment())


def test_a_suite_passes_unchanged_and_again(tmp_path: Path) -> None:
    folder = copy_project("vitest", tmp_path / "vitest", "tools-vitest")

    for _ in range(2):  # the second run meets nothing of the first
        with run_tests(folder) as process:
            process.until_output(r"Tests +\d", 60)
            assert process.wait() == 0, process.output
        assert "5 passed (5)" in process.output
