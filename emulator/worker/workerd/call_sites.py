"""Where a JavaScript Worker calls its steps, as the runtime tells it with the first call of each name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from stepwell.bindings.ports import CallSite

_FRAME: Final = re.compile(r"^at (?:.*\()?(?P<file>[^()]+?):(?P<line>\d+):\d+\)?$")


class CallSites:
    """Those of one Worker in one process, by the method of step and the name: the first place that a name has."""

    def __init__(self, mapped: Callable[[str], str] = str) -> None:
        """`mapped` puts the user's own file and line into a frame of a stack."""
        self._mapped = mapped
        self._sites: dict[tuple[str, str], CallSite] = {}

    def in_stack(self, stack: str) -> CallSite | None:
        """The first frame of a stack that lies in a file of the user's; None if there is none."""
        for frame in self._mapped(stack).splitlines()[1:]:
            match = _FRAME.match(frame.strip())
            if match is not None and not match["file"].startswith(("node:", "cloudflare:", "stepwell")):
                return CallSite(match["file"], int(match["line"]))
        return None

    def of(self, method: str, name: object, told: str | None) -> CallSite | None:
        """`told` is the frame that came with the call. None where it is not known."""
        if not isinstance(name, str):
            return None
        if told is not None and (match := _FRAME.match(self._mapped(told).strip())):
            self._sites[method, name] = CallSite(match["file"], int(match["line"]))
        return self._sites.get((method, name))
