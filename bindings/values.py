"""Structured-clone values: what may cross between user code and the engine, and how it is written down.

The engine handles values as text only (`Encoded`). The text is JSON. What JSON lacks is an object with the
key "$" that names the kind, so that plain values stay readable in the database:

    {"$":"undefined"}                       undefined
    {"$":"number","v":"NaN"}                NaN, Infinity, -Infinity, -0
    {"$":"bigint","v":"12"}                 BigInt; in Python an int beyond 2**53
    {"$":"date","v":1700000000000}          Date, ms since the epoch; null for an invalid one
    {"$":"map","v":[[k,v],...]}             Map
    {"$":"set","v":[...]}                   Set
    {"$":"bytes","t":"Uint8Array","v":"…"}  bytes in base64; t names the JavaScript class
    {"$":"regexp","v":"a+","flags":"g"}     RegExp
    {"$":"error","v":{"name":…,"message":…}}
    {"$":"object","v":[[key,value],...]}    a plain object that has a key "$" itself
    {"$":"ref","v":3}                       the container met third (counting from 0, in reading order): a cycle

bindings/javascript/codec.mjs writes and reads the same text; tests/unit/bindings/vectors.json holds both to it.
What Python cannot tell apart (undefined and null, Map and object) becomes the nearest Python value.
"""

from __future__ import annotations

import base64
import binascii
import inspect
import json
import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from bindings.errors import NotSerialisable

#: A value of user code: anything, until `encode` has looked at it.
Value: TypeAlias = Any

SAFE_INTEGER = 2**53
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive is UTC in a Worker
_SCALARS = frozenset({int, str, bool, type(None)})


class Encoded(str):
    """The text of one value, as `encode` writes it."""

    __slots__ = ()

    def size(self) -> int:
        """Bytes, as limits count them."""
        return len(self) if self.isascii() else len(self.encode())


UNDEFINED_TEXT = Encoded('{"$":"undefined"}')
NULL_TEXT = Encoded("null")
EMPTY_OBJECT_TEXT = Encoded("{}")


class JsDict(dict[str, Value]):
    """A dict whose keys can also be read and written as attributes; dict's own methods win."""

    __slots__ = ()

    def __getattr__(self, key: str) -> Value:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None

    def __setattr__(self, key: str, value: Value) -> None:
        self[key] = value

    def to_py(self, **_: object) -> JsDict:
        """Pyodide's conversion; the value is Python already."""
        return self


# -- encoding ------------------------------------------------------------------------------------------------

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False).encode
_dumps_ascii = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def encode(value: Value) -> Encoded:
    """The text of a Python value.

    Raises `TypeError` for what Python's RPC layer refuses by itself (tuples, bytearrays, awaitables) and
    `NotSerialisable`, with the path, for everything that structured clone refuses. The value is not changed.
    """
    try:
        tree = value if _is_plain(value) else _Encoder().tree(value, "$")
    except RecursionError:
        # Either a cycle, which the tagged form can say, or a value too deep for both.
        tree = _deep_tree(value)
    return _write(tree)


def _deep_tree(value: Value) -> Value:
    try:
        return _Encoder().tree(value, "$")
    except RecursionError:
        raise NotSerialisable("$", "a value nested too deeply") from None


def _write(tree: Value) -> Encoded:
    try:
        text = _dumps(tree)
    except RecursionError:
        raise NotSerialisable("$", "a value nested too deeply") from None
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # lone surrogates: legal in JavaScript strings, not in UTF-8
            text = _dumps_ascii(tree)
    return Encoded(text)


