"""The objects of an encoded value by their numbers: what its references name (`bindings.values` has the format)."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

#: A part of a text of the codec, parsed as JSON.
Tree: TypeAlias = Any

_PAIRS = frozenset({"array", "object"})
_CONTAINERS = frozenset({None, "map", "set", *_PAIRS})
_LEAVES = frozenset({"boxed", "bytes", "date", "error", "regexp", "view"})


class Numbered(NamedTuple):
    """Containers and leaves, each in reading order."""

    containers: list[Tree]
    leaves: list[Tree]

    def named(self, reference: Tree) -> Tree:
        """What a "ref" or "same" stands for. Raises `IndexError` in a text that this codec did not write."""
        objects = self.containers if reference["$"] == "ref" else self.leaves
        return objects[reference["v"]]

    def bytes_of(self, tree: Tree) -> bytes:
        """The bytes of a "bytes", "view" or "buffer"."""
        if tree["$"] != "view":
            return self._buffer(tree)
        return self._buffer(tree["v"])[tree["at"] : tree["at"] + tree["n"]]

    def _buffer(self, tree: Tree) -> bytes:
        while tree["$"] != "bytes":
            tree = self.leaves[tree["v"]] if tree["$"] == "buffer" else tree["v"]
        return base64.b64decode(tree["v"])


def numbered(tree: Tree) -> Numbered:
    found = Numbered([], [])
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict) and part.get("$") in _LEAVES:
            found.leaves.append(part)
        elif isinstance(part, list) or (isinstance(part, dict) and part.get("$") in _CONTAINERS):
            found.containers.append(part)
        waiting += reversed(list(_inside(part)))
    return found


def _inside(part: Tree) -> Iterable[Tree]:
    """The parts of a part, in reading order."""
    if isinstance(part, list):
        return part
    if not isinstance(part, dict):
        return ()
    kind = part.get("$")
    if kind is None:
        return part.values()
    if kind in _PAIRS:
        return [value for _, value in part["v"]]
    if kind == "map":
        return [item for pair in part["v"] for item in pair]
    if kind == "error":
        return [part["v"]["cause"]] if "cause" in part["v"] else ()
    return part["v"] if kind == "set" else [part["v"]] if kind == "view" else ()
