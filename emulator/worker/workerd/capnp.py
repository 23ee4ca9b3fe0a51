"""Cap'n Proto's text format, as far as a configuration of workerd needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

#: A value: text, a number, a truth value, a list, a struct, or something written as it is.
Node: TypeAlias = "str | int | bool | Sequence[Node] | Mapping[str, Node] | Verbatim"


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text of the format itself: the name of a constant, `embed "file"`, `void`."""

    text: str


def constant(name: str, kind: str, value: Node) -> str:
    """A declaration such as `const config :Workerd.Config = (...);`."""
    return f"const {name} :{kind} = {render(value)};\n"


def render(value: Node, indent: str = "") -> str:
    inner = indent + "  "
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        fields = [f"{inner}{name} = {render(item, inner)}" for name, item in value.items()]
        return "(\n" + ",\n".join(fields) + f"\n{indent})"
    items = [inner + render(item, inner) for item in value]
    return "[\n" + ",\n".join(items) + f"\n{indent}]" if items else "[]"


def quoted(text: str) -> str:
    """A string literal; whatever is not printable ASCII goes as the bytes of its UTF-8."""
    return '"' + "".join(_escaped(byte) for byte in text.encode("utf-8", "surrogatepass")) + '"'


def _escaped(byte: int) -> str:
    character = chr(byte)
    if character in '"\\':
        return "\\" + character
    return character if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"
