"""Stored values as JavaScript one can paste; every kind of structured clone is made by its own class."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from stepwell.emulator.dashboard.values.literals import lines, quoted

_ERRORS: Final = frozenset(
    {"Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError"}
)


def as_javascript(text: str) -> str:
    """An expression. A cycle is undefined, with a comment."""
    try:
        return _write(json.loads(text), 0)
    except RecursionError:
        return quoted("[nested too deeply]")


def _write(tree: Any, depth: int) -> str:
    if isinstance(tree, list):
        return lines("[", [f"{_write(item, depth + 1)}," for item in tree], "]", depth)
    if isinstance(tree, dict):
        return _tagged(tree, depth) if "$" in tree else _object(tree.items(), depth)
    return quoted(tree) if isinstance(tree, str) else json.dumps(tree)


def _object(pairs: Iterable[tuple[str, Any]], depth: int) -> str:
    return lines("{", [f"{_key(key)}: {_write(item, depth + 1)}," for key, item in pairs], "}", depth)


def _key(key: str) -> str:
    """As it stands `__proto__` would be no key, but the prototype."""
    return f"[{quoted(key)}]" if key == "__proto__" else quoted(key)


def _tagged(tree: dict[str, Any], depth: int) -> str:
    return _KINDS[tree["$"]](tree, depth)


def _date(tree: dict[str, Any], _: int) -> str:
    return f"new Date({'NaN' if tree['v'] is None else tree['v']})"


def _bytes(tree: dict[str, Any], _: int) -> str:
    """All but bytes themselves are views of a buffer, or the buffer."""
    kind = tree.get("t", "Uint8Array")
    array = f"new Uint8Array({json.dumps(list(base64.b64decode(tree['v'])))})"
    if kind == "Uint8Array":
        return array
    return f"{array}.buffer" if kind == "ArrayBuffer" else f"new {kind}({array}.buffer)"


def _error(tree: dict[str, Any], depth: int) -> str:
    name, message = tree["v"].get("name", "Error"), quoted(tree["v"].get("message", ""))
    if tree["v"].get("dom") or name == "DataCloneError":
        made = f"new DOMException({message}, {quoted(name)})"
    elif name == "AggregateError":
        made = f"new AggregateError([], {message})"
    else:
        made = f"new {name if name in _ERRORS else 'Error'}({message})"
    if "cause" not in tree["v"]:
        return made
    return f"Object.assign({made}, {_object([('cause', tree['v']['cause'])], depth)})"


_KINDS: Final[dict[str, Callable[[dict[str, Any], int], str]]] = {
    "undefined": lambda tree, _: "undefined",
    "number": lambda tree, _: str(tree["v"]),
    "bigint": lambda tree, _: f"{tree['v']}n",
    "date": _date,
    "map": lambda tree, depth: f"new Map({_write(tree['v'], depth)})",
    "set": lambda tree, depth: f"new Set({_write(tree['v'], depth)})",
    "bytes": _bytes,
    "regexp": lambda tree, _: f"new RegExp({quoted(tree['v'])}, {quoted(tree.get('flags', ''))})",
    "error": _error,
    "object": lambda tree, depth: _object(tree["v"], depth),
    "ref": lambda tree, _: "undefined /* a cycle */",
}
