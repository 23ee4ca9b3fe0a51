"""Named SQL: every statement has a name and a sentence in sql/*.sql, and is used by its name."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_FILES = ("queries.sql", "views.sql")
_HEADER = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def statements() -> dict[str, str]:
    """All statements by name, without their comments."""
    folder = resources.files("stepwell.emulator.storage") / "sql"
    text = "\n".join((folder / file).read_text(encoding="utf-8") for file in _FILES)
    parts = _HEADER.split(text)[1:]
    found: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        if name in found:
            raise ValueError(f"the files of SQL name {name} twice")
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        found[name] = "\n".join(lines).strip().rstrip(";")
    return found
