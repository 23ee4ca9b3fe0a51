"""Values inside of messages: what JavaScript makes of them, since Cloudflare's messages are made there."""

from __future__ import annotations

import math
from datetime import datetime

from stepwell.bindings.values.shapes import JsNull


def javascript_text(value: object) -> str:
    """The text of a value in a template literal; None is undefined."""
    if value is None or isinstance(value, JsNull):
        return "undefined" if value is None else "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if isinstance(value, datetime):
        return value.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)")
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list):  # where null and undefined are empty
        return ",".join("" if item is None or isinstance(item, JsNull) else javascript_text(item) for item in value)
    return str(value)
