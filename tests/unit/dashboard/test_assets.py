"""Files of the pages: all there, under addresses that change with them."""

from __future__ import annotations

import re

import pytest

from emulator.dashboard.assets import assets, modules, version
from emulator.dashboard.urls import Urls

_IMPORT = re.compile(r"""from "\./([a-z]+\.js)"|import\("\./([a-z]+\.js)"\)""")


@pytest.mark.parametrize("name", [name for name in assets() if name.endswith(".js")])
def test_a_script_imports_what_there_is(name: str) -> None:
    imported = {one or other for one, other in _IMPORT.findall(assets()[name].decode())}

    assert imported <= set(modules())


def test_the_style_sheets_are_one() -> None:
    assert assets()["style.css"].count(b":root") >= 1
    assert not any(name.endswith(".css") for name in assets() if name != "style.css")


def test_the_address_of_a_file_names_the_version() -> None:
    assert Urls().static("app.js").endswith(f"/static/{version()}/app.js")
    assert len(Urls().modules()) == len(modules())
