"""What Python values become when they cross."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, IntEnum, StrEnum
from typing import Any, NamedTuple

import pytest

from stepwell.bindings.errors import NotSerialisable, ValueTooLarge
from stepwell.bindings.values import MAX_DEPTH, Encoded, JsDict, JsMap, decode, encode, jsnull

at = datetime.fromisoformat


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        (1.5, "1.5"),
        ("a", '"a"'),
        ("ü", '"ü"'),
        ('"\\\n', '"\\"\\\\\\n"'),
        ([], "[]"),
        ({}, "{}"),
        ([1, [2, None]], "[1,[2,null]]"),
        ({"a": {"b": [True]}}, '{"a":{"b":[true]}}'),
    ],
)
def test_plain_values_are_plain_json(value: Any, text: str) -> None:
    assert encode(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, '{"$":"number","v":"-0"}'),
        (float("nan"), '{"$":"number","v":"NaN"}'),
        (float("inf"), '{"$":"number","v":"Infinity"}'),
        (float("-inf"), '{"$":"number","v":"-Infinity"}'),
        (2**53 - 1, "9007199254740991"),
        (2**53, '{"$":"bigint","v":"9007199254740992"}'),
        (-(2**53), '{"$":"bigint","v":"-9007199254740992"}'),
    ],
)
def test_numbers_are_javascripts(value: float, text: str) -> None:
    assert encode(value) == text


def test_a_naive_datetime_is_utc() -> None:
    assert encode(at("2024-01-01")) == '{"$":"date","v":1704067200000}'


def test_an_aware_datetime_keeps_its_moment() -> None:
    local = datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))

    assert encode(local) == encode(datetime(2024, 1, 1, tzinfo=UTC))


def test_dates_have_milliseconds_and_no_more() -> None:
    assert decode(encode(at("2024-01-01T00:00:00.123999"))) == at("2024-01-01T00:00:00.123000")


def test_bytes_and_memoryviews_become_a_typed_array() -> None:
    assert encode(b"hi") == '{"$":"bytes","t":"Uint8Array","v":"aGk="}'
    assert encode(memoryview(b"hi")) == encode(b"hi")


def test_a_set_becomes_a_set() -> None:
    assert encode({7}) == '{"$":"set","v":[7]}'


def test_an_exception_becomes_an_error_with_its_text() -> None:
    assert encode(KeyError("x")) == '{"$":"error","v":{"name":"Error","message":"\'x\'"}}'


def test_keys_of_a_dict_become_texts() -> None:
    assert encode({1: "a", None: "b", False: "c", 2.5: "d"}) == '{"1":"a","null":"b","false":"c","2.5":"d"}'


def test_a_key_named_dollar_is_not_taken_for_a_tag() -> None:
    value = {"$": "date", "v": 1}

    assert encode(value) == '{"$":"object","v":[["$","date"],["v",1]]}'
    assert decode(encode(value)) == value


def test_a_map_keeps_the_types_of_its_keys() -> None:
    assert encode(JsMap({1: "a"})) == '{"$":"map","v":[[1,"a"]]}'


def test_jsnull_is_null() -> None:
    assert encode([jsnull]) == "[null]"


def test_subclasses_of_dict_and_list_are_objects_and_arrays() -> None:
    assert encode(OrderedDict(b=1, a=2)) == '{"b":1,"a":2}'
    assert encode(JsDict(a=[1])) == '{"a":[1]}'


def test_enums_with_a_plain_type_are_their_values() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Old(str, Enum):  # noqa: UP042 - as much user code has it
        RED = "red"

    class Size(IntEnum):
        BIG = 3

    assert encode([Colour.RED, Old.RED, Size.BIG]) == '["red","red",3]'
    assert encode({Old.RED: 1}) == '{"red":1}'


def test_a_lone_surrogate_is_written_so_that_utf8_can_hold_it() -> None:
    text = encode({"a": "\ud800"})

    assert text.encode() == b'{"a":"\\ud800"}'
    assert decode(text) == {"a": "\ud800"}


def test_a_cycle_refers_to_its_container_by_number() -> None:
    loop: dict[str, Any] = {"list": [1]}
    loop["self"] = loop

    text = encode(loop)

    assert text == '{"list":[1],"self":{"$":"ref","v":0}}'
    back = decode(text)
    assert back["self"] is back


def test_a_container_met_twice_is_named_by_its_number() -> None:
    shared = [1]

    assert encode([{}, shared, {"again": shared}]) == '[{},[1],{"again":{"$":"ref","v":2}}]'


def test_a_container_met_twice_comes_back_as_one() -> None:
    shared = {"x": [1.5, None]}

    back = decode(encode({"a": shared, "b": [shared, {shared["x"][0]}]}))

    assert back["a"] is back["b"][0]


def test_the_value_is_not_changed() -> None:
    value = {"a": [1.0, {2}], "d": at("2024-01-01")}

    encode(value)

    assert value == {"a": [1.0, {2}], "d": at("2024-01-01")}


def test_the_size_of_a_text_is_in_bytes() -> None:
    assert encode("ü").size() == 4
    assert Encoded("12").size() == 2


class Point(NamedTuple):
    x: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((), "<class 'tuple'> cannot be sent over RPC."),
        ([{"a": (1,)}], "<class 'tuple'> cannot be sent over RPC."),
        (bytearray(b"a"), "<class 'bytearray'> cannot be sent over RPC."),
    ],
)
def test_what_the_sdk_refuses_is_refused_with_its_text(value: Any, text: str) -> None:
    with pytest.raises(TypeError) as refused:
        encode(value)

    assert str(refused.value) == text


def test_a_subclass_of_tuple_is_refused_by_its_own_name() -> None:
    with pytest.raises(TypeError, match=r"Point'> cannot be sent over RPC\.$"):
        encode(Point(1))


def test_an_awaitable_is_refused_with_the_sdks_text() -> None:
    coroutine = asyncio.sleep(0)

    with pytest.raises(TypeError) as refused:
        encode({"a": coroutine})

    coroutine.close()
    assert str(refused.value) == "Awaitable <class 'coroutine'> cannot be sent over RPC."


class Order:
    pass


@pytest.mark.parametrize(
    "value",
    [Order(), object(), date(2024, 1, 1), timedelta(1), frozenset({1}), 1j, Order, lambda: 1, range(3)],
    ids=lambda value: type(value).__name__,
)
def test_what_structured_clone_refuses_is_not_serialisable(value: Any) -> None:
    with pytest.raises(NotSerialisable):
        encode(value)


def test_the_error_leads_to_the_value() -> None:
    with pytest.raises(NotSerialisable) as refused:
        encode({"items": [1, {"callback": len}]})

    assert refused.value.path == "$.items[1].callback"
    assert str(refused.value) == "the function len at $.items[1].callback cannot be stored"
    assert refused.value.is_function


def test_an_object_is_named_by_its_class() -> None:
    with pytest.raises(NotSerialisable) as refused:
        encode([Order()])

    assert refused.value.what.endswith("test_encoding.Order'>")
    assert not refused.value.is_function


def nested(depth: int, innermost: Any) -> list[Any]:
    value: list[Any] = [innermost]
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("innermost", [1, {2}], ids=["plain", "tagged"])
def test_a_value_of_the_greatest_depth_comes_back(innermost: Any) -> None:
    depth = MAX_DEPTH if innermost == 1 else MAX_DEPTH - 1

    assert decode(encode(nested(depth, innermost))) == nested(depth, innermost)


@pytest.mark.parametrize("innermost", [1, {2}], ids=["plain", "tagged"])
def test_a_deeper_value_is_refused(innermost: Any) -> None:
    with pytest.raises(NotSerialisable, match="a value nested too deeply"):
        encode(nested(MAX_DEPTH + 1, innermost))


LARGE: dict[str, Any] = {
    "a text": "x" * 3_000_000,
    "bytes": b"x" * 3_000_000,
    "bytes in a list": [b"x" * 1_000_000] * 3,
    "a list of dicts": [{"a": n} for n in range(600_000)],
    "a dict": {str(n): n for n in range(600_000)},
    "lists of texts": [["x" * 1_000] * 10] + [["x" * 1_000] * 10 for _ in range(150)],
    "a map": JsMap(dict.fromkeys(range(1500), "x" * 1000)),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_value_beyond_its_limit_is_refused(name: str) -> None:
    with pytest.raises(ValueTooLarge):
        encode(LARGE[name], 1_048_576)


SHARED = ["x" * 1_000]
PLAIN: list[Any] = ["a", "ü", [], {}, [None] * 100, [1] * 100, {"a": "b", "": ""}, [1.0, 2**60], [[[]]]]
ODD: list[Any] = [b"", b"abc", [b"abc"], JsMap({1: 2}), {1, 2}, {"$": 1}, at("2030-01-01")]
REPEATED: list[Any] = [[SHARED] * 10, {"a": [SHARED, {"b": SHARED}]}]


@pytest.mark.parametrize("value", [*PLAIN, *ODD, *REPEATED])
def test_a_value_at_its_limit_is_encoded(value: Any) -> None:
    text = encode(value)

    assert encode(value, len(text)) == text
