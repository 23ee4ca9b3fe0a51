"""Cron expressions in Cloudflare's syntax: five fields, in UTC, days of the week from 1 (Sunday) to 7."""

from __future__ import annotations

import re
from typing import Final

_FIELDS: Final = ("minute", "hour", "day of the month", "month", "day of the week")
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_EXAMPLE: Final = 'for example "*/30 * * * *" or "0 9 * * MON-FRI"'


class InvalidCron(ValueError):
    """Invalid cron expression; the message names the part and the reason."""


def check_cron(text: str) -> None:
    """Raise `InvalidCron` unless the text is a valid cron expression."""
    from datetime import UTC, datetime

    from cronsim import CronSim, CronSimError  # imported only for projects with schedules

    try:
        CronSim(plain_cron(text), datetime(2024, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise InvalidCron(f"{error} (the fields are {', '.join(_FIELDS)}, in UTC; {_EXAMPLE})") from None


def plain_cron(text: str) -> str:
    """Convert days of the week from Cloudflare's numbers (1 to 7) to those of cron programs (0 to 6).

    On Cloudflare `0 17 * * 1` is Sunday and `2-6` are the weekdays; names mean the same everywhere.
    Raises `InvalidCron` unless there are five fields and all days are 1 to 7.
    """
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise InvalidCron(f"expected five fields ({', '.join(_FIELDS)}), got {len(fields)}; {_EXAMPLE}")
    return " ".join((*fields[:4], _plain_days(fields[4])))


def _plain_days(field: str) -> str:
    # Numbers after / are steps and numbers after # weeks of the month, not days.
    return re.sub(r"(?<![0-9/#])[0-9]+|[A-Z]{3}", lambda match: _plain_day(match[0]), field.upper())


def _plain_day(day: str) -> str:
    if day in _DAYS:
        return str(_DAYS.index(day))
    if day not in ("1", "2", "3", "4", "5", "6", "7"):
        raise InvalidCron(f"the day of the week is {day[:20]}; expected 1 (Sunday) to 7 (Saturday), or SUN to SAT")
    return str(int(day) - 1)
