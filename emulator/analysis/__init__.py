"""The structure of a Workflow, read from its source without running it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from stepwell.emulator.analysis.reading import workflow_graph
from stepwell.emulator.storage.records import VersionRow

_KEPT: Final = 64


class Graphs:
    """Graphs of versions, cached since a version never changes."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, dict[str, Any] | None] = OrderedDict()

    def of(self, version: VersionRow) -> dict[str, Any] | None:
        """Cloudflare's graph object; None where the source cannot be read or has no such class."""
        if version.id not in self._known:
            self._known[version.id] = workflow_graph(version.language, version.source, version.class_name)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return self._known[version.id]
