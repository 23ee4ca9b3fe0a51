"""Times in the machine's zone, for the terminal and the command line.

Python Workers run with TZ=UTC, as on Cloudflare, which changes the zone of the whole process. So this module
remembers the machine's zone before a Worker is loaded.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from pathlib import Path
from typing import Final

_TZ: Final = os.environ.get("TZ")
_STANDARD_S: Final = time.timezone
_SYSTEM: Final = Path("/etc/localtime")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def local(ms: int) -> datetime:
    """Convert ms since the epoch to a time in the machine's zone."""
    return (_EPOCH + timedelta(milliseconds=ms)).astimezone(_zone())


def with_zone(time: datetime) -> str:
    """Format as `2026-07-01 09:00:00 UTC+02:00`: offsets are better known than names of zones."""
    zone = time.strftime("%z")
    offset = "" if zone in ("", "+0000") else f"{zone[:3]}:{zone[3:5]}"
    return f"{time:%Y-%m-%d %H:%M:%S} UTC{offset}"


def moment(ms: int) -> str:
    """Format ms since the epoch as a local time with its offset."""
    return with_zone(local(ms))


@cache
def _zone() -> tzinfo | None:
    """The machine's zone; None for that of the process, which on Windows is the machine's."""
    from zoneinfo import ZoneInfo  # not needed before the first printed line

    try:
        if _TZ:
            return ZoneInfo(_TZ.removeprefix(":"))
        with _SYSTEM.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError, KeyError):
        return timezone(timedelta(seconds=-_STANDARD_S)) if hasattr(time, "tzset") else None
