"""The readers of the Events, Logs and History tabs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.instance.entries import (
    FAMILIES,
    LONGEST_SHOWN,
    EntryView,
    EventView,
    LogView,
    entry_views,
    event_views,
    log_views,
)
from stepwell.emulator.dashboard.instance.links import RunLinks
from stepwell.emulator.storage.records import HistoryRow
from stepwell.emulator.storage.view_records import EntryCounts

_EVENTS_SHOWN: Final = 100
_LOGS_SHOWN: Final = 1_000
ENTRIES_SHOWN: Final = 100
#: Entries that are read at a time for a page of one family.
_BATCH: Final = 2_000
_LAST: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class EventsTab:
    """The newest events; `older` more are not shown."""

    events: tuple[EventView, ...]
    older: int


@dataclass(frozen=True, slots=True)
class LogsTab:
    """The first lines, of `count`."""

    logs: tuple[LogView, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Pager:
    """Addresses of other pages of the history; empty where there are none."""

    first: str
    previous: str
    next: str
    last: str


@dataclass(frozen=True, slots=True)
class HistoryTab:
    """A page of the history, of `count` entries; `families` are filters: name, address, whether it is chosen."""

    entries: tuple[EntryView, ...]
    count: int
    family: str
    families: tuple[tuple[str, str, bool], ...]
    pager: Pager


def _names(context: RunContext, seqs: Iterable[int | None]) -> tuple[dict[int, str], dict[int, str]]:
    """Labels and addresses of steps."""
    links = RunLinks(context)
    known = {seq for seq in seqs if seq is not None and seq in context.outline.by_seq}
    return {seq: context.label(seq) for seq in known}, {seq: links.step(seq) for seq in known}


def read_events(context: RunContext, counts: EntryCounts) -> EventsTab:
    rows = context.reader.events_shown(context.key, LONGEST_SHOWN, _EVENTS_SHOWN)
    names, urls = _names(context, (row.claimed_by for row in rows))
    return EventsTab(event_views(rows, names, urls, context.address), max(0, counts.events - len(rows)))


def read_logs(context: RunContext, counts: EntryCounts) -> LogsTab:
    rows = context.reader.logs_shown(context.key, None, _LOGS_SHOWN)
    names, urls = _names(context, (row.step for row in rows))
    return LogsTab(log_views(rows, names, urls, context.address), counts.logs)


def read_history(context: RunContext, counts: EntryCounts) -> HistoryTab:
    family = context.query.family if context.query.family in FAMILIES else ""
    rows, has_more, has_fewer = _page(context, family)
    names, urls = _names(context, (row.step for row in rows))
    return HistoryTab(
        entries=entry_views(rows, names, urls),
        count=counts.history,
        family=family,
        families=tuple(_families(context, family)),
        pager=_pager(context, family, rows, has_more=has_more, has_fewer=has_fewer),
    )


def _families(context: RunContext, family: str) -> Iterable[tuple[str, str, bool]]:
    links = RunLinks(context)
    yield "All", links.tab("history"), not family
    for name in FAMILIES:
        yield name.capitalize(), links.tab("history", type=name), name == family


def _pager(
    context: RunContext, family: str, rows: Sequence[HistoryRow], *, has_more: bool, has_fewer: bool
) -> Pager:
    links, kind = RunLinks(context), family or None
    if not rows:
        return Pager("", "", "", "")
    return Pager(
        first=links.tab("history", type=kind) if has_fewer else "",
        previous=links.tab("history", type=kind, before=rows[0].event_id) if has_fewer else "",
        next=links.tab("history", type=kind, after=rows[-1].event_id) if has_more else "",
        last=links.tab("history", type=kind, before=_LAST) if has_more else "",
    )


def _page(context: RunContext, family: str) -> tuple[list[HistoryRow], bool, bool]:
    """The entries of the page, and whether there are later and earlier ones."""
    query = context.query
    if query.before is not None:
        rows = _backward(context, query.before, family)
        has_fewer = len(rows) > ENTRIES_SHOWN
        return rows[-ENTRIES_SHOWN:], bool(_forward(context, query.before - 1, family, 1)), has_fewer
    rows = _forward(context, query.after, family, ENTRIES_SHOWN + 1)
    return rows[:ENTRIES_SHOWN], len(rows) > ENTRIES_SHOWN, query.after > 0


def _forward(context: RunContext, after: int, family: str, most: int) -> list[HistoryRow]:
    found: list[HistoryRow] = []
    while True:
        rows = context.reader.history_page(context.key, after, _BATCH if family else most)
        found += [row for row in rows if row.type.startswith(family)]
        if len(found) >= most or not rows or not family:
            return found[:most]
        after = rows[-1].event_id


def _backward(context: RunContext, before: int, family: str) -> list[HistoryRow]:
    found: list[HistoryRow] = []
    while True:
        rows = context.reader.last_history(context.key, before, _BATCH if family else ENTRIES_SHOWN + 1)
        rows = [row for row in rows if row.event_id < before]
        found = [row for row in rows if row.type.startswith(family)] + found
        if len(found) > ENTRIES_SHOWN or not rows or not family:
            return found[-ENTRIES_SHOWN - 1 :]
        before = rows[0].event_id
