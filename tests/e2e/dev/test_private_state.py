"""The state folder holds what instances work with: nobody but its owner may read it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.e2e.process import DevProcess

FLOW = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        return 1
"""
Project = Callable[..., Path]
Start = Callable[..., DevProcess]


def readable_by_others(folder: Path) -> list[str]:
    return [path.name for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


def test_the_state_folder_and_its_files_are_their_owners_alone(dev: Start, project: Project) -> None:
    folder = project(FLOW)
    server = dev(folder, "--persist-to", str(folder / ".stepwell"))
    server.create("flow", "one")
    server.until_status("flow", "one", "complete")

    assert readable_by_others(folder / ".stepwell") == []


def test_a_state_folder_of_an_earlier_version_is_closed_to_others(dev: Start, project: Project) -> None:
    folder = project(FLOW)
    server = dev(folder, "--persist-to", str(folder / ".stepwell"))
    assert server.url
    server.stop()
    state = folder / ".stepwell"
    state.chmod(0o755)
    for file in state.iterdir():
        file.chmod(0o644)

    assert dev(folder, "--persist-to", str(folder / ".stepwell")).url

    assert readable_by_others(state) in ([], [".gitignore"])


def test_a_folder_that_the_user_made_keeps_its_permissions(dev: Start, project: Project, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    (shared / "notes.txt").write_text("mine")
    os.chmod(shared / "notes.txt", 0o644)

    assert dev(project(FLOW), "--persist-to", str(shared)).url

    assert shared.stat().st_mode & 0o777 == 0o755
    assert (shared / "stepwell.sqlite").stat().st_mode & 0o777 == 0o600
    assert (shared / "notes.txt").stat().st_mode & 0o777 == 0o644
