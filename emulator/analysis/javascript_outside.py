"""Nondeterministic calls outside steps in run() of a JavaScript Workflow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepwell.emulator.analysis.javascript import run_method
from stepwell.emulator.analysis.javascript_text import FUNCTIONS, Tree, arguments, called, parse, text

_JAVASCRIPT: Final = frozenset(
    {
        *("Math.random", "Date.now", "performance.now"),
        *("crypto.randomUUID", "crypto.getRandomValues", "randomUUID"),
    }
)


def javascript_calls(source: str, class_name: str) -> Iterator[tuple[str, int]]:
    """(name, line) of each, in the order of the text's levels."""
    method = run_method(parse(source), class_name)
    rest: list[Tree] = list(method.named_children) if method is not None else []
    while rest:
        node = rest.pop(0)
        if node.type in FUNCTIONS or node.type.startswith("class"):
            continue
        name = _javascript_name(node)
        if name in _JAVASCRIPT or name == "new Date":
            yield name, node.start_point[0] + 1
        rest.extend(node.named_children)


def _javascript_name(node: Tree) -> str:
    if node.type == "call_expression":
        owner, name = called(node)
        return f"{owner}.{name}" if owner else name
    if node.type == "new_expression" and not arguments(node):
        constructor = node.child_by_field_name("constructor")
        return f"new {text(constructor)}" if constructor is not None else ""
    return ""