def _is_plain(value: Value) -> bool:
    """Whether JSON says the value as it is."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-SAFE_INTEGER < value < SAFE_INTEGER)
    if kind is list:
        return all(map(_is_plain, value))
    if kind is dict or kind is JsDict:
        return "$" not in value and all(type(k) is str for k in value) and all(map(_is_plain, value.values()))
    return False


class _Encoder:
    """One pass over one value; remembers the containers it is inside of, to find cycles."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._containers = 0

    def tree(self, value: Value, path: str) -> Value:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str(value)
        if isinstance(value, int):
            return _integer(int(value))
        if isinstance(value, float):
            return _number(float(value))
        if isinstance(value, dict | list | set):
            return self._container(value, path)
        return self._leaf(value, path)

    def _container(self, value: dict[Value, Value] | list[Value] | set[Value], path: str) -> Value:
        key = id(value)
        if key in self._open:
            return {"$": "ref", "v": self._open[key]}
        self._open[key] = self._containers
        self._containers += 1
        try:
            if isinstance(value, dict):
                return self._object(value, path)
            items = [self.tree(item, f"{path}[{index}]") for index, item in enumerate(value)]
            return items if isinstance(value, list) else {"$": "set", "v": items}
        finally:
            del self._open[key]

    def _object(self, value: dict[Value, Value], path: str) -> Value:
        pairs = [(_key(k), v) for k, v in value.items()]
        tree = [(k, self.tree(v, f"{path}.{k}")) for k, v in pairs]
        if any(k == "$" for k, _ in tree):
            return {"$": "object", "v": [[k, v] for k, v in tree]}
        return dict(tree)

    def _leaf(self, value: Value, path: str) -> Value:
        if isinstance(value, bytes | memoryview):
            return {"$": "bytes", "t": "Uint8Array", "v": base64.b64encode(value).decode()}
        if isinstance(value, datetime):
            return {"$": "date", "v": datetime_ms(value)}
        if isinstance(value, BaseException):
            return {"$": "error", "v": {"name": "Error", "message": str(value)}}
        _refuse_by_rpc(value)
        raise NotSerialisable(path, _what(value))


def _refuse_by_rpc(value: Value) -> None:
    """The refusals that the Python SDK makes before anything is sent, with its texts."""
    if isinstance(value, tuple | bytearray):
        raise TypeError(f"{type(value)} cannot be sent over RPC.")
    if inspect.isawaitable(value):
        raise TypeError(f"Awaitable {type(value)} cannot be sent over RPC.")


def _what(value: Value) -> str:
    if inspect.isroutine(value) or isinstance(value, type):
        return f"the function {getattr(value, '__qualname__', value)!s}"
    return f"a value of {type(value)}"


def _key(key: Value) -> str:
    """The property name that a key of a dict becomes."""
    if isinstance(key, str):
        return str(key)
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def _integer(value: int) -> Value:
    return value if -SAFE_INTEGER < value < SAFE_INTEGER else {"$": "bigint", "v": str(value)}


def _number(value: float) -> Value:
    if math.isnan(value):
        return {"$": "number", "v": "NaN"}
    if math.isinf(value):
        return {"$": "number", "v": "Infinity" if value > 0 else "-Infinity"}
    if value == 0 and math.copysign(1, value) < 0:
        return {"$": "number", "v": "-0"}
    # JavaScript has one type of number: 1.0 is 1.
    return int(value) if value.is_integer() and abs(value) < SAFE_INTEGER else value


def datetime_ms(value: datetime) -> int:
    """Milliseconds since the epoch; a naive datetime is UTC, as everything is in a Worker."""
    naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return (naive - _EPOCH) // timedelta(milliseconds=1)


def ms_datetime(ms: int) -> datetime:
    """The naive UTC datetime of a time in ms; raises `OverflowError` outside of Python's years."""
    return _EPOCH + timedelta(milliseconds=ms)


# -- decoding ------------------------------------------------------------------------------------------------


def decode(text: str) -> Value:
    """The Python value of a text; a new object at each call.

    Raises `ValueError` when the text was not written by this codec.
    """
    if '"$"' not in text:
        return json.loads(text, object_hook=JsDict)
    return _Decoder().value(json.loads(text))


def copy(value: Value, text: Encoded) -> Value:
    """What decoding `text`, the encoding of `value`, gives; saves the work for values that never change."""
    return value if type(value) in _SCALARS else decode(text)


