"""Stacks from a dev server: the user's own files and lines, without frames of ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.workerd.sourcemaps import MapsBeside, StackMapper

#: Frames of the modules that the preload adds, and of wrangler's middleware.
_OTHERS: Final = re.compile(
    r"^\s*at .*(\bstepwell/\w+\.mjs|\bstepwell:\w+|\bwrangler/templates/[\w./-]+|\.wrangler/tmp/bundle-[\w./-]+)"
    r":\d+:\d+\)?$"
)
_FRAME: Final = re.compile(r"^\s*at ")


class DevServerStacks(StackMapper):
    """Vite maps its stacks itself; wrangler keeps the map of its bundle in a folder of the project."""

    def __init__(
        self, config: WorkerConfig, place: Path | None = None, seen: Callable[[ErrorInfo], None] = lambda _: None
    ) -> None:
        """`place` is the folder of the file that wrangler reads; None: the configuration's."""
        folder: Path = config.folder
        maps = MapsBeside((place or folder) / ".wrangler")
        super().__init__(maps, f"{config.main.stem}.js", folder, seen)
        self._folders = (f"file://{folder}/", f"{folder}/")

    def text(self, text: str) -> str:
        lines = [line for line in super().text(text).split("\n") if not _OTHERS.match(line)]
        return "\n".join(self._relative(line) if _FRAME.match(line) else line for line in lines)

    def _relative(self, frame: str) -> str:
        for folder in self._folders:
            frame = frame.replace(folder, "")
        return frame
