"""Every recipe of docs/testing.md is run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, Block, blocks
from tests.plugin.running import Result, run_pytest

PAGE = ROOT / "docs" / "testing.md"
BLOCKS = blocks(PAGE.read_text(encoding="utf-8"))
ENTRY, FAILS = "# src/entry.py", "# fails"


def of(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


def recipes(*, failing: bool) -> list[Block]:
    found = [block for block in of("python") if not block.text.startswith(ENTRY)]
    return [block for block in found if block.text.startswith(FAILS) is failing]


def write_project(folder: Path) -> Path:
    (entry,) = (block for block in of("python") if block.text.startswith(ENTRY))
    (config,) = of("json")
    (settings,) = of("toml")
    (folder / "src").mkdir()
    (folder / "src" / "entry.py").write_text(entry.text, encoding="utf-8")
    (folder / "wrangler.json").write_text(config.text, encoding="utf-8")
    (folder / "pyproject.toml").write_text(settings.text + "\nfilterwarnings = ['error']\n", encoding="utf-8")
    (folder / "tests").mkdir()
    for block in [*recipes(failing=False), *recipes(failing=True)]:
        (folder / "tests" / f"test_line_{block.line}.py").write_text(block.text + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run_pytest(write_project(tmp_path_factory.mktemp("recipes")), "-q")


def names_in(block: Block) -> list[str]:
    return re.findall(r"^(?:async )?def (test_\w+)", block.text, re.MULTILINE)


@pytest.mark.parametrize("block", recipes(failing=False), ids=lambda block: f"line {block.line}")
def test_a_recipe_works_as_it_stands_there(block: Block, result: Result) -> None:
    names = names_in(block)

    assert names
    assert {name: result.cases[name].outcome for name in names} == dict.fromkeys(names, "passed"), result.output


def test_a_failure_says_what_the_page_shows(result: Result) -> None:
    (block,) = recipes(failing=True)
    (shown,) = of("text")
    (name,) = names_in(block)
    said = result.cases[name].text

    assert result.cases[name].outcome == "failed"
    at = 0
    for line in shown.text.splitlines():
        if line != "...":
            assert line in said[at:], f"{line!r} is not in\n{said}"
            at = said.index(line, at) + len(line)


def test_every_example_is_of_a_kind_that_is_tried() -> None:
    assert {block.language for block in BLOCKS} == {"python", "json", "text", "toml"}


def test_no_two_recipes_have_the_same_name() -> None:
    names = [name for block in of("python") for name in names_in(block)]

    assert len(names) == len(set(names))


def test_the_page_names_every_point_and_every_keyword() -> None:
    from stepwell.emulator.engine.introspection import Point
    from stepwell.emulator.testing.markers import KEYWORDS

    text = PAGE.read_text(encoding="utf-8")

    assert [point for point in Point if f"`{point}`" not in text] == []
    assert [word for word in KEYWORDS if f"`{word}`" not in text] == []
