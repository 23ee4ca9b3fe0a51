"""In which file of a bundle a class is written: for the graph of a Workflow that the entry only re-exports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from stepwell.emulator.worker.workerd.bundling import Bundle


def class_sources(main: Path, files: Iterable[Path], classes: Iterable[str]) -> dict[str, str]:
    """The text of the file that declares each class; nothing for those of the entry module.

    `files` are those that the bundle was made of.
    """
    entry = main.read_text(errors="replace")
    missing = [name for name in classes if not _declares(entry, name)]
    found: dict[str, str] = {}
    for path in files if missing else ():
        text = path.read_text(errors="replace")
        found |= {name: text for name in missing if name not in found and _declares(text, name)}
    return found


def _declares(text: str, name: str) -> bool:
    return re.search(rf"\bclass\s+{re.escape(name)}\b|\b{re.escape(name)}\s*=\s*class\b", text) is not None


def own_files(bundle: Bundle) -> Iterator[Path]:
    """The files that the bundle was made of, those of installed packages left out."""
    data = json.loads(bundle.source_map) if bundle.source_map else {}
    for source in data.get("sources", ()):
        path = bundle.folder / data.get("sourceRoot", "") / source
        if "node_modules" not in path.parts and path.is_file():
            yield path
