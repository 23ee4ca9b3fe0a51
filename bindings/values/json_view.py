"""A stored value as plain JSON data, for HTTP answers, logs and the dashboard: what `JSON.stringify` would show."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from stepwell.bindings.values import Value
from stepwell.bindings.values.times import iso
from stepwell.bindings.values.trees import numbered

_TOO_DEEP: Final = "[nested too deeply]"
#: Objects that are met again are written again, until this many parts were: they could double at each level.
_MOST_PARTS: Final = 100_000


def to_json(text: str) -> Value:
    """The data of an encoded value.

    Dates become ISO texts, bytes lists of numbers, Maps and Sets their entries, regular expressions their text;
    undefined is null, and a cycle the text "[cycle]".
    """
    try:
        tree = json.loads(text)
        return _View(tree).of(tree) if '"$"' in text else tree
    except RecursionError:  # a JavaScript Worker can nest deeper than Python reads
        return _TOO_DEEP


class _View:
    """One pass over one tree."""

    def __init__(self, tree: Value) -> None:
        self._numbered = numbered(tree)
        self._open: set[int] = set()
        self._parts = 0

    def of(self, tree: Value) -> Value:
        self._parts += 1
        if isinstance(tree, list):
            return self._within(tree, lambda: [self.of(item) for item in tree])
        if not isinstance(tree, dict):
            return tree
        if "$" not in tree:
            return self._within(tree, lambda: self._fields(tree.items()))
        return self._tagged(tree)

    def _within(self, tree: Value, make: Callable[[], Value]) -> Value:
        self._open.add(id(tree))
        made = make()
        self._open.discard(id(tree))
        return made

    def _tagged(self, tree: dict[str, Value]) -> Value:
        kind = tree["$"]
        if kind in ("ref", "same"):
            return self._again(self._numbered.named(tree))
        if kind in ("bytes", "view", "buffer"):
            return list(self._numbered.bytes_of(tree))
        if kind in _JSON_OF:
            return _JSON_OF[kind](tree)
        return self._within(tree, lambda: self._container(kind, tree))

    def _container(self, kind: str, tree: dict[str, Value]) -> Value:
        value = tree["v"]
        if kind == "map":
            return [[self.of(key), self.of(item)] for key, item in value]
        if kind == "array":
            return self._array(tree)
        if kind == "object":
            return self._fields(value)
        return [self.of(item) for item in value] if kind == "set" else self.of(value)

    def _array(self, tree: dict[str, Value]) -> Value:
        """A list with null for holes; of one that is mostly holes, its items by their places."""
        items = dict(tree["v"])
        if tree["n"] > _MOST_PARTS:
            return self._fields(items.items())
        return [self.of(items.get(str(place))) for place in range(tree["n"])]

    def _fields(self, pairs: Any) -> Value:
        return {key: self.of(item) for key, item in pairs if not _is_undefined(item)}

    def _again(self, named: Value) -> Value:
        if id(named) in self._open:
            return "[cycle]"
        return "[repeated]" if self._parts > _MOST_PARTS else self.of(named)


def _is_undefined(tree: Value) -> bool:
    return isinstance(tree, dict) and tree.get("$") == "undefined"


def _date(tree: dict[str, Any]) -> str | None:
    ms: int | None = tree["v"]
    if ms is None:
        return None
    try:
        return iso(ms)
    except OverflowError:  # JavaScript's years go further than Python's
        return f"Date({ms})"


_JSON_OF: Final[dict[str, Callable[[dict[str, Any]], Value]]] = {
    "undefined": lambda _: None,
    "number": lambda tree: 0 if tree["v"] == "-0" else None,
    "bigint": lambda tree: tree["v"],
    "date": _date,
    "regexp": lambda tree: f"/{tree['v']}/{tree.get('flags', '')}",
    "error": lambda tree: {"name": tree["v"].get("name"), "message": tree["v"].get("message")},
}
