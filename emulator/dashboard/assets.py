"""Styles, scripts and pictures of the pages. Their addresses name their content, so a browser asks for each once."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Final

#: The style sheets are served as this one.
STYLES: Final = "style.css"


@cache
def assets() -> dict[str, bytes]:
    """Every file by its name."""
    folder = resources.files("emulator.dashboard") / "static"
    files = {one.name: one.read_bytes() for one in sorted(folder.iterdir(), key=_name) if one.is_file()}
    sheets = [one.read_bytes() for one in sorted((folder / "css").iterdir(), key=_name)]
    return {**files, STYLES: b"\n".join(sheets)}


def _name(file: resources.abc.Traversable) -> str:
    return file.name


@cache
def version() -> str:
    """Another one whenever a file is another."""
    found = hashlib.sha256()
    for name, body in assets().items():
        found.update(f"{name} {len(body)}\n".encode() + body)
    return found.hexdigest()[:12]


@cache
def modules() -> tuple[str, ...]:
    """The scripts that the first one imports: said beforehand, they are fetched side by side."""
    return tuple(name for name in assets() if name.endswith(".js") and name != "app.js")
