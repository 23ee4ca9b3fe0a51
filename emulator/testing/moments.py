"""Times as tests write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from stepwell.bindings.values.times import datetime_ms


def start_at(value: Any) -> int | None:
    """Milliseconds, a datetime, or a date text such as "2026-03-01T09:00:00Z"; naive times are UTC."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return datetime_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
