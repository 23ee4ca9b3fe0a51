"""What comes back of a stored value."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from stepwell.bindings.values import Encoded, JsDict, copy, decode, encode, has_cycle
from stepwell.bindings.values.json_view import to_json

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_python_reads_every_shared_vector(vector: dict[str, Any]) -> None:
    assert described(decode(vector["text"])) == vector["python"]


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS if v.get("canonical", True)], ids=lambda vector: vector["name"]
)
def test_python_writes_the_canonical_vectors_as_they_are(vector: dict[str, Any]) -> None:
    assert encode(decode(vector["text"])) == vector["text"]


def described(value: Any, around: tuple[Any, ...] = ()) -> Any:
    """A Python value with the types that JSON does not show, as vectors.json says it."""
    if any(value is container for container in around):
        return {"cycle": True}
    inside = (*around, value)
    if isinstance(value, list):
        return [described(item, inside) for item in value]
    if isinstance(value, dict):
        return {"dict": [[described(key), described(item, inside)] for key, item in value.items()]}
    if isinstance(value, set):
        return {"set": sorted((described(item) for item in value), key=str)}
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, bytes):
        return {"bytes": list(value)}
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, Exception):
        return {"exception": str(value)}
    return {"int": str(value)} if type(value) is int and abs(value) >= 2**53 else value


def test_objects_have_attributes_at_every_depth() -> None:
    value = decode('{"a":[{"b":1}]}')

    assert value.a[0].b == 1
    assert isinstance(value.a[0], JsDict)


def test_a_missing_attribute_is_named() -> None:
    with pytest.raises(AttributeError, match=r"^nope$"):
        _ = decode("{}").nope


def test_an_attribute_that_is_set_is_an_item() -> None:
    value = decode("{}")

    value.a = 1

    assert value == {"a": 1}


def test_methods_of_dict_win_over_keys() -> None:
    assert callable(decode('{"items":1}').items)


def test_each_call_gives_a_new_object() -> None:
    text = encode({"a": [1]})

    first = decode(text)
    first.a.append(2)

    assert decode(text) == {"a": [1]}


def test_a_map_with_objects_as_keys_is_still_readable() -> None:
    value = decode('{"$":"map","v":[[[1],"a"]]}')

    assert value == {"[1]": "a"}


def test_a_set_of_objects_is_a_list() -> None:
    assert decode('{"$":"set","v":[{"a":1}]}') == [{"a": 1}]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1 2",
        "[1",
        '{"$":"nope"}',
        '{"$":["date"]}',
        '{"$":"date"}',
        '{"$":"date","v":"x"}',
        '{"$":"date","v":1e300}',
        '{"$":"bytes","v":"%"}',
        '{"$":"ref","v":3}',
        '{"$":"same","v":0}',
        '{"$":"number","v":"one"}',
    ],
)
def test_a_text_that_the_codec_did_not_write_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        decode(text)


def test_a_copy_of_a_scalar_is_the_scalar() -> None:
    assert copy("a", Encoded('"a"')) == "a"


def test_a_copy_of_a_container_is_another_one() -> None:
    value = {"a": 1}

    copied = copy(value, encode(value))

    assert copied == value
    assert copied is not value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[1,null]", [1, None]),
        ('{"a":{"$":"undefined"},"b":1}', {"b": 1}),
        ('[{"$":"undefined"}]', [None]),
        ('{"$":"number","v":"NaN"}', None),
        ('{"$":"number","v":"-0"}', 0),
        ('{"$":"bigint","v":"12"}', "12"),
        ('{"$":"date","v":1704067200000}', "2024-01-01T00:00:00.000Z"),
        ('{"$":"date","v":null}', None),
        ('{"$":"date","v":8640000000000000}', "Date(8640000000000000)"),
        ('{"$":"map","v":[["a",{"$":"set","v":[1]}]]}', [["a", [1]]]),
        ('{"$":"bytes","t":"Uint8Array","v":"aGk="}', [104, 105]),
        ('{"$":"regexp","v":"a+","flags":"g"}', "/a+/g"),
        ('{"$":"object","v":[["$",1],["u",{"$":"undefined"}]]}', {"$": 1}),
        ('{"a":{"$":"ref","v":0}}', {"a": "[cycle]"}),
        ('{"$":"error","v":{"name":"TypeError","message":"m"}}', {"name": "TypeError", "message": "m"}),
        ('[{"a":[1]},{"$":"ref","v":2}]', [{"a": [1]}, [1]]),
        ('[{"$":"date","v":0},{"$":"same","v":0}]', ["1970-01-01T00:00:00.000Z"] * 2),
        ('{"$":"array","n":3,"v":[["0",1],["2",3],["x",4]]}', [1, None, 3]),
        ('{"$":"array","n":4000000000,"v":[["5",1]]}', {"5": 1}),
        ('{"$":"boxed","v":4}', 4),
        ('{"$":"view","t":"Uint8Array","v":{"$":"bytes","t":"ArrayBuffer","v":"AQIDBA=="},"at":1,"n":2}', [2, 3]),
        ('[{"$":"bytes","t":"Int8Array","v":"AQI="},{"$":"buffer","v":0}]', [[1, 2], [1, 2]]),
    ],
)
def test_json_shows_what_it_can_of_a_value(text: str, shown: Any) -> None:
    assert to_json(text) == shown


def test_json_of_objects_that_double_at_each_level_ends() -> None:
    value: Any = [1]
    for _ in range(60):
        value = [value, value]

    assert "[repeated]" in json.dumps(to_json(encode(value)))


def test_json_of_a_value_nested_beyond_reason_says_so() -> None:
    assert to_json("[" * 100_000 + "]" * 100_000) == "[nested too deeply]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"self":{"$":"ref","v":0}}', True),
        ('[1,{"up":{"$":"ref","v":0}}]', True),
        ('[{"a":1},{"$":"ref","v":1}]', False),
        ('{"text":"\\"$\\":\\"ref\\""}', False),
    ],
)
def test_a_cycle_is_told_from_a_value_that_is_only_there_twice(text, expected) -> None:
    assert has_cycle(text) is expected
