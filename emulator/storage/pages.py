"""The statements of the REST API's lists: a page of instances in order of creation, and how many there are.

Two ways lead through the instances. The index of statuses has the keys of each (workflow, status) in order, and
the time of creation beside them: with 100,000 instances stored a page of its merged ranges costs 0.4 ms, 4 ms where
all of them are too young or too old, and a count 5 ms at most. A deep page by number would merge all that comes
before it: that is counted off along the keys. The plain statement, which SQLite answers by sorting all keys of a
Workflow, took 60 to 390 ms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from stepwell.emulator.storage.codes import STATUS_CODES
from stepwell.emulator.storage.filters import where
from stepwell.emulator.storage.listing import COLUMNS
from stepwell.emulator.storage.records import Page, PageFilter, Status

_ALL: Final = tuple(Status)
#: Rows before a page up to which merging the ranges costs less than counting them off.
_SHALLOW: Final = 1_000


def page_statement(wanted: PageFilter, page: Page) -> tuple[str, list[Any]]:
    """SQL and parameters of one page; rows have the columns of `listing.COLUMNS`."""
    if wanted.workflow is not None and _only_ranges(wanted) and (wanted.statuses or page.offset <= _SHALLOW):
        return _by_ranges(wanted, wanted.workflow, page)
    condition, params = _along_the_keys(wanted)
    after, after_params = _after(page)
    sql = f"SELECT {COLUMNS} FROM instance WHERE {condition}{after} ORDER BY key {_word(page)} LIMIT ? OFFSET ?"
    return sql, [*params, *after_params, page.limit, page.offset]


def count_statement(wanted: PageFilter) -> tuple[str, list[Any]]:
    condition, params = where(wanted) if _only_ranges(wanted) else _along_the_keys(wanted)
    return f"SELECT count(*) FROM instance WHERE {condition}", params


def _only_ranges(wanted: PageFilter) -> bool:
    """Whether the index of statuses holds all that is asked for."""
    return replace(wanted, workflow=None, statuses=(), created_from=None, created_to=None) == PageFilter()


def _word(page: Page) -> str:
    return "ASC" if page.ascending else "DESC"


def _after(page: Page) -> tuple[str, list[Any]]:
    if page.after is None:
        return "", []
    return f" AND key {'>' if page.ascending else '<'} ?", [page.after]


def _by_ranges(wanted: PageFilter, workflow: int, page: Page) -> tuple[str, list[Any]]:
    after, after_params = _after(page)
    dates, date_params = where(replace(wanted, workflow=None, statuses=()))
    one = (
        f"SELECT key FROM instance WHERE workflow = ? AND status = ? AND {dates}{after} "
        f"ORDER BY key {_word(page)} LIMIT ?"
    )
    codes = [STATUS_CODES[status] for status in dict.fromkeys(wanted.statuses or _ALL)]
    params: list[Any] = []
    for code in codes:
        params += [workflow, code, *date_params, *after_params, page.limit + page.offset]
    union = " UNION ALL ".join([f"SELECT * FROM ({one})"] * len(codes))
    chosen = f"SELECT key FROM ({union}) ORDER BY key {_word(page)} LIMIT ? OFFSET ?"
    sql = f"SELECT {COLUMNS} FROM instance WHERE key IN ({chosen}) ORDER BY key {_word(page)}"
    return sql, [*params, page.limit, page.offset]


def _along_the_keys(wanted: PageFilter) -> tuple[str, list[Any]]:
    """The plus signs keep SQLite from the index of statuses, through which it would visit rows out of order."""
    condition, params = where(replace(wanted, workflow=None, statuses=()))
    if wanted.workflow is not None:
        condition += " AND +workflow = ?"
        params.append(wanted.workflow)
    if wanted.statuses:
        condition += f" AND +status IN ({', '.join('?' * len(wanted.statuses))})"
        params += [STATUS_CODES[status] for status in wanted.statuses]
    return condition, params
