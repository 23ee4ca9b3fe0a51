"""Stored values as trees one can look at: every kind of structured clone is shown as what it is.

`bindings.values` says what the text looks like. Trees are bounded: what is left out is said, and is a link away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from stepwell.emulator.dashboard.parts.text import cut, exact, plural, size


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is shown of one value: nothing of a larger one, so many parts, so many characters of each text."""

    bytes: int
    parts: int
    characters: int


AMONG_OTHERS: Final = Bounds(bytes=48 * 1024, parts=400, characters=400)
ON_ITS_PAGE: Final = Bounds(bytes=64 * 1024 * 1024, parts=6_000, characters=4_000_000)
#: A longer text counts as several parts.
_PART_CHARACTERS: Final = 600
#: Containers inside of one another that are shown: templates call themselves for each.
_DEEPEST: Final = 100
_FOUND_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class Node:
    """`kind` is a class of the style sheet; `label` the key or the place in the container above.

    `rest` says how much of the text is left out. `at` is a place for `part_view`: where what is left out begins, or
    where this was found.
    """

    kind: str
    label: str
    text: str
    children: tuple[Node, ...] = ()
    closed: bool = False
    rest: str = ""
    at: str = ""


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
        why = "not loaded" if (size_bytes or 0) <= bounds.bytes else "too large to be shown at once"
        note = "" if size_bytes is None else f"{size(size_bytes)}, {why}"
        return ValueView(which, None, note, size_bytes, url)
    length = len(text.encode("utf-8", "replace"))
    if length > bounds.bytes:
        return ValueView(which, None, f"{size(length)}, too large to be shown at once", length, url)
    tree = _Tree(bounds)
    root = tree.read(text)
    return ValueView(which, root, "", length, url, tree.is_cut)


def tree_of(text: str, bounds: Bounds = AMONG_OTHERS) -> Node:
    return _Tree(bounds).read(text)


@dataclass(frozen=True, slots=True)
class _Container:
    """What has parts: its kind, what is shown of it, and its parts by their labels."""

    kind: str
    text: str
    parts: Sequence[tuple[str, Any]]


def container_of(tree: Any) -> _Container | None:
    """What a decoded value has parts in, or None for what has none."""
    if isinstance(tree, list):
        return _Container("array", f"[{len(tree)}]", [(str(index), item) for index, item in enumerate(tree)])
    if not isinstance(tree, dict):
        return None
    if "$" not in tree:
        return _Container("object", f"{{{len(tree)}}}", list(tree.items()))
    value: Any = tree.get("v")
    if tree["$"] == "map":
        return _Container("map", f"Map({len(value)})", [(_key(name), item) for name, item in value])
    if tree["$"] == "set":
        return _Container("set", f"Set({len(value)})", [(str(index), item) for index, item in enumerate(value)])
    if tree["$"] == "object":
        return _Container("object", f"{{{len(value)}}}", [(str(name), item) for name, item in value])
    if tree["$"] == "array":
        return _Container("array", f"[{tree.get('n', 0)}]", [(str(name), item) for name, item in value])
    return None


class _Tree:
    """One pass over one value; counts what it has made, and knows the places of the parts that it is inside of."""

    def __init__(self, bounds: Bounds) -> None:
        self._left = bounds.parts
        self._characters = bounds.characters
        self._path: list[int] = []
        self.is_cut = False

    def read(self, text: str) -> Node:
        try:
            return self.node("", json.loads(text))
        except (ValueError, RecursionError) as error:
            note = Node("note", "", f"not readable: {type(error).__name__}")
            return Node("raw", "", cut(text, self._characters), (note,))

    def part(self, label: str, tree: Any, path: Sequence[int], start: int) -> Node:
        """What is inside of the value at `path`, from the part number `start` on; open."""
        self._path = list(path)
        return replace(self.node(label, tree, start=start), closed=False)

    def node(self, label: str, tree: Any, depth: int = 0, start: int = 0) -> Node:
        self._left -= 1
        container = container_of(tree)
        if container is not None:
            return self._inside(label, container, depth, start)
        if isinstance(tree, str):
            return self._text(label, tree)
        return leaf_of(tree, label)

    def _text(self, label: str, text: str) -> Node:
        self._left -= min(len(text), self._characters) // _PART_CHARACTERS
        more = len(text) - self._characters
        if more <= 0:
            return Node("string", label, text)
        self.is_cut = True
        rest = f"… {plural(more, 'more character')}"
        return Node("string", label, text[: self._characters], rest=rest)

    def _inside(self, label: str, container: _Container, depth: int, start: int) -> Node:
        children: list[Node] = []
        count = len(container.parts)
        if depth >= _DEEPEST and count:
            note = self._left_out("… nested too deeply to be shown", 0)
            return Node(container.kind, label, container.text, (note,), closed=True)
        for place, (name, item) in enumerate(container.parts[start:], start):
            if self._left <= 0:
                children.append(self._left_out(f"… {plural(count - place, 'more', 'more')}", place))
                break
            self._path.append(place)
            children.append(self.node(name, item, depth + 1))
            self._path.pop()
        closed = depth > 2 or (depth > 0 and count > 30)
        return Node(container.kind, label, container.text, tuple(children), closed=closed)

    def _left_out(self, text: str, start: int) -> Node:
        self.is_cut = True
        return Node("note", "", text, at=_place(self._path, start))


