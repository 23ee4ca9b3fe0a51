"""Texts of user code can't control the terminal."""

from __future__ import annotations

import io
import json

import pytest

from stepwell.emulator.terminal import safe
from stepwell.emulator.terminal.lines import Line
from stepwell.emulator.terminal.printer import Printer
from stepwell.emulator.terminal.style import Style


def shown(line: Line, *, coloured: bool = False) -> str:
    stream = io.StringIO()
    Printer(stream, Style(coloured)).lines([line])
    return stream.getvalue()


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\x00b", r"a\x00b"),
        ("a\rb", r"a\x0db"),
        ("\x9b2J", r"\x9b2J"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800", r"\ud800"),
        ("two\n\tlines, 😀", "two\n\tlines, 😀"),
    ],
)
def test_control_characters_are_shown_as_escapes(text: str, escaped: str) -> None:
    assert safe.visible(text) == escaped


def test_a_name_takes_one_line() -> None:
    assert safe.name("a\nb") == r"a\nb"


def test_a_long_text_is_truncated_with_the_number_of_omitted_characters() -> None:
    assert safe.error_text("x" * 5_234) == "x" * 4_000 + "... (1,234 more characters)"


def test_a_long_traceback_keeps_its_start_and_its_end() -> None:
    text = safe.stack_text("first\n" + "x\n" * 20_000 + "last")

    assert text.startswith("first\n")
    assert text.endswith("\nlast")
    assert "characters omitted)" in text


def test_names_and_errors_of_user_code_cannot_move_the_cursor() -> None:
    line = Line(0, "flow", "i", "\x1b[2J", "failed", stack="at \x1b[H")

    assert "\x1b" not in shown(line)


def test_our_own_colours_stay() -> None:
    assert "\x1b[1mstep\x1b[0m" in shown(Line(0, "flow", "i", "step", "done"), coloured=True)


def test_a_stream_that_lacks_a_character_gets_an_escape() -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="latin-1")

    Printer(stream, Style(False)).text("é 😀 \ud800")

    assert written.getvalue().rstrip() == b"\xe9 \\U0001f600 \\ud800"


def test_printing_to_a_closed_pipe_does_not_fail() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    Printer(Gone(), Style(False)).text("said")


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred\x1b[0m", "\x1b[1;38;5;208mbold\x1b[m", "\x1b[38;2;1;2;3mrgb\x1b[0m", "\x1b[97;41mboth\x1b[0m"],
)
def test_colours_that_user_code_prints_are_kept(text: str) -> None:
    assert safe.printed(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;cm0gLXJm\x07", r"\x1b]52;c;cm0gLXJm\x07"),
        ("\x1b]8;;http://a\x1b\\b", r"\x1b]8;;http://a\x1b\b"),
        ("\x1b[2J\x1b[H", r"\x1b[2J\x1b[H"),
        ("\x1b[8mhidden", r"\x1b[8mhidden"),
        ("\x1b[0;8mhidden", r"\x1b[0;8mhidden"),
        ("\x1b[5mblinks", r"\x1b[5mblinks"),
        ("\x1bc", r"\x1bc"),
        ("\x1bP1;2q\x1b\\", r"\x1bP1;2q\x1b\ ".strip()),
        ("\x9b31m", r"\x9b31m"),
        ("paid\rfree", r"paid\x0dfree"),
        ("a\r\nb", "a\nb"),
        ("\x1b[31;2J", r"\x1b[31;2J"),
    ],
)
def test_other_control_sequences_that_user_code_prints_are_shown(text: str, shown: str) -> None:
    assert safe.printed(text) == shown


def test_a_colour_ends_with_the_text_that_began_it() -> None:
    assert safe.printed("\x1b[31mred") == "\x1b[31mred\x1b[0m"


def test_control_characters_in_json_are_escaped_as_json() -> None:
    printed = safe.escaped_in_json(json.dumps({"a": "\x9b2J\u202e\x7fé"}, ensure_ascii=False))

    assert printed == '{"a": "\\u009b2J\\u202e\\u007fé"}'
    assert json.loads(printed) == {"a": "\x9b2J\u202e\x7fé"}
