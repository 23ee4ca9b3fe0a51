"""The dev servers of the tests, installed from npm once."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
PROJECTS: Final = FIXTURES / "devservers"
#: Node of the tests: the tools want a newer one than some machines have.
NODE: Final = FIXTURES / "node" / "node_modules" / ".bin"


@functools.cache
def installed(name: str = "tools") -> Path:
    """`node_modules` of a folder in `fixtures/devservers`; skips the test when npm can't install it."""
    folder = PROJECTS / name
    modules = folder / "node_modules"
    with (folder / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other processes of the tests install it as well
        if not (modules / ".package-lock.json").is_file():
            _install(folder)
    return modules


def _install(folder: Path) -> None:
    npm = shutil.which("npm", path=_path())
    if npm is None:
        pytest.skip("npm is not installed")
    # Without a lock file: not every mirror has all optional dependencies of Vite, which `npm ci` demands.
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"]
    command = [npm, "install", *options, "--prefix", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=tool_environment())
    if done.returncode != 0:
        pytest.skip(f"npm can't install the dev servers: {done.stderr.strip()[-300:]}")


def _path() -> str:
    return os.pathsep.join([str(NODE), os.environ.get("PATH", "")])


def tool_environment() -> dict[str, str]:
    """The environment in which dev servers run: without a network, and with Node of the tests."""
    quiet = {"CLOUDFLARE_CF_FETCH_ENABLED": "false", "WRANGLER_SEND_METRICS": "false", "NO_COLOR": "1"}
    return {**os.environ, **quiet, "PATH": _path()}


def copy_project(name: str, to: Path, tools: str = "tools") -> Path:
    """A copy of a project of the fixtures, with its tools."""
    modules = installed(tools)
    shutil.copytree(PROJECTS / name, to)
    (to / "node_modules").symlink_to(modules, target_is_directory=True)
    return to
