"""Stored values as trees one can look at: every kind of structured clone is shown as what it is.

`bindings.values` says what the text looks like. Trees are bounded: what is left out is said, and is a link away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from emulator.dashboard.text import cut, exact, plural, size


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is shown of one value: nothing of a larger one, so many parts, so many characters of each text."""

    bytes: int
    parts: int
    characters: int


AMONG_OTHERS: Final = Bounds(bytes=48 * 1024, parts=400, characters=400)
ON_ITS_PAGE: Final = Bounds(bytes=4 * 1024 * 1024, parts=6_000, characters=200_000)
#: Containers inside of one another that are shown: templates call themselves for each.
_DEEPEST: Final = 100


@dataclass(frozen=True, slots=True)
class Node:
    """`kind` is a class of the style sheet; `label` the key or the place in the container above.

    `rest` says how much of the text is left out.
    """

    kind: str
    label: str
    text: str
    children: tuple[Node, ...] = ()
    closed: bool = False
    rest: str = ""


@dataclass(frozen=True, slots=True)
class ValueView:
    """`tree` is None where the value is absent, too large to be shown at once, or must not be shown (`note`).

    `is_cut`: the tree is not all of the value.
    """

    which: str
    tree: Node | None
    note: str = ""
    bytes: int | None = None
    url: str = ""
    is_cut: bool = False

    @property
    def is_there(self) -> bool:
        return self.tree is not None or self.bytes is not None


def value_view(
    which: str,
    text: str | None,
    url: str = "",
    size_bytes: int | None = None,
    bounds: Bounds = AMONG_OTHERS,
) -> ValueView:
    """The view of an encoded value; `size_bytes` where the text itself was not read."""
    if text is None:
        note = "" if size_bytes is None else f"{size(size_bytes)}, not loaded"
        return ValueView(which, None, note, size_bytes, url)
    length = len(text.encode("utf-8", "replace"))
    if length > bounds.bytes:
        return ValueView(which, None, f"{size(length)}, too large to be shown at once", length, url)
    tree = _Tree(bounds)
    root = tree.read(text)
    return ValueView(which, root, "", length, url, tree.is_cut)


def tree_of(text: str, bounds: Bounds = AMONG_OTHERS) -> Node:
    return _Tree(bounds).read(text)


class _Tree:
    """One pass over one value; counts what it has made."""

    def __init__(self, bounds: Bounds) -> None:
        self._left = bounds.parts
        self._characters = bounds.characters
        self.is_cut = False

    def read(self, text: str) -> Node:
        try:
            return self.node("", json.loads(text))
        except (ValueError, RecursionError) as error:
            note = Node("note", "", f"not readable: {type(error).__name__}")
            return Node("raw", "", cut(text, self._characters), (note,))

    def node(self, label: str, tree: Any, depth: int = 0) -> Node:
        self._left -= 1
        if isinstance(tree, list):
            parts = ((str(index), item) for index, item in enumerate(tree))
            return self._container("array", label, f"[{len(tree)}]", parts, len(tree), depth)
        if isinstance(tree, dict):
            return self._tagged(label, tree, depth) if "$" in tree else self._object(label, tree.items(), depth)
        return self._text(label, tree) if isinstance(tree, str) else _scalar(label, tree)

    def _text(self, label: str, text: str) -> Node:
        more = len(text) - self._characters
        if more <= 0:
            return Node("string", label, text)
        self.is_cut = True
        rest = f"… {plural(more, 'more character')}"
        return Node("string", label, text[: self._characters], rest=rest)

    def _object(self, label: str, items: Iterable[tuple[str, Any]], depth: int) -> Node:
        pairs = list(items)
        return self._container("object", label, f"{{{len(pairs)}}}", pairs, len(pairs), depth)

    def _container(
        self, kind: str, label: str, text: str, parts: Iterable[tuple[str, Any]], count: int, depth: int
    ) -> Node:
        children: list[Node] = []
        if depth >= _DEEPEST and count:
            self.is_cut = True
            return Node(kind, label, text, (Node("note", "", "… nested too deeply to be shown"),), closed=True)
        for name, item in parts:
            if self._left <= 0:
                self.is_cut = True
                children.append(Node("note", "", f"… {plural(count - len(children), 'more', 'more')}"))
                break
            children.append(self.node(name, item, depth + 1))
        return Node(kind, label, text, tuple(children), closed=depth > 2 or (depth > 0 and count > 30))

    def _tagged(self, label: str, tree: dict[str, Any], depth: int) -> Node:
        kind: str = tree["$"]
        value: Any = tree.get("v")
        if kind == "map":
            pairs = [(_key(name), item) for name, item in value]
            return self._container("map", label, f"Map({len(pairs)})", pairs, len(pairs), depth)
        if kind == "set":
            parts = [(str(index), item) for index, item in enumerate(value)]
            return self._container("set", label, f"Set({len(parts)})", parts, len(parts), depth)
        if kind == "object":
            return self._object(label, ((str(name), item) for name, item in value), depth)
        read = _TAGGED.get(kind)
        return Node("raw", label, cut(json.dumps(tree), 80)) if read is None else read(label, tree)


def _key(tree: Any) -> str:
    return tree if isinstance(tree, str) else cut(json.dumps(tree), 60)


def _scalar(label: str, value: Any) -> Node:
    if value is None:
        return Node("null", label, "null")
    if isinstance(value, bool):
        return Node("boolean", label, "true" if value else "false")
    return Node("number", label, repr(value))


def _bytes(label: str, tree: dict[str, Any]) -> Node:
    encoded = str(tree.get("v", ""))
    count = len(encoded) * 3 // 4 - encoded.count("=")
    shown = cut(encoded, 64)
    return Node("bytes", label, f"{tree.get('t', 'Uint8Array')}({count})", (Node("note", "base64", shown),), True)


def _date(label: str, tree: dict[str, Any]) -> Node:
    at = tree.get("v")
    return Node("date", label, "Invalid Date" if at is None else exact(at))


def _error(label: str, tree: dict[str, Any]) -> Node:
    value = tree.get("v", {})
    return Node(
        "error",
        label,
        f"{value.get('name', 'Error')}: {cut(str(value.get('message', '')), AMONG_OTHERS.characters)}",
    )


_TAGGED: Final[dict[str, Callable[[str, dict[str, Any]], Node]]] = {
    "undefined": lambda label, _: Node("undefined", label, "undefined"),
    "number": lambda label, tree: Node("number", label, str(tree.get("v"))),
    "bigint": lambda label, tree: Node("number", label, f"{tree.get('v')}n"),
    "date": _date,
    "bytes": _bytes,
    "regexp": lambda label, tree: Node("regexp", label, f"/{tree.get('v', '')}/{tree.get('flags', '')}"),
    "error": _error,
    "ref": lambda label, tree: Node("ref", label, f"the container number {tree.get('v', 0) + 1} again (a cycle)"),
}
