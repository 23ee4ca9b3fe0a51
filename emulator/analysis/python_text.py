"""Constants of a Python source: names, durations and configs, as far as they can be read without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

_UNREADABLE: Final = object()


@dataclass(slots=True)
class Constants:
    """Names that are assigned once, with what they are assigned."""

    known: dict[str, ast.expr] = field(default_factory=dict)

    @staticmethod
    def of(*bodies: Iterable[ast.stmt]) -> Constants:
        """Later bodies hide the names of earlier ones; a name with two values has none."""
        known: dict[str, ast.expr] = {}
        for body in bodies:
            own: dict[str, list[ast.expr]] = {}
            for statement in body:
                _note(statement, own)
            known.update({name: values[0] for name, values in own.items() if len(values) == 1})
        return Constants(known)

    def read(self, node: ast.expr | None) -> Any:
        """The value of an expression, or its text if unknown."""
        if node is None:
            return None
        value = self._value(node)
        return text_of(node) if value is _UNREADABLE else value

    def name(self, node: ast.expr | None, fallback: str) -> str:
        """A step name. Parts that vary stay in braces."""
        return fallback if node is None else str(self.read(node))

    def _value(self, node: ast.expr, depth: int = 0) -> Any:
        if isinstance(node, ast.Name) and node.id in self.known and depth < 5:
            return self._value(self.known[node.id], depth + 1)
        if isinstance(node, ast.Dict):
            return self._dict(node)
        if (
            isinstance(node, ast.Call)
            and not node.args
            and isinstance(node.func, ast.Name)
            and node.func.id == "dict"
        ):
            return {kw.arg: self.read(kw.value) for kw in node.keywords if kw.arg is not None}
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return _UNREADABLE
        return value if isinstance(value, str | int | float | bool | None) else _UNREADABLE

    def _dict(self, node: ast.Dict) -> dict[str, Any]:
        return {
            str(self.read(key)): self.read(value)
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        }


def _note(statement: ast.stmt, own: dict[str, list[ast.expr]]) -> None:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                own.setdefault(target.id, []).append(statement.value)
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
        own.setdefault(statement.target.id, []).append(statement.value)


def text_of(node: ast.expr) -> str:
    """The source of an expression; of an f-string the text with its fields in braces."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_piece(piece) for piece in node.values)
    return ast.unparse(node)


def _piece(piece: ast.expr) -> str:
    if isinstance(piece, ast.FormattedValue):
        return f"{{{ast.unparse(piece.value)}}}"
    return str(piece.value) if isinstance(piece, ast.Constant) else ast.unparse(piece)


def argument(call: ast.Call, place: int, *names: str) -> ast.expr | None:
    """An argument by position or by one of its names."""
    if place < len(call.args) and not isinstance(call.args[place], ast.Starred):
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg in names), None)


def flag(call: ast.Call, name: str) -> bool:
    given = argument(call, 99, name)
    return isinstance(given, ast.Constant) and given.value is True
