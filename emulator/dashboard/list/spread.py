"""How many instances are in each status, as one proportional bar whose segments filter the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.list.links import Links
from stepwell.emulator.dashboard.list.query import ListQuery
from stepwell.emulator.dashboard.parts.statuses import ORDER, STATUS_LOOKS, Look
from stepwell.emulator.storage.records import Status

#: In percent of the whole: a segment can still be seen and hit, and a gap parts it from the next.
_NARROWEST: Final = 0.8
_GAP: Final = 0.25


@dataclass(frozen=True, slots=True)
class Segment:
    """`start` and `width` are percent of the bar."""

    status: Status
    look: Look
    count: int
    selected: bool
    url: str
    start: float
    width: float


def spread(counts: Mapping[Status, int], query: ListQuery, links: Links) -> tuple[Segment, ...]:
    """Statuses without instances are left out, except those that are selected."""
    shown = [status for status in ORDER if counts.get(status) or status in query.statuses]
    widths = _widths([counts.get(status, 0) for status in shown])
    segments, start = [], 0.0
    for status, width in zip(shown, widths, strict=True):
        look, count, chosen = STATUS_LOOKS[status], counts.get(status, 0), status in query.statuses
        segments.append(
            Segment(status, look, count, chosen, links.toggled(status), round(start, 3), round(width, 3))
        )
        start += width + (_GAP if width else 0)
    return tuple(segments)


def _widths(counts: list[int]) -> list[float]:
    """Shares of the bar less the gaps; the small ones are widened at the cost of the others."""
    present = [count for count in counts if count]
    if not present:
        return [0.0 for _ in counts]
    room = 100 - _GAP * (len(present) - 1)
    shares = [max(room * count / sum(present), _NARROWEST) if count else 0.0 for count in counts]
    return [share * room / sum(shares) for share in shares]