class _Decoder:
    """One pass over one tree; numbers the containers as the encoder did."""

    def __init__(self) -> None:
        self._containers: list[Value] = []

    def value(self, tree: Value) -> Value:
        if isinstance(tree, list):
            return self._fill_list([], tree)
        if isinstance(tree, dict):
            return self._tagged(tree) if "$" in tree else self._fill_dict(tree.items())
        return tree

    def _tagged(self, tree: dict[str, Value]) -> Value:
        kind = tree["$"]
        read = _READERS.get(kind)
        if read is None:
            raise ValueError(f'unknown kind of value "{kind}"')
        return read(self, tree)

    def _fill_list(self, out: list[Value], items: Iterable[Value]) -> list[Value]:
        self._containers.append(out)
        out.extend(self.value(item) for item in items)
        return out

    def _fill_dict(self, pairs: Iterable[Iterable[Value]]) -> JsDict:
        out = JsDict()
        self._containers.append(out)
        for key, value in pairs:
            out[key] = self.value(value)
        return out

    def map(self, tree: dict[str, Value]) -> JsDict:
        out = JsDict()
        self._containers.append(out)
        for key, value in tree["v"]:
            decoded = self.value(key)
            out[decoded if _hashable(decoded) else repr(decoded)] = self.value(value)
        return out

    def set(self, tree: dict[str, Value]) -> Value:
        items: list[Value] = []
        at = len(self._containers)
        self._fill_list(items, tree["v"])
        if not all(map(_hashable, items)):
            return items  # a Set of objects: Python's set cannot hold them
        self._containers[at] = set(items)
        return self._containers[at]

    def object(self, tree: dict[str, Value]) -> JsDict:
        return self._fill_dict(tree["v"])

    def ref(self, tree: dict[str, Value]) -> Value:
        return self._containers[tree["v"]]

    def error(self, tree: dict[str, Value]) -> Exception:
        return Exception(tree["v"].get("message", ""))


def _hashable(value: Value) -> bool:
    return not isinstance(value, list | dict | set)


def _read_number(_: _Decoder, tree: dict[str, Value]) -> float:
    return float(tree["v"].replace("Infinity", "inf"))


def _read_date(_: _Decoder, tree: dict[str, Value]) -> datetime | None:
    return None if tree["v"] is None else ms_datetime(tree["v"])


def _read_bytes(_: _Decoder, tree: dict[str, Value]) -> bytes:
    try:
        return base64.b64decode(tree["v"], validate=True)
    except binascii.Error as error:
        raise ValueError(f"bytes are not base64: {error}") from None


_READERS: dict[str, Callable[[_Decoder, dict[str, Value]], Value]] = {
    "undefined": lambda _, tree: None,
    "number": _read_number,
    "bigint": lambda _, tree: int(tree["v"]),
    "date": _read_date,
    "map": _Decoder.map,
    "set": _Decoder.set,
    "bytes": _read_bytes,
    "regexp": lambda _, tree: f"/{tree['v']}/{tree.get('flags', '')}",
    "error": _Decoder.error,
    "object": _Decoder.object,
    "ref": _Decoder.ref,
}


# -- as plain JSON -------------------------------------------------------------------------------------------


def to_json(text: str) -> Value:
    """The value as `JSON.stringify` would show it, for HTTP answers and logs.

    Dates become ISO texts, bytes lists of numbers, Maps and Sets their entries; undefined is null, and a cycle
    the text "[cycle]".
    """
    tree = json.loads(text)
    return _jsonable(tree) if '"$"' in text else tree


def _jsonable(tree: Value) -> Value:
    if isinstance(tree, list):
        return [_jsonable(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if "$" not in tree:
        return {k: _jsonable(v) for k, v in tree.items() if not _is_undefined(v)}
    kind, inner = tree["$"], tree.get("v")
    if kind in _JSON_OF:
        return _JSON_OF[kind](inner)
    return inner


def _is_undefined(tree: Value) -> bool:
    return isinstance(tree, dict) and tree.get("$") == "undefined"


def iso(ms: int) -> str:
    """ISO 8601 in UTC with milliseconds and Z, as JavaScript writes a Date."""
    return ms_datetime(ms).isoformat(timespec="milliseconds") + "Z"


def _iso_or_null(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)


_JSON_OF: dict[str, Callable[[Value], Value]] = {
    "undefined": lambda _: None,
    "number": lambda v: 0 if v == "-0" else None,
    "bigint": lambda v: v,
    "date": _iso_or_null,
    "map": lambda v: [[_jsonable(k), _jsonable(x)] for k, x in v],
    "set": lambda v: [_jsonable(x) for x in v],
    "bytes": lambda v: list(base64.b64decode(v)),
    "object": lambda v: {k: _jsonable(x) for k, x in v},
    "ref": lambda _: "[cycle]",
    "error": lambda v: {"name": v.get("name"), "message": v.get("message")},
}
