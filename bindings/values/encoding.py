"""Python values to the text of the codec; `bindings.values` says what the text looks like."""

from __future__ import annotations

import base64
import inspect
import json
import math
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import Final

from stepwell.bindings.errors import NotSerialisable, ValueTooLarge
from stepwell.bindings.values.shapes import (
    FALSE_TEXT,
    NULL_TEXT,
    SAFE_INTEGER,
    TRUE_TEXT,
    Encoded,
    JsDict,
    JsMap,
    JsNull,
    Value,
)
from stepwell.bindings.values.times import datetime_ms

#: Deeper values are refused: what was encoded must decode again, however deep the stack is then.
MAX_DEPTH: Final = 200
_ALWAYS_PLAIN = frozenset({str, bool, type(None)})

_dumps_ascii = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def _make_dumps() -> Callable[[Value], str]:
    """`JSONEncoder.encode`, without its making a new C encoder at each call (5 of its 8 us)."""
    plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)
    make = getattr(json.encoder, "c_make_encoder", None)
    quote = getattr(json.encoder, "encode_basestring", None)
    if make is None or quote is None:
        return plain.encode
    chunks = make(None, plain.default, quote, None, ":", ",", False, False, False)
    join = "".join
    return lambda tree: join(chunks(tree, 0))


_dumps = _make_dumps()


def encode(value: Value, most: int | None = None) -> Encoded:
    """The text of a Python value.

    Raises `TypeError` for what Python's RPC layer refuses by itself (tuples, bytearrays, awaitables) and
    `NotSerialisable`, with the path, for everything that structured clone refuses. The value is not changed.

    Raises `ValueTooLarge` as soon as it is clear that the text will exceed `most` characters. A text that is
    returned may exceed it nevertheless.
    """
    # A step costs one encode: the commonest results take the short way.
    kind = type(value)
    if kind is int and -SAFE_INTEGER < value < SAFE_INTEGER:
        return Encoded(int.__repr__(value))
    if value is None:
        return NULL_TEXT
    if kind is bool:
        return TRUE_TEXT if value else FALSE_TEXT
    if kind is str:
        _Budget(most).take(len(value))
    return _write(value if _is_plain(value, 0, _Budget(most)) else _Encoder(_Budget(most)).tree(value, 0))


class _Budget:
    """The characters that are left for the text of a value, and the ids of the containers that were met."""

    __slots__ = ("_left", "seen")

    def __init__(self, most: int | None) -> None:
        self._left = math.inf if most is None else most
        self.seen: set[int] = set()

    def take(self, characters: int) -> None:
        self._left -= characters
        if self._left < 0:
            raise ValueTooLarge


def _write(tree: Value) -> Encoded:
    text = _dumps(tree)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # lone surrogates: legal in JavaScript strings, not in UTF-8
            text = _dumps_ascii(tree)
    return Encoded(text)


def _is_plain(value: Value, depth: int, budget: _Budget) -> bool:
    """Whether JSON says the value as it is."""
    kind = type(value)
    if kind in _ALWAYS_PLAIN:
        return True
    if kind is int:
        return bool(-SAFE_INTEGER < value < SAFE_INTEGER)
    if kind is float:
        return math.isfinite(value) and not value.is_integer()
    if depth >= MAX_DEPTH or id(value) in budget.seen:
        return False
    budget.seen.add(id(value))
    if kind is dict or kind is JsDict:
        return _is_plain_object(value, depth + 1, budget)
    return kind is list and _are_plain(value, depth + 1, budget)


def _are_plain(values: Collection[Value], depth: int, budget: _Budget) -> bool:
    budget.take(2 * len(values))  # each has a character and a comma or bracket
    texts = 0
    for item in values:
        kind = type(item)
        if kind is str:
            texts += len(item)
        # The test of the type spares a call for most items.
        elif kind not in _ALWAYS_PLAIN and not _is_plain(item, depth, budget):
            return False
    budget.take(texts)
    return True


