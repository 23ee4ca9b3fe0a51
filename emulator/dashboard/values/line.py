"""A value in one line, as lists and comparisons show it: JSON where it can be, other types in plain form."""

from __future__ import annotations

import json
from typing import Any, Final

from stepwell.bindings.values import NULL_TEXT, UNDEFINED_TEXT
from stepwell.emulator.dashboard.parts.text import cut
from stepwell.emulator.dashboard.values.view import container_of, leaf_of

_CLOSERS: Final = {"{": "}", "[": "]"}
_BRACKETS: Final = {"array": ("[", "]")}


def value_line(text: str | None, most: int) -> str:
    """An encoded value, or the start of one, in at most that many characters; "" for null, undefined and none."""
    if text in (None, NULL_TEXT, UNDEFINED_TEXT):
        return ""
    assert text is not None
    try:
        return tree_line(json.loads(text), most)
    except (ValueError, RecursionError):
        pass
    try:
        line = tree_line(json.loads(_closed(text)), most)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        # The text ends inside a type that JSON lacks.
        return "…"
    return line if len(line) == most else f"{line[: most - 1]}…"


def tree_line(tree: Any, most: int) -> str:
    """The same of a decoded JSON text."""
    line = _Line(most)
    line.add(tree)
    return cut("".join(line.parts), most)


class _Line:
    """Writes until there is more than is shown."""

    def __init__(self, most: int) -> None:
        self.parts: list[str] = []
        self._left = most + 1

    def add(self, tree: Any) -> None:
        if self._left <= 0:
            return
        container = container_of(tree)
        if container is None:
            self._write(_scalar(tree, self._left))
            return
        opening, closing = _BRACKETS.get(container.kind, ("{", "}"))
        name = {"map": "Map ", "set": "Set "}.get(container.kind, "")
        self._write(name + opening)
        for index, (label, item) in enumerate(container.parts):
            if self._left <= 0:
                return
            self._write(", " if index else "")
            if container.kind in ("object", "map"):
                self._write(f"{json.dumps(label, ensure_ascii=False)}: ")
            self.add(item)
        self._write(closing)

    def _write(self, text: str) -> None:
        self.parts.append(text)
        self._left -= len(text)


def _scalar(tree: Any, most: int) -> str:
    if isinstance(tree, str):
        return json.dumps(tree[:most], ensure_ascii=False)
    node = leaf_of(tree)
    # Half of a type that JSON lacks.
    return "…" if node.kind == "raw" else node.text


def _closed(text: str) -> str:
    """The start of a JSON text, closed where its last whole part ends."""
    stack: list[str] = []
    good, closers, in_text, after_colon = 0, "", False, False
    index = 0
    while index < len(text):
        char = text[index]
        if in_text:
            if char == "\\":
                index += 1
            elif char == '"':
                in_text = False
                if after_colon or (stack and stack[-1] == "["):
                    good, closers = index + 1, _closing(stack)
        elif char == '"':
            in_text = True
        elif char in "{[":
            stack.append(char)
            good, closers, after_colon = index + 1, _closing(stack), False
        elif char in "}]" and stack:
            stack.pop()
            good, closers, after_colon = index + 1, _closing(stack), True
        elif char == ",":
            good, closers, after_colon = index, _closing(stack), False
        elif char == ":":
            after_colon = True
        index += 1
    if in_text and (after_colon or (stack and stack[-1] == "[")):
        return text.rstrip("\\") + '"' + _closing(stack)
    return text[:good] + closers


def _closing(stack: list[str]) -> str:
    return "".join(_CLOSERS[opening] for opening in reversed(stack))
