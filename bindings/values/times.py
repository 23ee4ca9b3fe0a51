"""Times as they cross: milliseconds since the epoch, Python's `datetime`, and JavaScript's ISO texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive is UTC in a Worker


def datetime_ms(value: datetime) -> int:
    """Milliseconds since the epoch; a naive datetime is UTC, as everything is in a Worker."""
    naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return (naive - _EPOCH) // timedelta(milliseconds=1)


def ms_datetime(ms: int) -> datetime:
    """The naive UTC datetime of a time in ms; raises `OverflowError` outside of Python's years."""
    return _EPOCH + timedelta(milliseconds=ms)


def iso(ms: int) -> str:
    """ISO 8601 in UTC with milliseconds and Z, as JavaScript writes a Date."""
    return ms_datetime(ms).isoformat(timespec="milliseconds") + "Z"
