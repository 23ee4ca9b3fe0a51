"""A value put inside of an object without decoding it."""

from __future__ import annotations

from stepwell.bindings.values import Encoded, decode, encode
from stepwell.bindings.values.nesting import inside_object


def test_a_plain_value_is_put_in_as_it_is() -> None:
    text = encode({"a": [1, "é"]})

    assert inside_object(text) is text


def test_a_cycle_still_closes_where_it_did() -> None:
    value: dict[str, object] = {"name": "é"}
    value["self"] = value

    outer = decode(Encoded(f'{{"payload":{inside_object(encode(value))},"type":"go"}}'))

    assert outer.payload.self is outer.payload
    assert outer.payload.name == "é"
