"""A stored value as plain JSON data, for HTTP answers, logs and the dashboard: what `JSON.stringify` would show."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from stepwell.bindings.values import Value
from stepwell.bindings.values.times import iso

_TOO_DEEP = "[nested too deeply]"


def to_json(text: str) -> Value:
    """The data of an encoded value.

    Dates become ISO texts, bytes lists of numbers, Maps and Sets their entries, regular expressions their text;
    undefined is null, and a cycle the text "[cycle]".
    """
    try:
        tree = json.loads(text)
        return _jsonable(tree) if '"$"' in text else tree
    except RecursionError:  # a JavaScript Worker can nest deeper than Python reads
        return _TOO_DEEP


def _jsonable(tree: Value) -> Value:
    if isinstance(tree, list):
        return [_jsonable(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if "$" not in tree:
        return {k: _jsonable(v) for k, v in tree.items() if not _is_undefined(v)}
    if tree["$"] == "regexp":
        return f"/{tree['v']}/{tree.get('flags', '')}"
    return _JSON_OF[tree["$"]](tree.get("v"))


def _is_undefined(tree: Value) -> bool:
    return isinstance(tree, dict) and tree.get("$") == "undefined"


def _date(ms: int | None) -> str | None:
    if ms is None:
        return None
    try:
        return iso(ms)
    except OverflowError:  # JavaScript's years go further than Python's
        return f"Date({ms})"


_JSON_OF: dict[str, Callable[[Value], Value]] = {
    "undefined": lambda _: None,
    "number": lambda v: 0 if v == "-0" else None,
    "bigint": lambda v: v,
    "date": _date,
    "map": lambda v: [[_jsonable(k), _jsonable(x)] for k, x in v],
    "set": lambda v: [_jsonable(x) for x in v],
    "bytes": lambda v: list(base64.b64decode(v)),
    "object": lambda v: {k: _jsonable(x) for k, x in v if not _is_undefined(x)},
    "ref": lambda _: "[cycle]",
    "error": lambda v: {"name": v.get("name"), "message": v.get("message")},
}
