"""Which virtual environment belongs to a project, and what becomes of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stepwell.emulator.app.project_environment import find_environment, use_environment

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
#: A package that Stepwell needs, in a version that is too old for it.
OLD = ("starlette", "0.1.0")


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "STEPWELL_STARTED_FOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))


def environment(folder: Path, *packages: tuple[str, str], version: str = f"{HERE}.1") -> Path:
    """Writes a virtual environment with packages, each of a module of its name."""
    minor = ".".join(version.split(".")[:2])
    site = folder / "lib" / f"python{minor}" / "site-packages"
    site.mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {version}\n")
    for name, number in packages:
        info = site / f"{name}-{number}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
        (site / f"{name}.py").write_text(f"VERSION = {number!r}\n")
    return site


def used(project: Path) -> list[str]:
    return use_environment(find_environment(project))


def test_packages_of_the_project_come_before_stepwells_own(tmp_path: Path) -> None:
    site = environment(tmp_path / ".venv", ("only_here", "1.0"))

    (line,) = used(tmp_path)

    ours = next(index for index, entry in enumerate(sys.path) if entry.endswith("site-packages"))
    assert sys.path[ours] == str(site)
    assert line == f"Python {sys.version.split()[0]} ({sys.executable}) with the packages of {tmp_path / '.venv'}."


def test_stepwells_packages_come_first_where_a_project_has_one_that_is_too_old(tmp_path: Path) -> None:
    site = environment(tmp_path / ".venv", OLD)

    (line,) = used(tmp_path)

    assert sys.path[-1] == str(site)
    assert "starlette 0.1.0 is not >=" in line
    assert line.endswith(f"{tmp_path / '.venv/bin/python'} -m stepwell dev")


def test_what_its_pth_files_name_is_importable(tmp_path: Path) -> None:
    site = environment(tmp_path / ".venv", ("only_here", "1.0"))
    (site / "editable.pth").write_text(f"{tmp_path}\n")

    used(tmp_path)

    assert str(tmp_path) in sys.path


@pytest.mark.parametrize("version", ["3.99.1", "3.10.4", ""])
def test_packages_for_another_python_are_not_used_and_the_line_says_what_to_type(
    tmp_path: Path, version: str
) -> None:
    environment(tmp_path / ".venv", ("only_here", "1.0"), version=version or "3.0")
    if not version:
        (tmp_path / ".venv" / "pyvenv.cfg").write_text("")
    before = list(sys.path)

    (line,) = used(tmp_path)

    assert sys.path == before
    assert f"Stepwell runs with Python {HERE} ({sys.executable})" in line
    assert line.endswith("-m pip install stepwell && " + f"{tmp_path / '.venv/bin/python'} -m stepwell dev")


def test_a_python_that_is_too_old_for_stepwell_is_to_be_replaced_first(tmp_path: Path) -> None:
    environment(tmp_path / ".venv", ("only_here", "1.0"), version="3.9.2")

    (line,) = used(tmp_path)

    assert "Recreate it with Python 3.11 or later" in line


def test_a_uv_project_is_told_the_commands_of_uv(tmp_path: Path) -> None:
    environment(tmp_path / ".venv", ("only_here", "1.0"), version="3.99.0")
    (tmp_path / "uv.lock").touch()

    (line,) = used(tmp_path)

    assert line.endswith("uv add --dev stepwell && uv run stepwell dev")


def test_a_build_without_the_gil_is_another_python(tmp_path: Path) -> None:
    site = environment(tmp_path / ".venv", ("only_here", "1.0"))
    site.parent.rename(site.parents[1] / f"python{HERE}t")

    (line,) = used(tmp_path)

    assert "are not used" in line


@pytest.mark.parametrize("packages", [(), (("pip", "24.0"),)])
def test_an_environment_without_packages_is_not_worth_a_line(tmp_path: Path, packages: tuple[object, ...]) -> None:
    environment(tmp_path / ".venv", *packages)

    assert used(tmp_path) == []


def test_the_environment_that_runs_is_not_worth_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment(tmp_path / ".venv", ("only_here", "1.0"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))

    assert used(tmp_path) == []


def test_a_workspace_has_its_environment_at_the_root_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    environment(tmp_path / ".venv")
    project = tmp_path / "packages" / "worker"
    project.mkdir(parents=True)

    assert find_environment(project).folder == tmp_path / ".venv"


def test_environments_outside_of_the_repository_are_not_the_projects(tmp_path: Path) -> None:
    environment(tmp_path / ".venv")
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)

    assert find_environment(project) is None


@pytest.mark.parametrize("variable", ["UV_PROJECT_ENVIRONMENT", "VIRTUAL_ENV"])
def test_environments_that_are_named_by_a_variable_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    environment(tmp_path / "elsewhere")
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))

    assert find_environment(tmp_path / "project").folder == tmp_path / "elsewhere"


def test_the_projects_own_environment_counts_before_the_active_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(tmp_path / ".venv")
    environment(tmp_path / "active")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))

    assert find_environment(tmp_path).folder == tmp_path / ".venv"
