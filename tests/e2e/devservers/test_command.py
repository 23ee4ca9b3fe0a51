"""`stepwell dev -- COMMAND` without a dev server: what it says, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess, stepwell, until
from tests.e2e.projects import workflow

PYTHON = sys.executable


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., DevProcess]:
    """Runs a command in a project with one Workflow; keywords change its configuration."""

    def start(*command: str, **changes: object) -> DevProcess:
        config = {"name": "shop", "main": "index.js", "compatibility_date": "2026-07-01", "workflows": [workflow()]}
        (tmp_path / "wrangler.jsonc").write_text(json.dumps({**config, **changes}))
        return DevProcess("--port", "0", "--", *command, cwd=tmp_path)

    return start


def test_the_exit_code_is_the_commands(run: Callable[..., DevProcess]) -> None:
    with run(PYTHON, "-c", "raise SystemExit(7)") as process:
        assert process.wait() == 7


def test_a_command_that_does_not_exist_ends_as_in_a_shell(run: Callable[..., DevProcess]) -> None:
    with run("no-such-command") as process:
        assert process.wait() == 127
        assert "no-such-command: not found" in process.output


def test_ctrl_c_reaches_the_command(run: Callable[..., DevProcess]) -> None:
    with run("sh", "-c", "trap 'exit 3' INT; echo up; while :; do sleep 0.05; done") as process:
        process.until_output("^up$")
        process.signal(signal.SIGINT)
        assert process.wait() == 3


def test_output_of_the_command_is_unchanged(run: Callable[..., DevProcess]) -> None:
    with run("sh", "-c", "printf 'one\\n\\033[31mtwo\\033[0m\\n'") as process:
        process.wait()
        assert "one\n\x1b[31mtwo\x1b[0m\n" in process.output


def test_options_of_node_that_the_user_has_set_are_kept(tmp_path: Path) -> None:
    print_it = [PYTHON, "-c", "import os; print(os.environ['NODE_OPTIONS'])"]
    with DevProcess(
        "--port", "0", "--", *print_it, cwd=tmp_path, env={"NODE_OPTIONS": "--stack-size=4000"}
    ) as process:
        process.wait()
        assert "--stack-size=4000 --import=file://" in process.output


def test_a_project_without_workflows_runs_the_command_alone(run: Callable[..., DevProcess]) -> None:
    with run(PYTHON, "-c", "import os; print(os.environ.get('STEPWELL_SESSION'))", workflows=[]) as process:
        assert process.wait() == 0
        assert "wrangler.jsonc declares no Workflows. Running" in process.output
        assert "None\n" in process.output


def test_a_folder_without_a_configuration_is_no_error(tmp_path: Path) -> None:
    with DevProcess("--port", "0", "--", "true", cwd=tmp_path) as process:
        assert process.wait() == 0


def test_the_command_ends_when_stepwell_is_killed(run: Callable[..., DevProcess], tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    with run("sh", "-c", f"trap 'touch {ended}; exit' TERM; echo up; while :; do sleep 0.05; done") as process:
        process.until_output("^up$")
        process.kill()
    until("the command has ended", ended.exists)


def test_env_prints_what_another_terminal_needs(tmp_path: Path) -> None:
    with DevProcess("--port", "0", "--attach", cwd=tmp_path) as process:
        process.url
        shell = f'eval "$({stepwell()} env)"; echo "$NODE_OPTIONS|$STEPWELL_SESSION"'
        done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=True)

        options, _, session = done.stdout.strip().partition("|")
        assert options.startswith("--import=file:///")
        assert Path(session) == tmp_path / ".stepwell" / "session.json"


def test_env_without_a_running_stepwell_says_what_to_start(tmp_path: Path) -> None:
    done = subprocess.run([stepwell(), "env"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "Start `stepwell dev --attach` first." in done.stderr


def test_a_session_that_has_ended_is_not_joined(tmp_path: Path) -> None:
    with DevProcess("--port", "0", "--", "true", cwd=tmp_path) as process:
        process.wait()
    done = subprocess.run([stepwell(), "env"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 1
