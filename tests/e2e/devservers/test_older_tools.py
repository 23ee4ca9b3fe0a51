"""The oldest dev servers that are supported, with Miniflare 4. Only with `--older-dev-servers`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.devservers.conftest import COMMANDS, DevServer, needs_node
from tests.e2e.devservers.tools import copy_project

pytestmark = needs_node


@pytest.fixture(autouse=True)
def _only_on_request(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--older-dev-servers"):
        pytest.skip("pass --older-dev-servers to run older tools too")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_workflow_runs_and_goes_on_after_an_edit(command: str, tmp_path: Path) -> None:
    folder = copy_project("shop", tmp_path / "shop", "tools-oldest")
    config = folder / "wrangler.jsonc"
    config.write_text(config.read_text().replace("2026-07-01", "2026-03-01"))  # the newest that they know

    with DevServer(folder, tmp_path / "state", COMMANDS[command]) as server:
        server.create("edited", slow=3000)
        server.until_step("edited", "slow")
        server.edit("src/steps.ts", 'VERSION = "first"', 'VERSION = "second"')

        assert server.finished("edited")["output"] == {"first": "first", "last": "second"}
