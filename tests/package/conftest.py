"""The distributions as users get them: built from this checkout, the wheel installed outside of it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel and pytest, in a folder of its own; `dist` holds the wheel and the sdist."""

    folder: Path
    dist: Path

    @property
    def python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    @property
    def stepwell(self) -> Path:
        return self.folder / "venv" / "bin" / "stepwell"

    def run(self, *command: str | Path, cwd: Path) -> str:
        """The output of a command that must succeed; nothing of the checkout is on its path."""
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd,
            env=environment(self.dist),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=200,
        )
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}"
        return done.stdout


def environment(dist: Path) -> dict[str, str]:
    """The environment of a user who finds the built wheel on the package index."""
    ours = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "STEPWELL")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, "PIP_FIND_LINKS": str(dist), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Built and installed once, also when several test processes ask for it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "package"
    shared.mkdir(exist_ok=True)
    made = Installed(shared, shared / "dist")
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "complete").exists():
            build = [sys.executable, "-m", "build", "--outdir", made.dist, ROOT]
            subprocess.run(build, check=True, capture_output=True)
            made.run(sys.executable, "-m", "venv", shared / "venv", cwd=shared)
            made.run(made.python, "-m", "pip", "install", *made.dist.glob("*.whl"), "pytest", cwd=shared)
            (shared / "complete").touch()
    return made
