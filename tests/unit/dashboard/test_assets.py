"""Files of the pages: joined, and under addresses that change with them."""

from __future__ import annotations

import re

import pytest

from stepwell.emulator.dashboard.parts.assets import assets, joined, modules, version
from stepwell.emulator.dashboard.parts.urls import Urls

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?function (\w+)", re.MULTILINE)


@pytest.mark.parametrize("name", modules())
def test_a_script_imports_names_that_its_neighbours_export_and_nothing_else(name: str) -> None:
    text = modules()[name]
    for names, neighbour in _IMPORT.findall(text):
        assert set(names.split(", ")) <= set(_EXPORT.findall(modules()[neighbour]))

    lines = [line for line in text.splitlines() if line.startswith(("import", "export")) or "import(" in line]
    assert len(lines) == len(_IMPORT.findall(text)) + len(_EXPORT.findall(text))


def test_a_script_comes_after_what_it_imports() -> None:
    texts = {
        "app": 'import { b } from "./b.js";\nb();',
        "b": 'import { c } from "./c.js";\nexport function b() { c(); }',
        "c": "export async function c() {}",
    }
    script = joined(texts, "app")

    assert [match[1] for match in re.finditer(r"^const module_(\w+)", script, re.MULTILINE)] == ["c", "b", "app"]
    assert "const {c}=module_c;" in script


def test_every_script_is_part_of_the_one_that_pages_load() -> None:
    script = assets()["app.js"].decode()

    assert all(f"const module_{name} = " in script for name in modules())
    assert not re.search(r"^(import|export)", script, re.MULTILINE)


def test_a_worker_is_a_file_of_its_own() -> None:
    assert "lines.js" in assets()
    assert b"onconnect" not in assets()["app.js"]


def test_all_scripts_together_are_small() -> None:
    scripts = {name: len(body) for name, body in assets().items() if name.endswith(".js")}

    assert sum(scripts.values()) <= 60 * 1024, scripts


def test_the_style_sheets_are_one() -> None:
    assert assets()["style.css"].count(b":root") >= 1
    assert not any(name.endswith(".css") for name in assets() if name != "style.css")


def test_the_address_of_a_file_names_the_version() -> None:
    assert Urls().static("app.js").endswith(f"/static/{version()}/app.js")
