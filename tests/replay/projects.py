"""The projects with recorded histories, copied so that a test can edit their code."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from stepwell.emulator.app.replay_command import find_histories, replay_file
from stepwell.emulator.app.replays import Replayer
from stepwell.emulator.config import open_project
from stepwell.emulator.histories.report import ReplayResult

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures" / "histories"
NODE_MODULES = ROOT / "fixtures" / "node" / "node_modules"
MAIN = {"python": "src/entry.py", "typescript": "src/index.ts"}


def copy_project(language: str, folder: Path) -> Path:
    """A copy of the project in a language, with its histories and with Cloudflare's tools."""
    project = folder / language
    shutil.copytree(FIXTURES / language, project)
    if language == "typescript":
        (project / "node_modules").symlink_to(NODE_MODULES)
    return project


def edit(project: Path, old: str, new: str) -> None:
    """Changes the code of a project. The text must be there once."""
    path = project / MAIN[project.name]
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {path.name}"
    path.write_text(text.replace(old, new), encoding="utf-8")


async def replay_project(project: Path) -> Mapping[str, ReplayResult]:
    """What comes of each history of a project, by the id of the instance."""
    opened = open_project(project, environ=os.environ)
    async with Replayer(opened) as replayer:
        return {file.stem: await replay_file(replayer, file) for file in find_histories(opened, [])}
