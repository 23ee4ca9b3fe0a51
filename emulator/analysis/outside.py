"""Nondeterministic calls outside steps in run(): random values, ids, times."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_PYTHON: Final = frozenset(
    {
        *("time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
        *("uuid.uuid1", "uuid.uuid4", "uuid1", "uuid4", "os.urandom"),
    }
)
#: All functions of these modules count.
_PYTHON_MODULES: Final = ("random.", "secrets.")


class OutsideCall(NamedTuple):
    name: str
    line: int


@lru_cache(maxsize=64)
def calls_outside_of_steps(language: str, source: str, class_name: str) -> tuple[OutsideCall, ...]:
    """Each name once, where it is called first. What functions inside of run() call counts as part of steps.

    Empty for a source that cannot be read, or has no such class.
    """
    first: dict[str, OutsideCall] = {}
    for name, line in _calls(language, source, class_name):
        first.setdefault(name, OutsideCall(name, line))
    return tuple(first.values())


def _calls(language: str, source: str, class_name: str) -> Iterator[tuple[str, int]]:
    if language == "python":
        return _python(source, class_name)
    from stepwell.emulator.analysis.javascript_outside import (
        javascript_calls,  # its parser is loaded when it is needed
    )

    return javascript_calls(source, class_name)


def _python(source: str, class_name: str) -> Iterator[tuple[str, int]]:
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for declared in ast.walk(module):
        if isinstance(declared, ast.ClassDef) and declared.name == class_name:
            for method in declared.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name == "run":
                    yield from _python_calls(method)


def _python_calls(method: ast.AST) -> Iterator[tuple[str, int]]:
    rest = [*ast.iter_child_nodes(method)]
    while rest:
        node = rest.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Call):
            name = _dotted(node.func)
            if name in _PYTHON or name.startswith(_PYTHON_MODULES):
                yield name, node.lineno
        rest.extend(ast.iter_child_nodes(node))


def _dotted(function: ast.expr) -> str:
    """The last two names of what is called: "datetime.now" for `datetime.datetime.now` as well."""
    if isinstance(function, ast.Name):
        return function.id
    if not isinstance(function, ast.Attribute):
        return ""
    owner = function.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    return f"{name}.{function.attr}"
