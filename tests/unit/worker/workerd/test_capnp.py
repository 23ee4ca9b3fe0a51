from __future__ import annotations

from stepwell.emulator.worker.workerd.capnp import Verbatim, constant, quoted, render


def test_a_constant_names_its_type() -> None:
    assert (
        constant("config", "Workerd.Config", {"name": "a"})
        == 'const config :Workerd.Config = (\n  name = "a"\n);\n'
    )


def test_structs_and_lists_nest() -> None:
    assert render({"list": [{"on": True, "n": 2}]}) == (
        "(\n  list = [\n    (\n      on = true,\n      n = 2\n    )\n  ]\n)"
    )


def test_an_empty_list_is_a_list() -> None:
    assert render([]) == "[]"


def test_verbatim_text_is_written_as_it_is() -> None:
    assert render({"http": Verbatim("()")}) == "(\n  http = ()\n)"


def test_quotes_backslashes_and_line_ends_are_escaped() -> None:
    assert quoted('a "b" \\ \n') == '"a \\"b\\" \\\\ \\x0a"'


def test_what_is_not_ascii_goes_as_its_bytes() -> None:
    assert quoted("é") == '"\\xc3\\xa9"'
