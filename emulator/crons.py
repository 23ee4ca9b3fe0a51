"""Cron expressions as Cloudflare reads them: five fields, in UTC, days of the week counted from 1, Sunday."""

from __future__ import annotations

import re
from typing import Final

_FIELDS: Final = ("minute", "hour", "day of the month", "month", "day of the week")
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_EXAMPLE: Final = 'for example "*/30 * * * *" or "0 9 * * MON-FRI"'


class InvalidCron(ValueError):
    """A text that is no cron expression; the message says which part and why."""


def check_cron(text: str) -> None:
    """Raises `InvalidCron` when the text is no cron expression."""
    from datetime import UTC, datetime

    from cronsim import CronSim, CronSimError  # only projects with schedules pay for it

    try:
        CronSim(plain_cron(text), datetime(2024, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise InvalidCron(f"{error} (the fields are {', '.join(_FIELDS)}, in UTC; {_EXAMPLE})") from None


def plain_cron(text: str) -> str:
    """The expression with days of the week counted from 0 as cron programs do, where Cloudflare counts from 1.

    On Cloudflare `0 17 * * 1` is Sunday and `2-6` are the weekdays; names mean the same everywhere.
    Raises `InvalidCron` for anything but five fields, and for a day that is not 1 to 7.
    """
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise InvalidCron(f"expected five fields ({', '.join(_FIELDS)}), got {len(fields)}; {_EXAMPLE}")
    return " ".join((*fields[:4], _plain_days(fields[4])))


def _plain_days(field: str) -> str:
    # What follows / is a step and what follows # a week of the month: no days.
    return re.sub(r"(?<![0-9/#])[0-9]+|[A-Z]{3}", lambda match: _plain_day(match[0]), field.upper())


def _plain_day(day: str) -> str:
    if day in _DAYS:
        return str(_DAYS.index(day))
    if day not in ("1", "2", "3", "4", "5", "6", "7"):
        raise InvalidCron(f"the day of the week is {day[:20]}; expected 1 (Sunday) to 7 (Saturday), or SUN to SAT")
    return str(int(day) - 1)
