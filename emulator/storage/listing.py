"""The statement of one page of a list: a key set in an order, never an OFFSET.

By creation the key decides, and a list narrowed by status walks one index range for each status and Workflow,
so that rare statuses cost as little as common ones. The other orders look at every row that matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from stepwell.emulator.storage.codes import STATUS_CODES
from stepwell.emulator.storage.filters import where
from stepwell.emulator.storage.records import PageFilter
from stepwell.emulator.storage.view_records import ListPage, Order

#: What a record of an instance is made of.
COLUMNS: Final = """key, workflow, id, status, created_at, modified_at, started_at, ended_at, paused_at, wake_at,
       expires_at, version, trigger, schedule, success_retention_ms, error_retention_ms,
       (SELECT count(*) FROM step WHERE step.instance = instance.key), created_by, copied_from, restarted_from,
       restarted_at"""

#: SQLite joins up to 500 SELECTs; with more Workflows than this the list reads along the keys.
_MOST_RANGES: Final = 200

_RUN_TIME: Final = "coalesce(ended_at, ?) - coalesce(started_at, ended_at, ?)"


class _Sorting(NamedTuple):
    """What an order sorts by (None: the key alone) and whether it goes down."""

    value: str | None
    down: bool


_SORTINGS: Final = {
    Order.NEWEST: _Sorting(None, True),
    Order.OLDEST: _Sorting(None, False),
    Order.LONGEST: _Sorting(_RUN_TIME, True),
    Order.NEXT_WAKE: _Sorting("coalesce(wake_at, 9000000000000000)", False),
}


def page_statement(wanted: PageFilter, page: ListPage, workflows: Sequence[int]) -> tuple[str, list[Any]]:
    """SQL and parameters. `workflows` are the keys of all Workflows, for a list that is not narrowed to one."""
    sorting = _SORTINGS[page.order]
    down = sorting.down != page.backward
    if sorting.value is not None:
        return _by_value(wanted, page, sorting.value, down)
    ranges = _ranges(wanted, workflows)
    if ranges is not None:
        return _by_ranges(ranges, page, down)
    condition, params = where(wanted)
    after, after_params = _after_key(page, down)
    sql = f"SELECT {COLUMNS} FROM instance WHERE {condition}{after} ORDER BY key {_word(down)} LIMIT ?"
    return sql, [*params, *after_params, page.limit]


def _word(down: bool) -> str:
    return "DESC" if down else "ASC"


def _after_key(page: ListPage, down: bool) -> tuple[str, list[Any]]:
    if page.after is None:
        return "", []
    return f" AND key {'<' if down else '>'} ?", [page.after.key]


def _ranges(wanted: PageFilter, workflows: Sequence[int]) -> list[tuple[int, int]] | None:
    """The (workflow, status) ranges that are the whole condition; None when there is more to it."""
    if not wanted.statuses or replace(wanted, statuses=(), workflow=None) != PageFilter():
        return None
    keys = [wanted.workflow] if wanted.workflow is not None else list(workflows)
    found = [(key, STATUS_CODES[status]) for key in keys for status in dict.fromkeys(wanted.statuses)]
    return found if 0 < len(found) <= _MOST_RANGES else None


def _by_ranges(ranges: list[tuple[int, int]], page: ListPage, down: bool) -> tuple[str, list[Any]]:
    after, after_params = _after_key(page, down)
    one = f"SELECT key FROM instance WHERE workflow = ? AND status = ?{after} ORDER BY key {_word(down)} LIMIT ?"
    params: list[Any] = []
    for workflow, status in ranges:
        params += [workflow, status, *after_params, page.limit]
    union = " UNION ALL ".join([f"SELECT * FROM ({one})"] * len(ranges))
    # The newest of all ranges are chosen before any row is read.
    chosen = f"SELECT key FROM ({union}) ORDER BY key {_word(down)} LIMIT ?"
    sql = f"SELECT {COLUMNS} FROM instance WHERE key IN ({chosen}) ORDER BY key {_word(down)}"
    return sql, [*params, page.limit]


def _by_value(wanted: PageFilter, page: ListPage, value: str, down: bool) -> tuple[str, list[Any]]:
    condition, params = where(wanted)
    times = [page.now] * value.count("?")
    after, after_params = "", list[Any]()
    if page.after is not None:
        after = f" AND ({value}, key) {'<' if down else '>'} (?, ?)"
        after_params = [*times, page.after.value, page.after.key]
    order = f"{value} {_word(down)}, key {_word(down)}"
    # The keys are sorted without their rows; only those of the page are read in full.
    chosen = f"SELECT key FROM instance WHERE {condition}{after} ORDER BY {order} LIMIT ?"
    sql = f"SELECT {COLUMNS} FROM instance WHERE key IN ({chosen}) ORDER BY {order}"
    return sql, [*params, *after_params, *times, page.limit, *times]
