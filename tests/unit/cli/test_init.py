"""`stepwell init`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stepwell.emulator.cli.init import worker_name
from stepwell.emulator.cli.main import main
from stepwell.emulator.config import load_project


def init(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["init", *map(str, arguments)])


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_new_project_is_a_python_worker(tmp_path: Path) -> None:
    result = init(tmp_path / "shop")

    assert result.exit_code == 0
    assert files(tmp_path / "shop") == {
        ".gitignore",
        ".vscode/launch.json",
        ".vscode/settings.json",
        "AGENTS.md",
        "README.md",
        "pyproject.toml",
        "src/entry.py",
        "tests/test_orders.py",
        "wrangler.jsonc",
    }


def test_the_flag_python_says_what_is_the_default(tmp_path: Path) -> None:
    init(tmp_path / "one")
    init(tmp_path / "two", "--python")

    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_typescript_is_made_on_request(tmp_path: Path) -> None:
    result = init(tmp_path / "shop", "--typescript")

    assert result.exit_code == 0
    assert {"src/index.ts", "package.json", "tsconfig.json", "wrangler.jsonc"} < files(tmp_path / "shop")
    assert json.loads((tmp_path / "shop" / "package.json").read_text())["name"] == "shop"


@pytest.mark.parametrize("language", ["--python", "--typescript"])
def test_the_configuration_is_one_that_we_read_without_a_warning(tmp_path: Path, language: str) -> None:
    init(tmp_path / "shop", language)

    project = load_project(tmp_path / "shop", environ={})

    assert project.config.name == "shop"
    assert project.warnings == ()


def test_without_a_path_it_is_made_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    result = init()

    assert "wrangler.jsonc" in files(tmp_path)
    assert "Run:     stepwell dev\n" in result.output


def test_it_says_what_it_made_and_what_comes_next(tmp_path: Path) -> None:
    result = init(tmp_path / "shop")

    assert result.output.splitlines() == [
        f"Created a Python Worker in {tmp_path / 'shop'}:",
        "  AGENTS.md",
        "  README.md",
        "  .gitignore",
        "  pyproject.toml",
        "  src/entry.py",
        "  tests/test_orders.py",
        "  .vscode/launch.json",
        "  .vscode/settings.json",
        "  wrangler.jsonc",
        f"Run:     stepwell dev {tmp_path / 'shop'}",
        f"Test:    cd {tmp_path / 'shop'} && python -m pytest",
    ]


@pytest.mark.parametrize(
    ("folder", "test_line"),
    [("my shop", "cd 'my shop' && python -m pytest"), ("-shop", "cd ./-shop && python -m pytest")],
)
def test_the_next_commands_can_be_pasted_into_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, test_line: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert init("--", folder).output.splitlines()[-1] == f"Test:    {test_line}"


def test_a_project_in_two_languages_is_refused(tmp_path: Path) -> None:
    result = init(tmp_path / "shop", "--python", "--typescript")

    assert result.exit_code == 2
    assert "Use either --python or --typescript." in result.output
    assert not (tmp_path / "shop").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "wrangler.jsonc").write_text("mine")

    result = init(tmp_path)

    assert result.exit_code == 1
    assert "already contains wrangler.jsonc; nothing was written" in result.output
    assert files(tmp_path) == {"wrangler.jsonc"}
    assert (tmp_path / "wrangler.jsonc").read_text() == "mine"


def test_an_installation_without_templates_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.emulator.cli.init._TEMPLATES", tmp_path / "nothing")

    result = init(tmp_path / "shop")

    assert result.exit_code == 1
    assert "has no templates" in result.output
    assert not (tmp_path / "shop").exists()


def test_files_of_other_names_stay_beside_the_project(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    assert init(tmp_path).exit_code == 0
    assert "notes.txt" in files(tmp_path)


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")

    result = init(tmp_path / "file")

    assert result.exit_code == 1
    assert "Can't write to" in result.output


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may write everywhere")
def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)

    result = init(tmp_path / "shop")

    tmp_path.chmod(0o700)
    assert result.exit_code == 1
    assert "Permission denied" in result.output


@pytest.mark.parametrize(
    ("folder", "name"),
    [("shop", "shop"), ("My Shop_2", "my-shop-2"), ("--x--", "x"), ("ÄÖ", "my-worker"), ("a" * 80, "a" * 63)],
)
def test_the_worker_is_called_after_the_folder(folder: str, name: str) -> None:
    assert worker_name(Path(folder)) == name


def test_the_types_are_of_the_version_that_the_pinned_wrangler_wants_beside_it(tmp_path: Path) -> None:
    init(tmp_path / "shop", "--typescript")
    made = json.loads((tmp_path / "shop" / "package.json").read_text())["devDependencies"]
    lock = json.loads((Path(__file__).parents[3] / "fixtures" / "node" / "package-lock.json").read_text())
    wrangler = lock["packages"]["node_modules/wrangler"]

    for package, wanted in wrangler["peerDependencies"].items():
        assert wanted.partition(".")[0] in made[package].split(" || "), "else `npm install` rejects the project"
