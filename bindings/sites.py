"""Where user code calls a step: file and line of the frame that calls, looked up once for each place in code."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any, Final

from stepwell.bindings.errors import NotSerialisable
from stepwell.bindings.ports import CallSite
from stepwell.bindings.tracebacks import is_ours
from stepwell.bindings.values import Encoded, encode

#: Places that are remembered; code that is made anew at each call would fill the memory.
_KEPT: Final = 2_000
#: By code object and instruction. A line costs 8 microseconds in a long function, and this a quarter of one.
#: The code objects are kept, since the id of one that is gone may become another's.
_sites: dict[tuple[int, int], tuple[CodeType, CallSite | None]] = {}


def site_of_caller() -> CallSite | None:
    """Of who called the function that asks. None where that is no user code, as for what runs in its own task."""
    frame = sys._getframe(2)
    code = frame.f_code
    known = _sites.get((id(code), frame.f_lasti))
    return known[1] if known is not None else _look_up(frame)


def _look_up(frame: FrameType) -> CallSite | None:
    code = frame.f_code
    site = CallSite(code.co_filename, frame.f_lineno) if _is_users(frame) else None
    if len(_sites) >= _KEPT:
        _sites.clear()
    _sites[id(code), frame.f_lasti] = (code, site)
    return site


def _is_users(frame: FrameType) -> bool:
    in_loop = str(frame.f_globals.get("__name__", "")).startswith("asyncio.")
    return not in_loop and not is_ours(frame.f_code.co_filename)


def encode_returned(value: Any, func: Any, most: int | None = None) -> Encoded:
    """What a function of user code returned, encoded.

    Raises `NotSerialisable`, which names the function, and `ValueTooLarge` beyond `most` characters.
    """
    try:
        return encode(value, most)
    except NotSerialisable as error:
        site = site_of_function(func)
        place = f" ({site.file}:{site.line})" if site is not None else ""
        error.returned_by = f"{getattr(func, '__name__', 'a function')}{place}"
        raise


def site_of_function(func: Any) -> CallSite | None:
    """Where a function is written, for a step that runs because another one needs it."""
    code = getattr(func, "__code__", None)
    return CallSite(code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else None
