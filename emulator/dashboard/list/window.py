"""The rows of one page out of the rows that were read, and the places where the pages before and after it begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.emulator.storage.records import InstanceRow
from stepwell.emulator.storage.view_records import Cursor, ListPage, Order

#: Sorts instances that do not wake behind all that do.
_NEVER = 9_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """`newer` and `older` are the cursors of the neighbouring pages, None where there is none."""

    rows: tuple[InstanceRow, ...]
    newer: Cursor | None
    older: Cursor | None

    @property
    def is_first(self) -> bool:
        return self.newer is None


def window(rows: Sequence[InstanceRow], page: ListPage) -> Window:
    """`rows` are in the order of the list. One row more than the page holds means that the next page has rows."""
    more = len(rows) > page.limit
    shown = tuple(rows[1:] if page.backward else rows[:-1]) if more else tuple(rows)
    if not shown:
        return Window((), None, None)
    before = more if page.backward else page.after is not None
    after = page.backward or more
    return Window(
        shown, cursor_of(shown[0], page) if before else None, cursor_of(shown[-1], page) if after else None
    )


def cursor_of(row: InstanceRow, page: ListPage) -> Cursor:
    """The place of a row in the order of the page."""
    if page.order is Order.LONGEST:
        end = row.ended_at if row.ended_at is not None else page.now
        start = row.started_at if row.started_at is not None else end
        return Cursor(end - start, row.key)
    if page.order is Order.NEXT_WAKE:
        return Cursor(row.wake_at if row.wake_at is not None else _NEVER, row.key)
    return Cursor(0, row.key)
