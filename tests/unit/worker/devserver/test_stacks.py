"""Stacks from dev servers, as the dashboard and the log show them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stepwell.emulator.worker.devserver.projects import project_of
from stepwell.emulator.worker.devserver.stacks import DevServerStacks
from tests.unit.worker.devserver.test_projects import hosted


def stacks(folder: Path) -> DevServerStacks:
    config = project_of(hosted(folder), None, None, {}).config
    return DevServerStacks(replace(config, main=folder / "src" / "index.ts"))


def test_frames_of_stepwell_are_left_out(tmp_path: Path) -> None:
    ours = "    at Pass.callback (stepwell/steps.mjs:64:23)\n    at f (stepwell:bridge:1:2)"
    stack = f"Error: no\n    at run (/x/a.ts:1:2)\n{ours}"

    assert stacks(tmp_path).text(stack) == "Error: no\n    at run (/x/a.ts:1:2)"


def test_files_of_the_project_are_shown_relative_to_it(tmp_path: Path) -> None:
    stack = f"Error: no\n    at run ({tmp_path}/src/a.ts:1:2)\n    at file://{tmp_path}/src/b.ts:3:4"

    assert stacks(tmp_path).text(stack) == "Error: no\n    at run (src/a.ts:1:2)\n    at src/b.ts:3:4"


def test_a_message_that_names_a_file_is_left_alone(tmp_path: Path) -> None:
    assert stacks(tmp_path).text(f"Error: {tmp_path}/x is missing") == f"Error: {tmp_path}/x is missing"
