from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest

from stepwell.emulator.worker.workerd.toolchain import find_toolchain


@pytest.fixture(autouse=True)
def _linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", "/nowhere")


def _file(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def _package(modules: Path, name: str, **extra: object) -> Path:
    _file(modules / name / "package.json", json.dumps({"name": name, **extra}))
    return modules / name


def test_the_native_program_of_the_platform_is_taken(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules"
    _package(modules, "workerd")
    binary = _file(modules / "@cloudflare" / "workerd-linux-64" / "bin" / "workerd")

    assert find_toolchain(tmp_path).workerd == binary


def test_folders_above_the_project_are_searched(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules"
    _package(modules, "esbuild")
    binary = _file(modules / "@esbuild" / "linux-x64" / "bin" / "esbuild")
    project = tmp_path / "packages" / "worker"
    project.mkdir(parents=True)

    assert find_toolchain(project).esbuild == binary


def test_tools_beside_a_linked_wrangler_are_found(tmp_path: Path) -> None:
    store = tmp_path / "store" / "node_modules"
    _package(store, "wrangler", bin={"wrangler": "bin/wrangler.js"})
    _package(store, "workerd")
    binary = _file(store / "@cloudflare" / "workerd-linux-64" / "bin" / "workerd")
    project = tmp_path / "project"
    (project / "node_modules").mkdir(parents=True)
    (project / "node_modules" / "wrangler").symlink_to(store / "wrangler")

    found = find_toolchain(project)

    assert found.workerd == binary
    assert found.wrangler == store / "wrangler" / "bin" / "wrangler.js"


def test_programs_on_path_are_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _file(tmp_path / "bin" / "workerd")
    monkeypatch.setenv("PATH", str(program.parent))

    assert find_toolchain(tmp_path / "project").workerd == program


def test_a_node_of_the_project_comes_before_that_of_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(_file(tmp_path / "bin" / "node").parent))
    own = _file(tmp_path / "node_modules" / ".bin" / "node")

    assert find_toolchain(tmp_path).node == own


@pytest.mark.parametrize(("schema", "bundled"), [("bundled :Text; # /workerd/kv.js", True), ("older", False)])
def test_the_schema_tells_whether_workerd_brings_its_own_workers(
    tmp_path: Path, schema: str, bundled: bool
) -> None:
    package = _package(tmp_path / "node_modules", "workerd")
    _file(package / "workerd.capnp", schema)

    assert find_toolchain(tmp_path).bundled is bundled


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    found = find_toolchain(tmp_path)

    assert (found.workerd, found.wrangler, found.esbuild, found.node) == (None, None, None, None)


def test_the_schema_beside_workerd_says_what_it_can_log(tmp_path: Path) -> None:
    package = _package(tmp_path / "node_modules", "workerd")

    for schema, can in (("struct Config {}", False), ("structuredLogging @5 :Bool = false;", True)):
        _file(package / "workerd.capnp", schema)
        assert find_toolchain(tmp_path).structured_logs is can


def test_the_version_of_workerd_says_the_newest_compatibility_date(tmp_path: Path) -> None:
    _package(tmp_path / "node_modules", "workerd", version="1.20250712.0")

    assert find_toolchain(tmp_path).newest_date == "2025-07-12"


def test_without_a_package_of_workerd_no_newest_date_is_known(tmp_path: Path) -> None:
    assert find_toolchain(tmp_path).newest_date is None


@pytest.fixture
def global_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`npm install --global wrangler`: packages below lib, and links to their programs on PATH."""
    modules = tmp_path / "prefix" / "lib" / "node_modules"
    wrangler = _package(modules, "wrangler", bin={"wrangler": "bin/wrangler.js"})
    script = _file(wrangler / "bin" / "wrangler.js")
    workerd = _package(wrangler / "node_modules", "workerd", version="1.20261117.0")
    _file(workerd / "workerd.capnp", "bundled :Text; # /workerd/kv.js structuredLogging")
    _file(wrangler / "node_modules" / "@cloudflare" / "workerd-linux-64" / "bin" / "workerd")
    on_path = tmp_path / "prefix" / "bin"
    on_path.mkdir()
    (on_path / "wrangler").symlink_to(script)
    monkeypatch.setenv("PATH", str(on_path))
    return modules


def test_a_global_wrangler_brings_its_workerd_and_what_that_can_do(tmp_path: Path, global_modules: Path) -> None:
    found = find_toolchain(tmp_path / "project")

    own = global_modules / "wrangler" / "node_modules" / "@cloudflare" / "workerd-linux-64" / "bin" / "workerd"
    assert found.wrangler == global_modules / "wrangler" / "bin" / "wrangler.js"
    assert (found.workerd, found.bundled, found.newest_date) == (own, True, "2026-11-17")


def test_the_script_that_pnpm_writes_on_path_leads_to_the_package(
    tmp_path: Path, global_modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '#!/bin/sh\nexec node "$basedir/../prefix/lib/node_modules/wrangler/bin/wrangler.js" "$@"\n'
    monkeypatch.setenv("PATH", str(_file(tmp_path / "pnpm" / "wrangler", text).parent))

    found = find_toolchain(tmp_path / "project")

    assert found.wrangler == global_modules / "wrangler" / "bin" / "wrangler.js"
    assert found.newest_date == "2026-11-17"


def test_a_workerd_without_its_package_is_asked_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "#!/bin/sh\necho workerd 2026-11-17\n# /workerd/kv.js structuredLogging\n"
    monkeypatch.setenv("PATH", str(_file(tmp_path / "bin" / "workerd", text).parent))

    found = find_toolchain(tmp_path / "project")

    assert (found.bundled, found.structured_logs, found.newest_date) == (True, True, "2026-11-17")
