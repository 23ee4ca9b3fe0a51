"""A JavaScript or TypeScript source as a tree, and what of its constants can be read without running it.

The parser is tree-sitter with the grammar of TypeScript, of which JavaScript is a part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import tree_sitter
import tree_sitter_typescript

Tree: TypeAlias = tree_sitter.Node
_WRAPPED: Final = frozenset(
    {"parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression", "await_expression"}
)
_ESCAPE: Final = re.compile(r"\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_SIMPLE: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_UNREADABLE: Final = object()
FUNCTIONS: Final = frozenset(
    {
        "arrow_function",
        "function_expression",
        "function_declaration",
        "generator_function",
        "generator_function_declaration",
        "method_definition",
    }
)


def parse(source: str) -> Tree:
    language = tree_sitter.Language(tree_sitter_typescript.language_typescript())
    return tree_sitter.Parser(language).parse(source.encode("utf-8", "replace")).root_node


def text(node: Tree) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def line(node: Tree) -> str:
    """The source of an expression on one line, without the parentheses around it."""
    inner = node.named_children[0] if node.type == "parenthesized_expression" and node.named_children else node
    return " ".join(text(inner).split())


def unwrapped(node: Tree) -> Tree:
    """An expression without parentheses, casts and await."""
    while node.type in _WRAPPED and node.named_children:
        node = node.named_children[0]
    return node


def everything(node: Tree) -> Iterator[Tree]:
    """The node and all below it. Walks without recursion: bundles nest deeply."""
    rest = [node]
    while rest:
        one = rest.pop()
        yield one
        rest.extend(reversed(one.named_children))


def arguments(call: Tree) -> list[Tree]:
    given = call.child_by_field_name("arguments")
    return [one for one in given.named_children if one.type != "comment"] if given is not None else []


def called(call: Tree) -> tuple[str, str]:
    """(object, name) of a call: ("Promise", "all"), ("this", "charge"), ("", "charge"); also of `step["do"]`."""
    function = call.child_by_field_name("function")
    if function is None:
        return "", ""
    function = unwrapped(function)
    if function.type == "subscript_expression":
        owner, key = function.child_by_field_name("object"), function.child_by_field_name("index")
        return text(owner) if owner else "", text(key).strip("\"'`") if key else ""
    if function.type != "member_expression":
        return "", text(function) if function.type == "identifier" else ""
    owner, name = function.child_by_field_name("object"), function.child_by_field_name("property")
    return text(owner) if owner else "", text(name) if name else ""


class Constants:
    """Names that are declared with a value, by scope: the innermost wins."""

    def __init__(self, known: dict[str, Tree] | None = None) -> None:
        self._known = known or {}

    def within(self, body: Tree) -> Constants:
        """With the declarations of a body, those of functions inside of it left out."""
        return Constants({**self._known, **dict(_declared(body))})

    def get(self, name: str) -> Tree | None:
        return self._known.get(name)

    def read(self, node: Tree | None) -> Any:
        """The value of an expression, or its text if unknown."""
        if node is None:
            return None
        value = self._value(unwrapped(node), 0)
        return line(node) if value is _UNREADABLE else value

    def _value(self, node: Tree, depth: int) -> Any:
        match node.type:
            case "string":
                return _unescaped(text(node)[1:-1])
            case "template_string":
                return _template(node)
            case "number":
                return _number(text(node))
            case "true" | "false":
                return node.type == "true"
            case "object":
                return self._object(node)
            case "identifier" if depth < 5 and (known := self._known.get(text(node))) is not None:
                return self._value(unwrapped(known), depth + 1)
        return _UNREADABLE

    def _object(self, node: Tree) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for pair in node.named_children:
            key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
            if pair.type == "pair" and key is not None and value is not None:
                found[text(key).strip("\"'")] = self.read(value)
            elif pair.type == "shorthand_property_identifier":
                found[text(pair)] = self._shorthand(text(pair))
            elif pair.type == "method_definition" and (name := pair.child_by_field_name("name")) is not None:
                found[text(name)] = "[dynamic]"
        return found

    def _shorthand(self, name: str) -> Any:
        known = self._known.get(name)
        return self.read(known) if known is not None else name


def _declared(body: Tree) -> Iterator[tuple[str, Tree]]:
    for node in _own(body):
        if node.type == "variable_declarator":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is not None and value is not None and name.type == "identifier":
                yield text(name), value
        elif node.type == "function_declaration" and (name := node.child_by_field_name("name")) is not None:
            yield text(name), node


def _own(body: Tree) -> Iterator[Tree]:
    """Nodes of a body without those of the functions and classes in it."""
    rest = list(reversed(body.named_children))
    while rest:
        node = rest.pop()
        yield node
        if node.type not in FUNCTIONS and not node.type.startswith("class"):
            rest.extend(reversed(node.named_children))


def _number(literal: str) -> Any:
    plain = literal.replace("_", "")
    try:
        return int(plain, 0)
    except ValueError:
        pass
    try:
        return float(plain)
    except ValueError:
        return _UNREADABLE


def _template(node: Tree) -> str:
    """A step name. Parts that vary stay in braces."""
    pieces = []
    for piece in node.named_children:
        if piece.type == "template_substitution":
            pieces.append("{" + " ".join(text(piece)[2:-1].split()) + "}")
        else:
            pieces.append(_unescaped(text(piece)))
    return "".join(pieces)


def _unescaped(literal: str) -> str:
    return _ESCAPE.sub(_escaped, literal)


def _escaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "ux" and len(code) > 1:
        value = int(code[1:].strip("{}"), 16)
        return chr(value) if value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF else "\N{REPLACEMENT CHARACTER}"
    return _SIMPLE.get(code, "" if code == "\n" else code)
