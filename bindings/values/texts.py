"""Values inside of messages: what JavaScript makes of them, since Cloudflare's messages are made there."""

from __future__ import annotations

import math


def javascript_text(value: object, *, none: str = "null") -> str:
    """The text of a value in a template literal. `none` is that of None, which is null or undefined."""
    if value is None or isinstance(value, bool):
        return none if value is None else str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list):  # where null and undefined are empty
        return ",".join(javascript_text(item, none="") for item in value)
    return str(value)
