"""Stored values as text one can paste: JSON, Python and JavaScript."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any, Final

from bindings.json_view import to_json

_INDENT: Final = "    "


def as_json(text: str) -> str:
    """What `JSON.stringify` would show, laid out."""
    return json.dumps(to_json(text), indent=2, ensure_ascii=False)


def as_python(text: str) -> str:
    """An expression; dates need `from datetime import datetime`."""
    return _Writer(_PYTHON).write(json.loads(text), 0)


def as_javascript(text: str) -> str:
    return _Writer(_JAVASCRIPT).write(json.loads(text), 0)


class _Language:
    """How a language says what is not a list or a text."""

    def __init__(
        self, constants: dict[Any, str], key: Callable[[str], str], tagged: dict[str, Callable[[Any, str], str]]
    ) -> None:
        self.constants = constants
        self.key = key
        self.tagged = tagged


class _Writer:
    """Lists and objects, a line for each entry; `{}` and `[]` stay on one."""

    def __init__(self, language: _Language) -> None:
        self._language = language

    def write(self, tree: Any, depth: int) -> str:
        if isinstance(tree, list):
            return self._lines("[", [self.write(item, depth + 1) for item in tree], "]", depth)
        if isinstance(tree, dict):
            return self._tagged(tree, depth) if "$" in tree else self._object(tree.items(), depth)
        if tree is None or isinstance(tree, bool):
            return self._language.constants[tree]
        return json.dumps(tree)

    def _object(self, items: Any, depth: int) -> str:
        parts = [f"{self._language.key(str(key))}: {self.write(value, depth + 1)}" for key, value in items]
        return self._lines("{", parts, "}", depth)

    def _lines(self, opening: str, parts: list[str], closing: str, depth: int) -> str:
        if not parts:
            return opening + closing
        inner, outer = _INDENT * (depth + 1), _INDENT * depth
        return opening + "\n" + "".join(f"{inner}{part},\n" for part in parts) + outer + closing

    def _tagged(self, tree: dict[str, Any], depth: int) -> str:
        kind: str = tree["$"]
        value: Any = tree.get("v")
        if kind == "object":
            return self._object(value, depth)
        if kind == "map" and self._language is _PYTHON:
            return self._object(((_plain_key(key), item) for key, item in value), depth)
        if kind in ("map", "set"):
            inner = self.write(value, depth)
            return self._language.tagged[kind](tree, inner)
        return self._language.tagged[kind](tree, "")


def _plain_key(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key)


def _raw(tree: Any) -> bytes:
    return base64.b64decode(tree.get("v", ""))


def _error_text(tree: Any) -> str:
    return json.dumps(tree.get("v", {}).get("message", ""))


def _python_date(tree: Any, _: str) -> str:
    at = tree.get("v")
    return "None" if at is None else f"datetime.fromtimestamp({at / 1000!r}, UTC)"


def _js_date(tree: Any, _: str) -> str:
    at = tree.get("v")
    return "new Date(NaN)" if at is None else f"new Date({at})"


_PYTHON: Final = _Language(
    {None: "None", True: "True", False: "False"},
    json.dumps,
    {
        "undefined": lambda tree, _: "None",
        "number": lambda tree, _: "-0.0" if tree["v"] == "-0" else f'float("{tree["v"]}")',
        "bigint": lambda tree, _: str(tree["v"]),
        "date": _python_date,
        "set": lambda tree, inner: f"set({inner})",
        "bytes": lambda tree, _: repr(_raw(tree)),
        "regexp": lambda tree, _: json.dumps(f"/{tree['v']}/{tree.get('flags', '')}"),
        "error": lambda tree, _: f"Exception({_error_text(tree)})",
        "ref": lambda tree, _: "...  # a cycle",
    },
)
_JAVASCRIPT: Final = _Language(
    {None: "null", True: "true", False: "false"},
    json.dumps,
    {
        "undefined": lambda tree, _: "undefined",
        "number": lambda tree, _: str(tree["v"]),
        "bigint": lambda tree, _: f"{tree['v']}n",
        "date": _js_date,
        "map": lambda tree, inner: f"new Map({inner})",
        "set": lambda tree, inner: f"new Set({inner})",
        "bytes": lambda tree, _: f"new {tree.get('t', 'Uint8Array')}({json.dumps(list(_raw(tree)))})",
        "regexp": lambda tree, _: f"/{tree['v']}/{tree.get('flags', '')}",
        "error": lambda tree, _: f"new Error({_error_text(tree)})",
        "ref": lambda tree, _: "undefined /* a cycle */",
    },
)