def _place(path: Iterable[int], start: int) -> str:
    return f"{'.'.join(map(str, path))}:{start}"


def leaf_of(tree: Any, label: str = "") -> Node:
    """A decoded value without parts."""
    if isinstance(tree, str):
        return Node("string", label, tree)
    if not isinstance(tree, dict):
        return _scalar(label, tree)
    read = _TAGGED.get(tree["$"])
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


# -- parts of a value, and what is found in it -------------------------------------------------------------------


class NoSuchPart(LookupError):
    """The value has nothing at that place."""


def part_view(which: str, text: str, at: str, url: str) -> ValueView:
    """The part of a value at a place that a tree has named, on its own page. Raises `NoSuchPart`."""
    path, _, start = at.rpartition(":")
    tree, labels = json.loads(text), []
    try:
        places = [int(one) for one in path.split(".") if one]
        for place in places:
            label, tree = _parts(tree)[place]
            labels.append(label)
        first = int(start)
        if min((*places, first)) < 0 or not _parts(tree):
            raise IndexError
    except (ValueError, IndexError):
        raise NoSuchPart(at) from None
    shown = _Tree(ON_ITS_PAGE)
    root = shown.part(".".join(labels), tree, places, first)
    return ValueView(which, root, "", len(text.encode("utf-8", "replace")), url, shown.is_cut)


@dataclass(frozen=True, slots=True)
class Hits:
    """How many parts of a value contain a text, and the first of them; their labels are whole paths."""

    text: str
    count: int
    nodes: tuple[Node, ...]


def hits_in(text: str, wanted: str, most: int) -> Hits:
    """Looks through all of a value, in labels and in what is shown of them, in whichever case."""
    found: list[Node] = []
    count = 0
    waiting: list[tuple[tuple[str, ...], tuple[int, ...], Any]] = [((), (), json.loads(text))]
    while waiting:
        labels, path, tree = waiting.pop()
        node = _alone(labels[-1] if labels else "", tree)
        if wanted.lower() in f"{node.label}: {node.text}".lower():
            count += 1
            if len(found) < most:
                place = _place(path[:-1], path[-1]) if path else ":0"
                found.append(
                    replace(node, label=".".join(labels), text=cut(node.text, _FOUND_CHARACTERS), at=place)
                )
        parts = list(enumerate(_parts(tree)))
        waiting += [((*labels, label), (*path, place), item) for place, (label, item) in reversed(parts)]
    return Hits(wanted, count, tuple(found))


def _parts(tree: Any) -> Sequence[tuple[str, Any]]:
    container = container_of(tree)
    return container.parts if container is not None else ()


def _alone(label: str, tree: Any) -> Node:
    """A part without those inside of it."""
    container = container_of(tree)
    if container is not None:
        return Node(container.kind, label, container.text)
    return Node("string", label, tree) if isinstance(tree, str) else replace(leaf_of(tree, label), children=())


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
    "ref": lambda label, tree: Node("ref", label, f"same object as object {tree.get('v', 0) + 1}"),
    "same": lambda label, tree: Node("ref", label, f"same object as value {tree.get('v', 0) + 1}"),
    "view": lambda label, tree: Node("bytes", label, f"{tree.get('t')}({tree.get('n')}), part of a buffer"),
    "buffer": lambda label, tree: Node("ref", label, f"buffer of value {tree.get('v', 0) + 1}"),
    "boxed": lambda label, tree: replace(leaf_of(tree["v"], label), text=f"Object({leaf_of(tree['v']).text})"),
}
