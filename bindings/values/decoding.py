"""The text of the codec to Python values; `bindings.values` says what the text looks like."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, NamedTuple

from stepwell.bindings.values.shapes import Encoded, JsDict, JsOther, Value, jsnull
from stepwell.bindings.values.times import ms_datetime

_SCALARS = frozenset({int, str, bool, type(None)})

#: Arrays with more items than that, most of which are holes, are dicts.
_LONGEST_WITH_HOLES: Final = 1_000_000

_scan = json.JSONDecoder(object_hook=JsDict).scan_once  # type: ignore[attr-defined]  # typeshed lacks it


def decode(text: str) -> Value:
    """The Python value of a text; a new object at each call.

    Raises `ValueError` when the text was not written by this codec.
    """
    if '"$"' in text:
        return _decode_tagged(text)
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError(f"not a value: {text[:40]!r}") from None
    if end != len(text):
        raise ValueError(f"text after the value: {text[end : end + 40]!r}")
    return value


def _decode_tagged(text: str) -> Value:
    try:
        return _Decoder().value(json.loads(text))
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a value of this codec: {type(error).__name__}: {error}") from error


def has_cycle(text: str) -> bool:
    """Whether a container holds itself. Quotes within texts are escaped: no text looks like a reference."""
    return '"$":"ref"' in text and _holds_itself(decode(text), set(), set())


def _holds_itself(value: Value, around: set[int], checked: set[int]) -> bool:
    """`around` are the containers that the value lies in; those in `checked` hold no cycle."""
    key = id(value)
    if not isinstance(value, dict | list | set) or key in checked:
        return False
    if key in around:
        return True
    around.add(key)
    items = value.values() if isinstance(value, dict) else value
    found = any(_holds_itself(item, around, checked) for item in items)
    around.discard(key)
    checked.add(key)
    return found


def copy(value: Value, text: Encoded) -> Value:
    """What decoding `text`, the encoding of `value`, gives; saves the work for values that never change."""
    return value if type(value) in _SCALARS else decode(text)


def decode_arguments(text: str) -> Value:
    """The arguments of a call, for the engine to check: None is undefined, and `jsnull` null.

    What no option may be stays apart from what one may: a BigInt is no number, and neither is `new Number(1)`.
    """
    return _ArgumentDecoder().value(json.loads(text))


class _Decoder:
    """One pass over one tree; numbers the objects as the encoder did."""

    def __init__(self) -> None:
        self._containers: list[Value] = []
        self._leaves: list[Value] = []

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
        for item in items:
            out.append(self.value(item))  # no comprehension: one frame less for each level
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

    def array(self, tree: dict[str, Value]) -> Value:
        """Holes are None. Fields beside the items have no place in a list."""
        length = tree["n"]
        if length > _LONGEST_WITH_HOLES:
            return self._fill_dict(tree["v"])
        out: list[Value] = [None] * length
        self._containers.append(out)
        for key, item in tree["v"]:
            value = self.value(item)
            if key.isdecimal() and int(key) < length:
                out[int(key)] = value
        return out

    def leaf(self, value: Value) -> Value:
        self._leaves.append(value)
        return value

    def view(self, tree: dict[str, Value]) -> bytes:
        number = len(self._leaves)
        self._leaves.append(b"")
        at, buffer = tree["at"], bytes(self.value(tree["v"]))
        # Other views of the same buffer ask for all of it.
        self._leaves[number] = _View(buffer, buffer[at : at + tree["n"]])
        return buffer[at : at + tree["n"]]

    def buffer(self, tree: dict[str, Value]) -> bytes:
        leaf = self._leaves[tree["v"]]
        return leaf.buffer if isinstance(leaf, _View) else bytes(leaf)

    def same(self, tree: dict[str, Value]) -> Value:
        leaf = self._leaves[tree["v"]]
        return leaf.part if isinstance(leaf, _View) else leaf

    def error(self, tree: dict[str, Value]) -> Exception:
        error = Exception(tree["v"].get("message", ""))
        self._leaves.append(error)
        cause = self.value(tree["v"].get("cause"))  # read in any case: what is in it counts for what refers back
        if isinstance(cause, Exception):
            error.__cause__ = cause
        return error


class _ArgumentDecoder(_Decoder):
    def value(self, tree: Value) -> Value:
        if tree is None:
            return jsnull
        if isinstance(tree, dict) and tree.get("$") in ("bigint", "boxed"):
            return JsOther(str(super().value(tree)))
        return super().value(tree)


class _View(NamedTuple):
    """Some bytes of a buffer."""

    buffer: bytes
    part: bytes


def _hashable(value: Value) -> bool:
    return not isinstance(value, list | dict | set)


def _read_number(_: _Decoder, tree: dict[str, Value]) -> float:
    return float(tree["v"].replace("Infinity", "inf"))


def _read_date(tree: dict[str, Value]) -> datetime | None:
    return None if tree["v"] is None else ms_datetime(tree["v"])


def _read_bytes(tree: dict[str, Value]) -> bytes:
    try:
        return base64.b64decode(tree["v"], validate=True)
    except binascii.Error as error:
        raise ValueError(f"bytes are not base64: {error}") from None


_READERS: dict[str, Callable[[_Decoder, dict[str, Value]], Value]] = {
    "undefined": lambda _, tree: None,
    "number": _read_number,
    "bigint": lambda _, tree: int(tree["v"]),
    "date": lambda decoder, tree: decoder.leaf(_read_date(tree)),
    "map": _Decoder.map,
    "set": _Decoder.set,
    "array": _Decoder.array,
    "bytes": lambda decoder, tree: decoder.leaf(_read_bytes(tree)),
    "view": _Decoder.view,
    "buffer": _Decoder.buffer,
    "regexp": lambda decoder, tree: decoder.leaf(f"/{tree['v']}/{tree.get('flags', '')}"),
    "boxed": lambda decoder, tree: decoder.leaf(decoder.value(tree["v"])),
    "same": _Decoder.same,
    "error": _Decoder.error,
    "object": _Decoder.object,
    "ref": _Decoder.ref,
}
