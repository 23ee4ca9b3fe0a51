"""Colours, for terminals that support them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

_CODES = {
    "dim": "2",
    "bold": "1",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


@dataclass(frozen=True, slots=True)
class Style:
    """Colours texts, or returns them unchanged."""

    coloured: bool

    def __call__(self, text: str, *names: str) -> str:
        if not self.coloured or not names:
            return text
        codes = ";".join(_CODES[name] for name in names)
        return f"\x1b[{codes}m{text}\x1b[0m"


def style_for(stream: TextIO, environ: Mapping[str, str] | None = None) -> Style:
    """The style for a stream: by NO_COLOR, FORCE_COLOR, and whether the stream is a terminal."""
    environ = os.environ if environ is None else environ
    if environ.get("NO_COLOR"):
        return Style(False)
    return Style(bool(environ.get("FORCE_COLOR")) or (stream.isatty() and environ.get("TERM") != "dumb"))
