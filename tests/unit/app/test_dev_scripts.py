"""Which commands are runs of tests, whose state is new each time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepwell.emulator.app.dev_hint import runs_vitest


@pytest.mark.parametrize("command", ["npx vitest run", "npm test", "npm t", "pnpm run check", "yarn check"])
def test_vitest_is_found_in_the_command_and_in_its_script(tmp_path: Path, command: str) -> None:
    scripts = {"test": "vitest run", "check": "tsc && vitest", "dev": "vite"}
    (tmp_path / "package.json").write_text(json.dumps({"scripts": scripts}))

    assert runs_vitest(command.split(), tmp_path)


@pytest.mark.parametrize("command", ["npm run dev", "npm", "node test.js", "pnpm -r dev"])
def test_a_dev_server_is_no_run_of_tests(tmp_path: Path, command: str) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"scripts": {"test": "vitest run", "dev": "vite"}}))

    assert not runs_vitest(command.split(), tmp_path)
