from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from stepwell.emulator.config import ConfigError, Project, load_project

MINIMAL = {"name": "w", "main": "src/index.js", "compatibility_date": "2026-07-01"}

WriteProject = Callable[..., Path]
Load = Callable[..., Project]
Refusal = Callable[..., ConfigError]


@pytest.fixture
def write_project(tmp_path: Path) -> WriteProject:
    """Writes a project: the minimal configuration with the given keys, entry files, and other files by name."""

    def write(
        config: Mapping[str, object] | str | None = None, *, files: Mapping[str, str] | None = None, **keys: object
    ) -> Path:
        text = config if isinstance(config, str) else json.dumps({**MINIMAL, **(config or {}), **keys})
        for name, content in {
            "src/index.js": "",
            "src/entry.py": "",
            "wrangler.jsonc": text,
            **(files or {}),
        }.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path

    return write


@pytest.fixture
def load(write_project: WriteProject) -> Load:
    """Writes a project and loads it; `env_name` and `environ` go to the loader, other names are configuration."""

    def load(
        config: Mapping[str, object] | str | None = None,
        *,
        files: Mapping[str, str] | None = None,
        env_name: str | None = None,
        environ: Mapping[str, str] | None = None,
        **keys: object,
    ) -> Project:
        folder = write_project(config, files=files, **keys)
        return load_project(folder, env_name=env_name, environ=environ or {})

    return load


@pytest.fixture
def refusal(load: Load) -> Refusal:
    """The error with which a project is refused."""

    def refusal(config: Mapping[str, object] | str | None = None, **keys: object) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            load(config, **keys)
        return caught.value

    return refusal


@pytest.fixture
def errors(refusal: Refusal) -> Callable[..., list[str]]:
    """The texts of the errors of a project."""
    return lambda config=None, **keys: [problem.text for problem in refusal(config, **keys).errors]


@pytest.fixture
def warnings(load: Load) -> Callable[..., list[str]]:
    """The texts of the warnings of a project that loads."""
    return lambda config=None, **keys: [problem.text for problem in load(config, **keys).warnings]
