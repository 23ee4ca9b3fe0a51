from __future__ import annotations

from typing import Any


def workflow_graph(language: str, source: str | None, class_name: str) -> dict[str, Any] | None:
    return None
