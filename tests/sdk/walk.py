"""The public surface of Python source files: names, signatures and class members, read without importing them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Parameter(NamedTuple):
    """One parameter: `kind` is "positional", "keyword", "*" or "**"."""

    name: str
    kind: str
    has_default: bool


class Signature(NamedTuple):
    """The parameters of a function, without `self` and `cls`; `is_async` for a coroutine function."""

    parameters: tuple[Parameter, ...]
    is_async: bool


class Public(NamedTuple):
    """A public name as "Class.method" or "function"; `signature` is None for what is not called."""

    name: str
    signature: Signature | None


def public_names(source: Path) -> Iterator[Public]:
    """What a module defines for others: functions, classes with their members, constants."""
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        yield from _defined(node)


def used_of(source: Path, module: str) -> set[str]:
    """The names of `module` that a file uses: `from module import name` and `module.name`."""
    used = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == module:
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == module:
            used.add(node.attr)
    return used


def _defined(node: ast.stmt, owner: str = "") -> Iterator[Public]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if _is_public(node.name):
            yield Public(owner + node.name, None if _is_property(node) else signature(node, bool(owner)))
    elif isinstance(node, ast.ClassDef) and _is_public(node.name):
        yield Public(owner + node.name, None)
        for member in node.body:
            yield from _defined(member, f"{owner}{node.name}.")
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (Public(owner + name, None) for name in names if _is_public(name))


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name == "__init__"


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef, is_method: bool) -> Signature:
    """The signature of a function; `is_method` when its first parameter may be `self`."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    parameters = [Parameter(each.arg, "positional", i >= first_default) for i, each in enumerate(positional)]
    if is_method and parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    if arguments.vararg is not None:
        parameters.append(Parameter(arguments.vararg.arg, "*", has_default=True))
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(Parameter(each.arg, "keyword", default is not None))
    if arguments.kwarg is not None:
        parameters.append(Parameter(arguments.kwarg.arg, "**", has_default=True))
    return Signature(tuple(parameters), isinstance(node, ast.AsyncFunctionDef))
