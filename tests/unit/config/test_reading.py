"""From a file to its value; what is wrong is named with file, line and column."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.emulator.config import ConfigError, jsonc
from stepwell.emulator.config.reading import MAX_BYTES, read_config


def read(tmp_path: Path, text: str | bytes, name: str = "wrangler.jsonc") -> dict[str, object]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config(path)


def refused(tmp_path: Path, text: str | bytes, name: str = "wrangler.jsonc") -> str:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text, name)
    return str(caught.value)


@pytest.mark.parametrize("name", ["wrangler.json", "wrangler.jsonc"])
def test_comments_and_trailing_commas_are_accepted_in_both_kinds_of_json(tmp_path: Path, name: str) -> None:
    text = '{ // a name\n "name": "x", /* and\n more */ "list": [1, 2,],\n }'

    assert read(tmp_path, text, name) == {"name": "x", "list": [1, 2]}


def test_what_looks_like_a_comment_inside_a_text_stays(tmp_path: Path) -> None:
    assert read(tmp_path, '{"url": "http://x/*y*/,]", "q": "\\"//"}') == {"url": "http://x/*y*/,]", "q": '"//'}


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    assert read(tmp_path, b'\xef\xbb\xbf{"name": "x"}') == {"name": "x"}


def test_of_two_properties_of_one_name_the_last_wins(tmp_path: Path) -> None:
    assert read(tmp_path, '{"a": 1, "a": 2}') == {"a": 2}


def test_a_number_without_a_fraction_is_whole_however_it_is_written(tmp_path: Path) -> None:
    value = read(tmp_path, '{"a": 3.0, "b": 1e5, "c": 0.5}')

    assert value == {"a": 3, "b": 100_000, "c": 0.5}
    assert isinstance(value["a"], int)


def test_toml_is_read_with_its_tables(tmp_path: Path) -> None:
    text = 'name = "x"\n[[workflows]]\nbinding = "W"\n[workflows.limits]\nsteps = 3\n'

    assert read(tmp_path, text, "wrangler.toml") == {
        "name": "x",
        "workflows": [{"binding": "W", "limits": {"steps": 3}}],
    }


# The codes are those that wrangler gave for the same texts, except where it says InvalidSymbol.
@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ('{"name":"x",\n {a:1}}', "2:2", "PropertyNameExpected"),
        ("{'a':1}", "1:2", "PropertyNameExpected"),
        ('{"a":1,,}', "1:8", "PropertyNameExpected"),
        ('{"a" 1}', "1:6", "ColonExpected"),
        ('{"a":}', "1:6", "ValueExpected"),
        ('{"a":[1,,2]}', "1:9", "ValueExpected"),
        ("[,]", "1:2", "ValueExpected"),
        ('{"a":.5}', "1:6", "ValueExpected"),
        ("", "1:1", "ValueExpected"),
        ("// only a comment", "1:1", "ValueExpected"),
        ('{"a":1\n\n\n', "1:7", "CloseBraceExpected"),
        ('{"a":1 "b":2}', "1:8", "CommaExpected"),
        ('{"a":01}', "1:7", "CommaExpected"),
        ('{"a":1', "1:7", "CloseBraceExpected"),
        ('{"a":[1, {"b": 2}', "1:18", "CloseBracketExpected"),
        ('{"a":"b', "1:6", "UnexpectedEndOfString"),
        ('{"a":"b\nc"}', "1:8", "UnexpectedEndOfString"),
        ('{"a":1}}', "1:8", "EndOfFileExpected"),
        ('{"a":"\\x"}', "1:7", "InvalidEscapeCharacter"),
        ('{"a":"\\u12"}', "1:8", "InvalidUnicode"),
        ('{"a":"\t"}', "1:7", "InvalidCharacter"),
        ("{\n/* open", "2:1", "UnexpectedEndOfComment"),
        ('{"NaN": NaN}', "1:9", "InvalidSymbol"),
        ('{"a": -Infinity}', "1:7", "InvalidSymbol"),
    ],
)
def test_a_syntax_error_names_file_line_column_and_wranglers_code(
    tmp_path: Path, text: str, place: str, code: str
) -> None:
    assert f"- wrangler.jsonc:{place}: {code}: " in refused(tmp_path, text)


def test_a_file_that_ends_too_early_shows_its_last_line(tmp_path: Path) -> None:
    assert '  2 | "name": "x"\n      |            ^' in refused(tmp_path, '{\n"name": "x"\n\n')


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_file_is_said_to_be_empty(tmp_path: Path, text: str) -> None:
    said = refused(tmp_path, text)

    assert "the file is empty" in said
    assert "stepwell init" in said
    assert "|" not in said


def test_a_syntax_error_shows_the_line_with_a_mark_under_the_place(tmp_path: Path) -> None:
    message = refused(tmp_path, '{\n  "name" "x"\n}')

    assert message.split("\n")[2:] == ['    2 |   "name" "x"', "      |          ^"]


def test_a_very_long_line_is_shown_only_around_the_place(tmp_path: Path) -> None:
    message = refused(tmp_path, '{"a": "' + "x" * 10_000 + '" 1}')

    assert len(message) < 500


def test_a_syntax_error_in_toml_names_the_place(tmp_path: Path) -> None:
    assert "- wrangler.toml:2:5: " in refused(tmp_path, 'name = "x"\na = = 1\n', "wrangler.toml")


def test_a_toml_file_that_ends_too_early_names_its_end(tmp_path: Path) -> None:
    assert "- wrangler.toml:1:" in refused(tmp_path, "a = [1", "wrangler.toml")


@pytest.mark.parametrize("text", ["[]", "5", '"x"', "null", "true"])
def test_a_file_that_holds_no_object_is_refused(tmp_path: Path, text: str) -> None:
    assert f"The configuration should be an object, but got {text}." in refused(tmp_path, text)


@pytest.mark.parametrize("name", ["wrangler.yaml", "wrangler", "package.js"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, name: str) -> None:
    assert "is not a configuration file" in refused(tmp_path, "{}", name)


class TestHostileFiles:
    @pytest.mark.parametrize("name", ["wrangler.jsonc", "wrangler.toml"])
    def test_bytes_that_are_no_utf8_are_named_with_their_line(self, tmp_path: Path, name: str) -> None:
        assert "byte 0xff in line 3" in refused(tmp_path, b"{\n\n\xff}", name)

    def test_a_file_in_utf16_is_refused(self, tmp_path: Path) -> None:
        assert "not valid UTF-8" in refused(tmp_path, '{"name": "x"}'.encode("utf-16"))

    def test_a_huge_file_is_refused_before_it_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "wrangler.json"
        with path.open("wb") as file:
            file.truncate(100 * 1024**3)

        with pytest.raises(ConfigError, match=f"the maximum is {MAX_BYTES:,}"):
            read_config(path)

    def test_a_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "wrangler.jsonc").mkdir()

        with pytest.raises(ConfigError, match="is a folder, not a file"):
            read_config(tmp_path / "wrangler.jsonc")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are files on Unix only")
    def test_a_pipe_is_refused_without_waiting_for_it(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "wrangler.jsonc")

        with pytest.raises(ConfigError, match="is not a regular file"):
            read_config(tmp_path / "wrangler.jsonc")

    def test_a_file_that_cannot_be_read_says_why(self, tmp_path: Path) -> None:
        (tmp_path / "wrangler.jsonc").symlink_to(tmp_path / "wrangler.jsonc")

        with pytest.raises(ConfigError, match=r"The file cannot be read: .*symbolic links"):
            read_config(tmp_path / "wrangler.jsonc")

    def test_a_file_without_permission_says_so(self, tmp_path: Path) -> None:
        path = tmp_path / "wrangler.jsonc"
        path.write_text("{}")
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("this user may read everything")

        with pytest.raises(ConfigError, match="The file cannot be read: Permission denied"):
            read_config(path)

    def test_a_name_that_no_file_can_have_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="The file cannot be read"):
            read_config(Path("a\0b.json"))

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("wrangler.jsonc", "[" * 500_000),
            ("wrangler.jsonc", '{"a":' * 150_000),
            ("wrangler.jsonc", "[" * 100_000 + "]" * 100_000),
            ("wrangler.toml", "a = " + "[" * 100_000 + "]" * 100_000),
        ],
    )
    def test_deep_nesting_is_refused(self, tmp_path: Path, name: str, text: str) -> None:
        assert "nested too deeply" in refused(tmp_path, text, name)

    @pytest.mark.parametrize("name", ["wrangler.jsonc", "wrangler.toml"])
    def test_a_number_of_too_many_digits_is_refused(self, tmp_path: Path, name: str) -> None:
        digits = "9" * 10_000
        text = f'{{"a": {digits}}}' if name.endswith("c") else f"a = {digits}"

        assert "cannot be read" in refused(tmp_path, text, name) or "too many digits" in refused(
            tmp_path, text, name
        )

    # Each of these made a simple implementation quadratic.
    @pytest.mark.parametrize(
        "text", ['"' + '\\"' * 400_000, "[1" + " ," * 400_000, "/* " * 300_000, "[" + "," * 900_000, "/" * 900_000]
    )
    def test_hostile_text_is_refused_in_a_moment(self, tmp_path: Path, text: str) -> None:
        assert "wrangler.jsonc:1:" in refused(tmp_path, text)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
# What may stand between two tokens without changing the value.
BLANKS = st.sampled_from(["", " ", "\n", "\t", "//\n", '// "{[,\n', "/**/", '/* " */', "/*\n*/ "])


def written(value: object, blank: Iterator[str], comma: str) -> str:
    """The value as JSON with a blank around every token, and `comma` after the last item of lists and objects."""
    if isinstance(value, list):
        items = [written(item, blank, comma) for item in value]
    elif isinstance(value, dict):
        items = [f"{written(name, blank, comma)}:{written(item, blank, comma)}" for name, item in value.items()]
    else:
        return next(blank) + json.dumps(value, ensure_ascii=False) + next(blank)
    opening, closing = "[]" if isinstance(value, list) else "{}"
    return next(blank) + opening + next(blank) + ",".join(items) + (comma if items else "") + closing + next(blank)


@given(JSON_VALUES, st.lists(BLANKS, min_size=1), st.sampled_from(["", ","]))
def test_comments_anywhere_and_trailing_commas_change_nothing(value: object, blanks: list[str], comma: str) -> None:
    text = written(value, cycle(blanks), comma)

    assert jsonc.parse(text) == value


def place_of_error(text: str) -> int | None:
    try:
        json.dumps(jsonc.parse(text))
    except jsonc.JsoncError as error:
        return error.offset
    return None


@given(st.text() | st.text(alphabet='{}[]",:/*\\\n 1a'))
def test_any_text_is_either_read_or_refused_with_a_place_in_it(text: str) -> None:
    place = place_of_error(text)

    assert place is None or 0 <= place <= len(text)
