"""Which projects are told of `stepwell dev -- COMMAND`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepwell.emulator.app.dev_hint import dev_server_hint


def hint(folder: Path, script: object, lock: str | None = None) -> str | None:
    (folder / "package.json").write_text(json.dumps({"scripts": {"dev": script}}))
    if lock is not None:
        (folder / lock).touch()
    return dev_server_hint(folder)


@pytest.mark.parametrize(
    "script",
    ["vite", "vite dev --port 3000", "astro dev", "NODE_ENV=test react-router dev", "npm run gen && next dev"],
)
def test_a_framework_is_named(tmp_path: Path, script: str) -> None:
    assert '"stepwell dev -- npm run dev"' in (hint(tmp_path, script) or "")


@pytest.mark.parametrize("script", ["wrangler dev", "vite build && wrangler dev", "node invite.js", 3, None])
def test_other_commands_are_not(tmp_path: Path, script: object) -> None:
    assert hint(tmp_path, script) is None


def test_the_package_manager_is_the_projects(tmp_path: Path) -> None:
    assert "stepwell dev -- pnpm run dev" in (hint(tmp_path, "vite", "pnpm-lock.yaml") or "")


def test_a_project_without_a_package_json_is_not_told_anything(tmp_path: Path) -> None:
    assert dev_server_hint(tmp_path) is None
