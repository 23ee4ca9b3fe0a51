"""Calls from a JavaScript Worker to the engine, run by Node."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")


@pytest.mark.parametrize(
    "check",
    [
        "a request that found its connection closed is sent again",
        "an engine that is gone is told after the second time",
        "many calls at once take turns",
    ],
)
def test_bridge(check: str) -> None:
    command = ["node", Path(__file__).parent / "bridge_check.mjs", check]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("ok", 0), done.stderr
