"""The syntax of `.dev.vars` and `.env` files, as wrangler reads them.

wrangler uses the npm package dotenv, whose rules differ from python-dotenv's in ways that change secrets: an
unquoted value ends at the first `#` (also without a blank before it), quoted values keep their backslashes (only
`\\n` and `\\r` between double quotes mean something), and backquotes quote as well. So the rules are written out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_QUOTED: Final = r"""'(?:\\'|[^'])*' | "(?:\\"|[^"])*" | `(?:\\`|[^`])*`"""
_REST: Final = r"\s* (?:\#[^\n]*)? $"
_ENTRY: Final = re.compile(
    rf"""
    ^ [^\S\n]* (?:export\s+)? (?P<name>[A-Za-z0-9_.-]+) (?:\s*= | :\s)    # NAME=  or  NAME:
    (?: \s* (?P<quoted>{_QUOTED}) {_REST}                             # a quoted value may span lines
      | (?P<plain>[^#\n]*) {_REST} )
    """,
    re.MULTILINE | re.VERBOSE,
)
_REFERENCE: Final = re.compile(r"(?<!\\)\$(?:\{(?P<braced>[^{}]+)\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))")
_OPERATOR: Final = re.compile(r":\+|\+|:-|-")
# A value may refer to earlier ones, so a few lines could describe more text than fits into memory.
MAX_EXPANDED: Final = 1024 * 1024


class ExpansionError(ValueError):
    """A value that grows without bound by referring to others; the message names it."""


def parse(text: str) -> dict[str, str]:
    """The names and values of a file, in its order; a later line of the same name wins. Other lines are ignored."""
    entries = _ENTRY.finditer(text.replace("\r\n", "\n").replace("\r", "\n"))
    return {entry["name"]: _unquoted(entry["quoted"] or entry["plain"].strip()) for entry in entries}


def _unquoted(value: str) -> str:
    quote = value[:1]
    if len(value) > 1 and quote in "'\"`" and value.endswith(quote):
        value = value[1:-1]
    return value.replace("\\n", "\n").replace("\\r", "\r") if quote == '"' else value


def expand(values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The values with `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME:+instead}` replaced; `\\$` is a dollar sign.

    A name may refer to those before it and to `environ`; a name that `environ` has keeps the value it has there.
    """
    known = dict(environ)
    expanded: dict[str, str] = {}
    for name, value in values.items():
        expanded[name] = environ.get(name) or _expanded(name, value, known).replace("\\$", "$")
        known.setdefault(name, expanded[name])
    return expanded


def _expanded(name: str, value: str, known: Mapping[str, str]) -> str:
    seen: set[str] = set()
    while (reference := _REFERENCE.search(value)) and value not in seen:
        seen.add(value)
        replacement = _replacement(reference["braced"] or reference["bare"], known, seen)
        value = value[: reference.start()] + replacement + value[reference.end() :]
        if len(value) > MAX_EXPANDED or len(seen) > 10_000:
            raise ExpansionError(
                f"{name} refers to other values until it is longer than {MAX_EXPANDED:,} characters"
            )
    return value


def _replacement(expression: str, known: Mapping[str, str], seen: set[str]) -> str:
    operator = _OPERATOR.search(expression)
    if operator is None:
        found = known.get(expression, "")
        return "" if found in seen else found
    name, alternative = expression[: operator.start()], expression[operator.end() :]
    if "+" in operator[0]:
        return alternative if known.get(name) else ""
    found = known.get(name, "")
    return alternative if not found or found in seen else found
