"""What holds of the codec for any value at all."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell.bindings.values import JsDict, datetime_ms, decode, encode, ms_datetime
from stepwell.bindings.values.json_view import to_json

#: The machine that runs the tests may be slow, and values are large.
few = settings(max_examples=60)

numbers = st.integers() | st.floats()
moments = st.datetimes().map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000))
leaves = (
    st.none()
    | st.booleans()
    | numbers
    | st.text()
    | st.text(alphabet=st.characters(categories=["Cs"]))  # lone surrogates
    | st.binary()
    | moments
    | st.sets(st.text() | st.integers())
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("$"), inner), max_leaves=30
)


def same(a: Any, b: Any) -> bool:
    """Equal as JavaScript sees it: one type of number, NaN equal to itself."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, str):
        return isinstance(b, str) and utf16(a) == utf16(b)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if isinstance(a, set):
        return isinstance(b, set) and same(sorted(a, key=repr), sorted(b, key=repr))
    return bool(a == b)


def utf16(text: str) -> bytes:
    """Two surrogates that make a pair are one character in JavaScript."""
    return text.encode("utf-16-le", "surrogatepass")


@few
@given(values)
def test_what_is_encoded_comes_back(value: Any) -> None:
    assert same(value, decode(encode(value)))


@few
@given(values)
def test_encoding_again_gives_the_same_text(value: Any) -> None:
    text = encode(value)

    # Sets have no order, so only their contents are compared.
    assert same(decode(text), decode(encode(decode(text))))


@few
@given(values)
def test_every_text_is_json_that_utf8_can_hold(value: Any) -> None:
    text = encode(value)

    assert json.loads(text.encode()) == json.loads(text)


@few
@given(values)
def test_every_value_can_be_shown_as_json(value: Any) -> None:
    json.dumps(to_json(encode(value)))


@few
@given(values)
def test_nothing_comes_back_as_a_plain_dict(value: Any) -> None:
    assert all(type(found) is JsDict for found in dicts_in(decode(encode(value))))


def dicts_in(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(found for item in value.values() for found in dicts_in(item))]
    return [found for item in value for found in dicts_in(item)] if isinstance(value, list) else []


@few
@given(st.text())
def test_any_text_is_a_value_or_a_value_error(text: str) -> None:
    try:
        decode(text)
    except ValueError:
        return


@few
@given(st.datetimes())
def test_a_moment_comes_back_cut_to_milliseconds(at: datetime) -> None:
    assert ms_datetime(datetime_ms(at)) == at.replace(microsecond=at.microsecond // 1000 * 1000)
