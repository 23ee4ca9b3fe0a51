"""The syntax of .dev.vars and .env files. The expected values are what wrangler 4.164 read from the same texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.emulator.config import dotenv


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1\nB=2", {"A": "1", "B": "2"}),
        ("A=1\r\nB=2\rC=3", {"A": "1", "B": "2", "C": "3"}),
        ("A = spaced out  ", {"A": "spaced out"}),
        ("  export A=1", {"A": "1"}),
        ("A: yes", {"A": "yes"}),
        ("A:no", {}),
        ("A=", {"A": ""}),
        ("A", {}),
        ("=x", {}),
        ("A=1\nA=2", {"A": "2"}),
        ("A==b", {"A": "=b"}),
        ("A.B-C=1", {"A.B-C": "1"}),
        ("é=1", {}),
        ("# A=1", {}),
        ("A=b#c", {"A": "b"}),
        ("A=b # c\nB=2", {"A": "b", "B": "2"}),
        ("A=#c", {"A": ""}),
        ('A="b#c" # d\nB=2', {"A": "b#c", "B": "2"}),
        ('A="  q  "', {"A": "  q  "}),
        ('A=\n"x"\nB=1', {"A": "x", "B": "1"}),
        ('A="multi\nline"\nB=2', {"A": "multi\nline", "B": "2"}),
        ('A="a\\nb\\r"', {"A": "a\nb\r"}),
        ("A='a\\nb'", {"A": "a\\nb"}),
        ("A=a\\nb", {"A": "a\\nb"}),
        ('A="a\\"b"', {"A": 'a\\"b'}),
        ("A='it\\'s'", {"A": "it\\'s"}),
        ("A=`x\"y'z`", {"A": "x\"y'z"}),
        ('A="x" y', {"A": '"x" y'}),
        ('A="x"y"', {"A": 'x"y'}),
        ('A="unclosed\nB=2', {"A": '"unclosed', "B": "2"}),
        ('A={"a":1}', {"A": '{"a":1}'}),
    ],
)
def test_a_file_is_read_as_wrangler_reads_it(text: str, values: dict[str, str]) -> None:
    assert dotenv.parse(text) == values


@pytest.mark.parametrize(
    ("value", "expanded"),
    [
        ("$A", "1"),
        ("${A}", "1"),
        ("x$A-y", "x1-y"),
        ("\\$A", "$A"),
        ("$NONE", ""),
        ("${NONE:-other}", "other"),
        ("${NONE-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${A:-other}", "1"),
        ("${A:+other}", "other"),
        ("${NONE:+other}", ""),
        ("${NONE:-$A}", "1"),
        ("$", "$"),
        ("${}", "${}"),
        ("cost: 5$", "cost: 5$"),
    ],
)
def test_references_are_replaced(value: str, expanded: str) -> None:
    assert dotenv.expand({"A": "1", "EMPTY": "", "B": value}, {})["B"] == expanded


def test_a_reference_reaches_only_earlier_names() -> None:
    assert dotenv.expand({"A": "$B", "B": "1"}, {}) == {"A": "", "B": "1"}


def test_a_reference_reaches_the_environment() -> None:
    assert dotenv.expand({"A": "$HOME"}, {"HOME": "/root"}) == {"A": "/root"}


def test_a_name_of_the_environment_keeps_its_value() -> None:
    assert dotenv.expand({"A": "file", "B": "$A"}, {"A": "process"}) == {"A": "process", "B": "process"}


def test_a_circle_ends() -> None:
    assert dotenv.expand({"A": "$B"}, {"B": "${B}"}) == {"A": ""}


@given(st.text(alphabet="AB=:#\"'`\\\n {}$-+x") | st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    values = dotenv.parse(text)

    assert all(isinstance(value, str) for value in dotenv.expand(values, {}).values())


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True), st.from_regex(r"[^'\r]*", fullmatch=True)
    )
)
def test_values_in_single_quotes_come_back_as_they_are(values: dict[str, str]) -> None:
    text = "\n".join(f"{name}='{value}'" for name, value in values.items() if not value.endswith("\\"))

    assert dotenv.parse(text) == {name: value for name, value in values.items() if not value.endswith("\\")}


@pytest.mark.parametrize("text", ["A='" + "\\'" * 300_000, "\n" * 500_000, "A=`\n" * 200_000, "A" + "\n" * 500_000])
def test_hostile_text_is_read_in_a_moment(text: str) -> None:
    assert len(dotenv.parse(text)) <= 1
