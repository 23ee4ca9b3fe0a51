"""Times as people read them, in the terminal and from the command line: in the zone of the machine.

Python Workers run with TZ=UTC, as on Cloudflare, and so does the process that they are loaded into. So the zone
of the machine is noted here before any is loaded.
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
    """A time in ms since the epoch, in the zone of the machine."""
    return (_EPOCH + timedelta(milliseconds=ms)).astimezone(_zone())


def with_zone(time: datetime) -> str:
    """`2026-07-01 09:00:00 UTC+02:00`: an offset says more than a name that few know."""
    offset = time.strftime("%z")
    away = "" if offset in ("", "+0000") else f"{offset[:3]}:{offset[3:5]}"
    return f"{time:%Y-%m-%d %H:%M:%S} UTC{away}"


def moment(ms: int) -> str:
    """A time in ms since the epoch with the zone it is told in."""
    return with_zone(local(ms))


@cache
def _zone() -> tzinfo | None:
    """None is the one that the process has: on Windows, where it stays that of the machine."""
    from zoneinfo import ZoneInfo  # not needed before the first line

    try:
        if _TZ:
            return ZoneInfo(_TZ.removeprefix(":"))
        with _SYSTEM.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError, KeyError):
        return timezone(timedelta(seconds=-_STANDARD_S)) if hasattr(time, "tzset") else None
