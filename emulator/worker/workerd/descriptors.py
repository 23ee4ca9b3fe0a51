"""How many files and sockets a process may have open, and how many passes of JavaScript Workers that allows."""

from __future__ import annotations

import contextlib
import sys
from typing import Final

if sys.platform != "win32":
    import resource

#: Where the system does not say, and the most that macOS accepts when it says "unlimited".
_USUAL: Final = 10_240
#: A pass costs workerd two descriptors, and its code may open connections of its own.
_PER_PASS: Final = 4
#: What a pass costs in memory limits them where descriptors do not.
_MOST_PASSES: Final = 50_000
_FEWEST_PASSES: Final = 8


def raise_limit() -> None:
    """Allows this process, and the children that it starts, as many descriptors as the system lets it have."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, _USUAL):
        if wanted == resource.RLIM_INFINITY or soft == resource.RLIM_INFINITY or wanted <= soft:
            continue
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return


def limit() -> int:
    """How many descriptors a process may have."""
    if sys.platform == "win32":
        return _USUAL
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _USUAL if soft == resource.RLIM_INFINITY else soft


def passes_at_once(descriptors: int) -> int:
    """How many passes a runtime with so many descriptors can carry."""
    return max(_FEWEST_PASSES, min(descriptors // _PER_PASS, _MOST_PASSES))
