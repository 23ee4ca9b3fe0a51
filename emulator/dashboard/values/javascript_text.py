"""Stored values as JavaScript one can paste; every kind of structured clone is made by its own class."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from stepwell.bindings.values.trees import numbered
from stepwell.emulator.dashboard.values.literals import lines, quoted

_ERRORS: Final = frozenset(
    {"Error", "TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError"}
)


def as_javascript(text: str) -> str:
    """An expression. A cycle is undefined, with a comment; an object that is met again is written again."""
    try:
        tree = json.loads(text)
        return _Writer(tree).write(tree, 0)
    except RecursionError:
        return quoted("[nested too deeply]")


class _Writer:
    """One pass over one tree."""

    def __init__(self, tree: Any) -> None:
        self._numbered = numbered(tree)
        self._open: set[int] = set()

    def write(self, tree: Any, depth: int) -> str:
        if not isinstance(tree, list | dict):
            return quoted(tree) if isinstance(tree, str) else json.dumps(tree)
        if id(tree) in self._open:
            return "undefined /* a cycle */"
        self._open.add(id(tree))
        text = self._object_text(tree, depth)
        self._open.discard(id(tree))
        return text

    def _object_text(self, tree: Any, depth: int) -> str:
        if isinstance(tree, list):
            return lines("[", [f"{self.write(item, depth + 1)}," for item in tree], "]", depth)
        kind = tree.get("$")
        if kind is None:
            return self._fields(tree.items(), depth)
        if kind in ("ref", "same"):
            return self.write(self._numbered.named(tree), depth)
        if kind in ("bytes", "view", "buffer"):
            return self._bytes(tree)
        return self._tagged(kind, tree, depth)

    def _tagged(self, kind: str, tree: dict[str, Any], depth: int) -> str:
        if kind == "object":
            return self._fields(tree["v"], depth)
        if kind == "array":
            return f"Object.assign([], {self._fields([['length', tree['n']], *tree['v']], depth)})"
        if kind in _CALLS:
            return f"{_CALLS[kind]}({self.write(tree['v'], depth)})"
        return self._error(tree, depth) if kind == "error" else _SCALARS[kind](tree)

    def _fields(self, pairs: Iterable[Any], depth: int) -> str:
        return lines("{", [f"{_key(key)}: {self.write(item, depth + 1)}," for key, item in pairs], "}", depth)

    def _bytes(self, tree: dict[str, Any]) -> str:
        """All but bytes themselves are views of a buffer, or the buffer."""
        kind = tree.get("t", "ArrayBuffer")
        array = f"new Uint8Array({json.dumps(list(self._numbered.bytes_of(tree)))})"
        if kind == "Uint8Array":
            return array
        return f"{array}.buffer" if kind == "ArrayBuffer" else f"new {kind}({array}.buffer)"

    def _error(self, tree: dict[str, Any], depth: int) -> str:
        name, message = tree["v"].get("name", "Error"), quoted(tree["v"].get("message", ""))
        if tree["v"].get("dom") or name == "DataCloneError":
            made = f"new DOMException({message}, {quoted(name)})"
        elif name == "AggregateError":
            made = f"new AggregateError([], {message})"
        else:
            made = f"new {name if name in _ERRORS else 'Error'}({message})"
        if "cause" not in tree["v"]:
            return made
        return f"Object.assign({made}, {self._fields([('cause', tree['v']['cause'])], depth)})"


def _key(key: str) -> str:
    """As it stands `__proto__` would be no key, but the prototype."""
    return f"[{quoted(key)}]" if key == "__proto__" else quoted(key)


def _date(tree: dict[str, Any]) -> str:
    return f"new Date({'NaN' if tree['v'] is None else tree['v']})"


#: Kinds that a call makes of one value.
_CALLS: Final = {"map": "new Map", "set": "new Set", "boxed": "Object"}

_SCALARS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "undefined": lambda _: "undefined",
    "number": lambda tree: str(tree["v"]),
    "bigint": lambda tree: f"{tree['v']}n",
    "date": _date,
    "regexp": lambda tree: f"new RegExp({quoted(tree['v'])}, {quoted(tree.get('flags', ''))})",
}
