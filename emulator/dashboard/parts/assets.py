"""Styles, scripts and pictures of the pages. Their addresses name their content, so a browser asks for each once.

The style sheets are served as one, and so are the scripts: each file is a module of its own to read, but two dozen
requests are what a first view would wait for.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

STYLES: Final = "style.css"
SCRIPT: Final = "app.js"
#: Ends of lines that a script does not need. Remarks behind code go as well; no text spans lines.
_LINE_END: Final = re.compile(r"([;{},(])(?: // [^\n]*)?\n")
_IMPORT: Final = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
#: Comments, and indentation: a fifth of the scripts.
_REMARK: Final = re.compile(
    r"^(?:\s*//[^\n]*\n|\s*/\*\*(?:[^*]|\*(?!/))*\*/\n|[ ]+|\n)|[ ]+// [^\n]*$", re.MULTILINE
)
_EXPORT: Final = re.compile(r"^export ((?:async )?function (\w+))", re.MULTILINE)


@cache
def assets() -> dict[str, bytes]:
    """Every file by its name."""
    folder = resources.files("stepwell.emulator.dashboard") / "static"
    pictures = {one.name: one.read_bytes() for one in folder.iterdir() if one.name.endswith(".svg")}
    sheets = [one.read_bytes() for one in sorted((folder / "css").iterdir(), key=_name)]
    workers = {one.name: _shortened(one.read_text("utf-8")).encode() for one in (folder / "workers").iterdir()}
    return {**pictures, **workers, STYLES: b"\n".join(sheets), SCRIPT: joined(modules(), "app").encode()}


def modules() -> dict[str, str]:
    """The text of each script by its name, without the ending."""
    folder = resources.files("stepwell.emulator.dashboard") / "static"
    files = [one for one in folder.iterdir() if one.name.endswith(".js")]
    return {one.name.removesuffix(".js"): one.read_text(encoding="utf-8") for one in files}


def joined(texts: dict[str, str], entry: str) -> str:
    """Modules as one script: each a function of its own, after those that it imports, giving what it exports.

    They import names from their neighbours and export functions, nothing else; a test holds them to it.
    """
    order: list[str] = []

    def visit(name: str) -> None:
        for match in _IMPORT.finditer(texts[name]):
            if match[2] not in order:
                visit(match[2])
        if name not in order:
            order.append(name)

    visit(entry)
    return "\n".join(_wrapped(name, texts[name]) for name in order)


def _wrapped(name: str, text: str) -> str:
    exported = ",".join(match[2] for match in _EXPORT.finditer(text))
    body = _IMPORT.sub(r"const {\1}=module_\2;", _EXPORT.sub(r"\1", _REMARK.sub("", text)))
    body = _LINE_END.sub(r"\1", body)
    return f"const module_{name} = (() => {{{body}return {{{exported}}}}})();"


def _shortened(text: str) -> str:
    return _LINE_END.sub(r"\1", _REMARK.sub("", text))


def _name(file: Traversable) -> str:
    return file.name


@cache
def version() -> str:
    """Another one whenever a file is another."""
    found = hashlib.sha256()
    for name, body in assets().items():
        found.update(f"{name} {len(body)}\n".encode() + body)
    return found.hexdigest()[:12]
