"""Configurations of JavaScript Workers, read as the emulator reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepwell.emulator.config import load_project
from stepwell.emulator.config.model import WorkerConfig

MakeConfig = Callable[..., WorkerConfig]


@pytest.fixture
def make_config(tmp_path: Path) -> MakeConfig:
    """`make_config(name="shop", kv_namespaces=[...])`: a project with these keys beside the necessary ones."""

    def make(name: str = "shop", **keys: Any) -> WorkerConfig:
        folder = tmp_path / name
        (folder / "src").mkdir(parents=True, exist_ok=True)
        (folder / "src" / "index.ts").write_text("export default {};\n")
        raw = {"name": name, "main": "src/index.ts", "compatibility_date": "2026-07-01", **keys}
        (folder / "wrangler.json").write_text(json.dumps(raw))
        return load_project(folder, environ={}).config

    return make
