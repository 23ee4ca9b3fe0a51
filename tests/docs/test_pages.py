"""The documentation as text: its links, its tables, its lists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest

from stepwell.emulator.cli.main import main
from tests.docs.markdown import ROOT, blocks, first_cells, links, pages
from tests.docs.tables import TABLES, filled

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [target for target in links(page.read_text(encoding="utf-8")) if not (page.parent / target).exists()]

    assert missing == []


@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_what_the_code_says(name: str) -> None:
    path, table = TABLES[name]
    page = path.read_text(encoding="utf-8")

    assert page == filled(page, name, table()), "run: python -m tests.docs --write"


def test_every_page_is_linked_from_the_readme() -> None:
    linked = set(links(README))

    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= linked


def test_every_dependency_has_its_reason_in_the_contributing_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[<>=]", dependency)[0] for dependency in project["dependencies"]}

    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    explained = {name.strip() for cell in first_cells(page, "Dependencies") for name in cell.split(",")}

    assert explained == declared


def test_the_readme_lists_the_commands() -> None:
    assert isinstance(main, click.Group)
    listed = {cell.split()[1].strip("`") for cell in first_cells(README, "Commands")}

    assert listed == set(main.list_commands(click.Context(main)))


def test_ci_runs_the_command_of_the_readme() -> None:
    (tests,) = (block.text for block in blocks(README) if "-e '.[test]'" in block.text)

    assert tests.startswith("python3 -m venv .venv && ")
    assert tests.endswith(".venv/bin/python -m pytest")
    assert """grep -m1 -F -e "-e '.[test]'" README.md""" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_test_in_the_readme_is_the_one_that_init_writes() -> None:
    (shown,) = (block.text for block in blocks(README) if block.language == "python")
    templates = ROOT / "emulator" / "cli" / "templates"
    written = (templates / "python" / "tests" / "test_orders.py").read_text(encoding="utf-8")

    assert written.startswith(shown)