def _is_plain_object(value: dict[Value, Value], depth: int, budget: _Budget) -> bool:
    if "$" in value:
        return False
    budget.take(3 * len(value))  # each key has two quotes and a colon
    texts = 0
    for key in value:
        if type(key) is not str:
            return False
        texts += len(key)
    budget.take(texts)
    return _are_plain(value.values(), depth, budget)


class _Encoder:
    """One pass over one value; numbers the containers that it meets, to name those that it meets again."""

    def __init__(self, budget: _Budget) -> None:
        self._take = budget.take
        self._met: dict[int, int] = {}
        self._path: list[str | int] = []

    def tree(self, value: Value, depth: int) -> Value:
        if value is None or isinstance(value, bool | JsNull):
            return None if isinstance(value, JsNull) else value
        if isinstance(value, str):
            self._take(len(value))
            return str.__str__(value)  # of a str with an Enum mixed in, too, the text itself
        if isinstance(value, int):
            return _integer(int(value))
        if isinstance(value, float):
            return _number(float(value))
        if isinstance(value, dict | list | set):
            return self._container(value, depth)
        return self._leaf(value)

    def _container(self, value: dict[Value, Value] | list[Value] | set[Value], depth: int) -> Value:
        key = id(value)
        if key in self._met:
            return {"$": "ref", "v": self._met[key]}
        if depth >= MAX_DEPTH:
            raise NotSerialisable(self._where(), "a value nested too deeply")
        self._take(2 * len(value))
        self._met[key] = len(self._met)
        self._path.append("")
        if isinstance(value, JsMap):
            tree: Value = {"$": "map", "v": self._entries(value, depth + 1)}
        elif isinstance(value, dict):
            tree = self._object(value, depth + 1)
        else:
            items = self._items(value, depth + 1)
            tree = items if isinstance(value, list) else {"$": "set", "v": items}
        self._path.pop()
        return tree

    def _items(self, values: Iterable[Value], depth: int) -> list[Value]:
        items = []
        for index, item in enumerate(values):
            self._path[-1] = index
            items.append(self.tree(item, depth))
        return items

    def _entries(self, value: JsMap, depth: int) -> list[list[Value]]:
        entries = []
        for key, item in value.items():
            self._path[-1] = str(key)
            entries.append([self.tree(key, depth), self.tree(item, depth)])
        return entries

    def _object(self, value: dict[Value, Value], depth: int) -> Value:
        tree: dict[str, Value] = {}
        for key, item in value.items():
            name = _key(key)
            self._path[-1] = name
            tree[name] = self.tree(item, depth)
        return {"$": "object", "v": [[k, v] for k, v in tree.items()]} if "$" in tree else tree

    def _leaf(self, value: Value) -> Value:
        if isinstance(value, bytes | memoryview):
            self._take(len(value) if isinstance(value, bytes) else value.nbytes)
            return {"$": "bytes", "t": "Uint8Array", "v": base64.b64encode(value).decode()}
        if isinstance(value, datetime):
            return {"$": "date", "v": datetime_ms(value)}
        if isinstance(value, BaseException):
            return {"$": "error", "v": {"name": "Error", "message": str(value)}}
        refuse_by_rpc(value)
        raise NotSerialisable(self._where(), _what(value), is_function=_is_function(value))

    def _where(self) -> str:
        return "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self._path)


def refuse_by_rpc(value: Value) -> None:
    """The refusals that the Python SDK makes before anything is sent, with its texts."""
    if isinstance(value, tuple | bytearray):
        raise TypeError(f"{type(value)} cannot be sent over RPC.")
    if inspect.isawaitable(value):
        raise TypeError(f"Awaitable {type(value)} cannot be sent over RPC.")


def _is_function(value: Value) -> bool:
    return callable(value) and not isinstance(value, type)


def _what(value: Value) -> str:
    if inspect.isroutine(value) or isinstance(value, type):
        return f"the function {getattr(value, '__qualname__', value)!s}"
    return f"a value of {type(value)}"


def _key(key: Value) -> str:
    """The property name that a key of a dict becomes."""
    if isinstance(key, str):
        return str.__str__(key)
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
