"""Where a Workflow class is written in a project whose bundle only the dev server has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stepwell.emulator.config.model import WorkerConfig

#: What a module runner imports: code, and what plugins make code of.
_IMPORTED: Final = frozenset(
    f".{ending}"
    for ending in (
        *("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "json", "vue", "svelte", "astro"),
        *("md", "mdx", "sql", "txt", "html", "wasm"),
    )
)
_ENDINGS: Final = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".mts")
_SKIPPED: Final = frozenset({"node_modules", "dist", "build", "coverage", "test", "tests"})
#: Files that are looked at, at most, so that a large repository does not hold a start up.
_MOST_FILES: Final = 2_000
_LARGEST_BYTES: Final = 512 * 1024


def source_of_class(config: WorkerConfig, class_name: str) -> str | None:
    """The text of the project's file that declares a class: the main module's first. None where none does."""
    declares = re.compile(rf"\bclass\s+{re.escape(class_name)}\b|\b{re.escape(class_name)}\s*=\s*class\b")
    for file in (config.main, *_sources(config.folder)):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if declares.search(text):
            return text
    return None


def may_be_imported(file: Path) -> bool:
    """Whether a file can be a module of a Worker."""
    return file.suffix in _IMPORTED


def _sources(folder: Path) -> Iterator[Path]:
    count = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        for name in sorted(files):
            path = Path(place) / name
            if name.endswith(_ENDINGS) and path.stat().st_size <= _LARGEST_BYTES:
                yield path
                count += 1
                if count == _MOST_FILES:
                    return
