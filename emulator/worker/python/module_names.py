"""Names of user modules in `sys.modules`: private to one load of the code. `public_modules` has the public ones.

The module `shop.orders` of the third load is called `shop@3.orders`, so that old and new code live side by side
and nothing of the project collides with a module of ours.
"""

from __future__ import annotations

import re

_MARK = "@"
_MARKED = re.compile(r"(?<=\w)@\d+(?=[.\s'\"]|$)")


def private_module(name: str, number: int) -> str:
    """The name in `sys.modules` of a module of load `number`."""
    head, dot, rest = name.partition(".")
    return f"{head}{_MARK}{number}{dot}{rest}"


def is_private(name: str) -> bool:
    return _MARK in name


def public_module(name: str) -> str:
    """The name that the developer gave the module."""
    return _MARKED.sub("", name) if _MARK in name else name
