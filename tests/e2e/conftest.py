"""Fixtures of the tests that run `stepwell dev` as a process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import write_project

WORKERS = Path(__file__).parents[2] / "fixtures" / "workers"


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Callable[..., DevProcess]]:
    """Starts `stepwell dev` on a free port with its state in the test's folder; ends what it started."""
    with contextlib.ExitStack() as running:

        def start(project: Path, *arguments: str | Path, **options: Any) -> DevProcess:
            state = () if "--persist-to" in arguments else ("--persist-to", tmp_path / "state")
            return running.enter_context(DevProcess(project, "--port", "0", *state, *arguments, **options))

        yield start


@pytest.fixture
def sample(dev: Callable[..., DevProcess]) -> Callable[..., DevProcess]:
    """Starts one of the sample Workers by its name."""
    return lambda name, *arguments: dev(WORKERS / name, *arguments)


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """Writes a project of the test's own: the source of its entry, and changes to the usual configuration."""
    return lambda source, **changes: write_project(tmp_path / "project", source, **changes)
