"""Lines of user code: where it calls a step, where it raised an error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import FunctionType
from typing import Final

from stepwell.bindings.ports import CallSite, StepCallback
from stepwell.bindings.tracebacks import is_ours
from stepwell.emulator.storage.records import StepKind

#: What a step of a type is called in a sentence.
NOUNS: Final = {StepKind.DO: "step", StepKind.SLEEP: "sleep", StepKind.WAIT_FOR_EVENT: "waitForEvent"}

_JAVASCRIPT_FRAME: Final = re.compile(r"^\s*at (?:.*\()?(?P<file>[^()\s]+?):(?P<line>\d+):\d+\)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of user code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def place_of_caller(site: CallSite | None, callback: StepCallback | None = None) -> Place | None:
    """Where user code calls: the place that came with the call, or else that of the function of the step."""
    if site is not None:
        return Place(site.file, site.line)
    for cell in getattr(callback, "__closure__", None) or ():
        if isinstance(cell.cell_contents, FunctionType):
            code = cell.cell_contents.__code__
            return None if is_ours(code.co_filename) else Place(code.co_filename, code.co_firstlineno)
    return None


def place_in_stack(stack: str | None) -> Place | None:
    """The first frame of a JavaScript stack that has a file."""
    match = _JAVASCRIPT_FRAME.search(stack or "")
    return Place(match["file"], int(match["line"])) if match is not None else None
