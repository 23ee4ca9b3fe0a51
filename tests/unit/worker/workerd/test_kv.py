"""Scripts of Miniflare that are not known here are not used: workerd's own KV takes their place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stepwell.emulator.worker.workerd.kv import WranglersKv
from tests.javascript.conftest import NODE_MODULES

SCRIPTS = (
    "shared/object-entry.worker.js",
    "kv/namespace.worker.js",
    "shared/index.worker.js",
    "shared/zod.worker.js",
)


@pytest.fixture
def miniflare(tmp_path: Path) -> Path:
    """A copy of the scripts of the installed Miniflare."""
    source = NODE_MODULES / "miniflare" / "dist" / "src" / "workers"
    if not source.is_dir():
        pytest.skip("Miniflare is not installed")
    for script in SCRIPTS:
        target = tmp_path / "dist" / "src" / "workers" / script
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / script, target)
    return tmp_path


def change(miniflare: Path, script: str, old: str, new: str) -> None:
    file = miniflare / "dist" / "src" / "workers" / script
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_the_scripts_of_the_installed_miniflare_are_used(miniflare: Path) -> None:
    assert WranglersKv.of(miniflare) is not None


def test_without_miniflare_there_is_nothing_to_use() -> None:
    assert WranglersKv.of(None) is None


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_missing_script_is_not_used(miniflare: Path, script: str) -> None:
    (miniflare / "dist" / "src" / "workers" / script).unlink()

    assert WranglersKv.of(miniflare) is None


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(
    "line",
    [
        'import { x } from "miniflare:storage";',
        'import "miniflare:setup";',
        "export * from './other.worker.js';",
        'const x = await import("miniflare:late");',
    ],
)
def test_a_script_that_imports_what_is_not_given_to_it_is_not_used(miniflare: Path, script: str, line: str) -> None:
    file = miniflare / "dist" / "src" / "workers" / script
    file.write_text(f"{line}\n{file.read_text()}")

    assert WranglersKv.of(miniflare) is None


def test_modules_of_the_runtime_may_be_imported(miniflare: Path) -> None:
    file = miniflare / "dist" / "src" / "workers" / SCRIPTS[0]
    file.write_text(f'import {{ env }} from "cloudflare:workers";\n{file.read_text()}')

    assert WranglersKv.of(miniflare) is not None


def test_an_object_of_another_name_is_not_used(miniflare: Path) -> None:
    change(miniflare, "kv/namespace.worker.js", "KVNamespaceObject", "KeyValueObject")

    assert WranglersKv.of(miniflare) is None
