"""What tests read from a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_ROW: Final = re.compile(r"^\| (.+) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, and the line where it begins."""

    language: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    return [
        Block(match[1], match[2].rstrip("\n"), page.count("\n", 0, match.start()) + 1)
        for match in _FENCE.finditer(page)
    ]


def links(page: str) -> Iterator[str]:
    """Targets of links into the repository, without their anchors."""
    for target in _LINK.findall(_FENCE.sub("", page)):
        if "://" not in target and not target.startswith("#"):
            yield target.partition("#")[0]


def first_cells(page: str, heading: str) -> list[str]:
    """The first column of the table below a heading."""
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [row.split(" | ")[0] for row in _ROW.findall(section)][2:]


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
