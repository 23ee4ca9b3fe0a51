"""Stored values as text one can paste: JSON and Python."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Container, Iterable
from datetime import datetime
from typing import Any, Final

from stepwell.bindings.values import decode
from stepwell.bindings.values.json_view import to_json

INDENT: Final = "    "
_TOO_DEEP: Final = "[nested too deeply]"
#: Control characters, ends of lines, changes of direction, and halves of surrogate pairs, which have no encoding.
_UNSEEN: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def as_json(text: str) -> str:
    """What `JSON.stringify` would show, laid out."""
    try:
        return _seen(json.dumps(to_json(text), indent=2, ensure_ascii=False))
    except RecursionError:  # a JavaScript Worker can nest deeper than Python writes
        return quoted(_TOO_DEEP)


def as_python(text: str) -> str:
    """An expression whose value is what Python user code gets; dates need `from datetime import datetime`.

    A cycle is None, with a comment. A moment outside of Python's years is its text, as in JSON.
    """
    try:
        return PythonWriter().write(decode(text))
    except ValueError:
        return PythonWriter().write(to_json(text))
    except RecursionError:
        return quoted(_TOO_DEEP)


def quoted(text: str) -> str:
    """A text in double quotes, as JSON, Python and JavaScript all read it."""
    return _seen(json.dumps(text, ensure_ascii=False))


def _seen(text: str) -> str:
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def lines(opening: str, parts: Iterable[str], closing: str, depth: int) -> str:
    """What stands in brackets, a line for each part; nothing stays on one line."""
    inner = "".join(f"{INDENT * (depth + 1)}{part}\n" for part in parts)
    return f"{opening}\n{inner}{INDENT * depth}{closing}" if inner else opening + closing


class PythonWriter:
    """Values as expressions. `needs` are the names that these use and that must be imported.

    Moments among `other_each_time` are written as `ANY`.
    """

    def __init__(self, other_each_time: Container[datetime] = ()) -> None:
        self.needs: set[str] = set()
        self._other_each_time = other_each_time
        self._open: set[int] = set()

    def write(self, value: Any, depth: int = 0) -> str:
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, dict | list | set):
            return "None" if id(value) in self._open else self._container(value, depth)
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, datetime):
            return self._moment(value)
        if isinstance(value, Exception):
            return f"Exception({quoted(str(value))})"
        return repr(value)

    def _moment(self, value: datetime) -> str:
        is_any = value in self._other_each_time
        self.needs.add("ANY" if is_any else "datetime")
        return "ANY" if is_any else repr(value).removeprefix("datetime.")

    def _container(self, value: dict[Any, Any] | list[Any] | set[Any], depth: int) -> str:
        self._open.add(id(value))
        if isinstance(value, dict):
            pairs = [(f"{self.write(key, depth + 1)}: ", item) for key, item in value.items()]
            text = lines("{", self._parts(pairs, depth), "}", depth)
        elif isinstance(value, list):
            text = lines("[", self._parts([("", item) for item in value], depth), "]", depth)
        else:
            parts = self._parts([("", item) for item in value], depth)
            text = lines("{", parts, "}", depth) if value else "set()"
        self._open.discard(id(value))
        return text

    def _parts(self, items: Iterable[tuple[str, Any]], depth: int) -> Iterable[str]:
        for key, item in items:
            comment = "  # a cycle: something that it is inside of" if id(item) in self._open else ""
            yield f"{key}{self.write(item, depth + 1)},{comment}"
