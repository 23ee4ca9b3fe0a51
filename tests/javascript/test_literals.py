"""Stored values as JavaScript to paste, evaluated by Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.bindings.values import encode
from stepwell.emulator.dashboard.values.javascript_text import as_javascript
from tests.unit.bindings.values.test_codec_properties import values as any_value

HERE = Path(__file__).parent
VECTORS = json.loads((HERE.parent / "unit" / "bindings" / "values" / "vectors.json").read_text())
TEXTS = {vector["name"]: vector["text"] for vector in VECTORS}
ODD = {
    "prototype": '{"__proto__":{"a":1}}',
    "prototype in a dollar object": '{"$":"object","v":[["$",1],["__proto__",[2]]]}',
    "RegExp with a backslash": '{"$":"regexp","v":"\\\\d/\\\\\\\\[/]","flags":""}',
    "RangeError": '{"$":"error","v":{"name":"RangeError","message":"too far"}}',
    "DOMException with a cause": '{"$":"error","v":{"name":"AbortError","message":"m","dom":true,"cause":[1]}}',
    "Uint16Array": '{"$":"bytes","t":"Uint16Array","v":"AQIDBA=="}',
    "a large number": '{"$":"number","v":"12345678901234567000"}',
    "ends of lines": '"\u2028\u2029\\u0000"',
}

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")


def read_again(texts: list[str]) -> list[tuple[str, str]]:
    """For each text: what its JavaScript evaluates to, and what the codec reads, both as texts again."""
    pairs = json.dumps([[text, as_javascript(text)] for text in texts], ensure_ascii=False)
    done = subprocess.run(
        ["node", HERE / "literals_check.mjs"], input=pairs.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [(one["pasted"], one["read"]) for one in json.loads(done.stdout)]


def test_each_kind_evaluates_to_the_value() -> None:
    # An object that is met again is written again, so it is another one when it is pasted.
    refers = ('"ref"', '"same"', '"buffer"', '"view"')
    texts = {name: text for name, text in {**TEXTS, **ODD}.items() if not any(kind in text for kind in refers)}

    answers = dict(zip(texts, read_again(list(texts.values())), strict=True))

    assert {name: pasted for name, (pasted, _) in answers.items()} == {
        name: read for name, (_, read) in answers.items()
    }


@settings(max_examples=8)
@given(st.lists(any_value, min_size=20, max_size=40))
def test_any_value_evaluates_to_itself(values: list[Any]) -> None:
    for pasted, read in read_again([encode(value) for value in values]):
        assert pasted == read


def test_a_cycle_is_undefined_with_a_comment() -> None:
    assert as_javascript('{"self":{"$":"ref","v":0}}') == '{\n    "self": undefined /* a cycle */,\n}'


def test_an_object_met_again_is_written_again() -> None:
    assert as_javascript('[[1],{"$":"ref","v":1}]') == "[\n    [\n        1,\n    ],\n    [\n        1,\n    ],\n]"


def test_a_view_of_a_part_of_a_buffer_has_its_bytes() -> None:
    view = '{"$":"view","t":"Int8Array","v":{"$":"bytes","t":"ArrayBuffer","v":"AQIDBA=="},"at":1,"n":2}'

    assert as_javascript(view) == "new Int8Array(new Uint8Array([2, 3]).buffer)"


def test_emoji_stay_as_they_are() -> None:
    assert as_javascript('"🎉"') == '"🎉"'
