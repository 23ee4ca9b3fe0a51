"""Stored values as text to paste: what it says when it is read again."""

from __future__ import annotations

import ast
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from stepwell.bindings.values import decode, encode
from stepwell.bindings.values.json_view import to_json
from stepwell.emulator.dashboard.values.literals import as_json, as_python
from tests.unit.bindings.values.test_codec_properties import few, same
from tests.unit.bindings.values.test_codec_properties import values as any_value

VECTORS = json.loads((Path(__file__).parents[1] / "bindings" / "values" / "vectors.json").read_text())
TEXTS = {vector["name"]: vector["text"] for vector in VECTORS}


def pasted(text: str) -> Any:
    """The value of Python source, which goes through a file."""
    return eval(text.encode().decode(), {"datetime": datetime})


@few
@given(any_value)
def test_python_text_of_any_value_evaluates_to_it(value: Any) -> None:
    text = encode(value)

    assert same(pasted(as_python(text)), decode(text))


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if "ref" not in text])
def test_python_text_of_each_kind_evaluates_to_what_user_code_gets(name: str) -> None:
    assert repr(pasted(as_python(TEXTS[name]))) == repr(decode(TEXTS[name]))


@few
@given(any_value)
def test_json_text_of_any_value_parses_to_its_view(value: Any) -> None:
    text = encode(value)

    assert json.loads(as_json(text).encode()) == json.loads(json.dumps(to_json(text)))


def test_json_text_is_laid_out() -> None:
    assert as_json('{"a":{"$":"date","v":0}}') == '{\n  "a": "1970-01-01T00:00:00.000Z"\n}'


def test_a_cycle_is_none_with_a_comment() -> None:
    text = as_python('{"a":{"self":{"$":"ref","v":0}},"b":[1,{"$":"ref","v":2}]}')

    assert pasted(text) == {"a": {"self": None}, "b": [1, None]}
    assert text.count("None,  # a cycle") == 2


def test_a_value_that_occurs_twice_is_written_twice() -> None:
    assert pasted(as_python("[[1],[1]]")) == [[1], [1]]


@pytest.mark.parametrize("write", [as_json, as_python])
def test_emoji_stay_as_they_are(write: Any) -> None:
    assert "🎉" in write('"🎉"')


@pytest.mark.parametrize("write", [as_json, as_python])
def test_what_cannot_be_seen_or_sent_is_escaped(write: Any) -> None:
    text = write('"a\u2028b\u202ec\\ud800"')

    assert text == '"a\\u2028b\\u202ec\\ud800"'


def test_a_moment_beyond_python_s_years_is_its_text() -> None:
    assert ast.literal_eval(as_python('{"at":{"$":"date","v":8640000000000000}}')) == {
        "at": "Date(8640000000000000)"
    }


@pytest.mark.parametrize("write", [as_json, as_python])
def test_what_is_nested_too_deeply_is_said_to_be(write: Any) -> None:
    assert write("[" * 3_000 + "]" * 3_000) == '"[nested too deeply]"'
