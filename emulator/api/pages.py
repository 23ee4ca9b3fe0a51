"""Pagination: by number, as the official clients ask, and by cursor, which stays true while rows come."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepwell.emulator.storage.records import InstanceRow, Page
from stepwell.emulator.web.kinds import BadValue
from stepwell.emulator.web.whole_numbers import whole_number

PER_PAGE: Final = 25


@dataclass(frozen=True, slots=True)
class Paging:
    """The requested page. `after` is the key from the cursor."""

    per_page: int
    page: int
    after: int | None
    ascending: bool

    @property
    def is_over(self) -> bool:
        """A page beyond the cursor's own: the official clients count on from it, and end at an empty list."""
        return self.after is not None and self.page > 1

    @property
    def offset(self) -> int:
        return 0 if self.after is not None else (self.page - 1) * self.per_page

    def rows(self) -> Page:
        """Read one row more than fits, to know if there is another page without counting."""
        return Page(self.per_page + 1, self.after, self.offset, self.ascending)


def paging(query: Mapping[str, Any]) -> Paging:
    """Raises `BadValue` for a cursor that was not ours. A cursor keeps the direction that it was made with."""
    ascending = query.get("direction") == "asc"
    after = None
    if "cursor" in query:
        after, ascending = read_cursor(query["cursor"])
    return Paging(query.get("per_page", PER_PAGE), query.get("page", 1), after, ascending)


def cursor(last: InstanceRow, *, ascending: bool) -> str:
    text = f"{'asc' if ascending else 'desc'}:{last.key}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(text: str) -> tuple[int, bool]:
    """The key of the last row seen, and whether keys go up. Raises `BadValue`."""
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
        direction, _, key = plain.partition(":")
        last = whole_number(key)
        if direction in ("asc", "desc") and last is not None:
            return last, direction == "asc"
    except (binascii.Error, ValueError):
        pass
    raise BadValue("cursor: expected the cursor of an earlier answer")


def cursor_info(paging: Paging, rows: list[InstanceRow]) -> dict[str, object]:
    """`result_info` of a page of instances. `rows` are those read with `Paging.rows`."""
    shown = rows[: paging.per_page]
    has_more = len(rows) > paging.per_page
    return {
        "per_page": paging.per_page,
        "count": len(shown),
        "cursor": cursor(shown[-1], ascending=paging.ascending) if has_more else "",
    }


def total_info(paging: Paging, count: int, total: int) -> dict[str, object]:
    return {
        "page": paging.page,
        "per_page": paging.per_page,
        "count": count,
        "total_count": total,
        "total_pages": -(-total // paging.per_page),
    }
