"""What pages are made of: frames and inputs of view models, read through the store's reader."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from dataclasses import replace
from functools import cache
from typing import Final

from starlette.requests import Request

from stepwell.emulator.clock import SystemClock, monotonic_ns
from stepwell.emulator.dashboard.instance.advice import ReplayView
from stepwell.emulator.dashboard.list.columns import Column, chosen_columns
from stepwell.emulator.dashboard.list.groups import LOOKED_AT, SHOWN, grouping_of
from stepwell.emulator.dashboard.list.query import ListQuery, parse_query
from stepwell.emulator.dashboard.list.rows import RowInputs, focus_places
from stepwell.emulator.dashboard.list.view import COUNTED, ListInputs
from stepwell.emulator.dashboard.list.window import window
from stepwell.emulator.dashboard.parts.answers import NotFound
from stepwell.emulator.dashboard.parts.clipboard import page_snippets
from stepwell.emulator.dashboard.parts.errors import load_error
from stepwell.emulator.dashboard.parts.frame import Blocked, ClockMove, Frame, LoadFailure, navigation, total_of
from stepwell.emulator.dashboard.parts.selected_run import Found as Found
from stepwell.emulator.dashboard.parts.sources import Sources
from stepwell.emulator.dashboard.parts.urls import part_text
from stepwell.emulator.dashboard.runs.opened import OpenedRuns
from stepwell.emulator.engine.lifecycle import Command, allowed
from stepwell.emulator.histories.imported import Imported
from stepwell.emulator.storage.records import InstanceRow, PageFilter, Status, WorkflowRow
from stepwell.emulator.storage.store import StorageError
from stepwell.emulator.storage.view_records import Cursor, ListPage, Order
from stepwell.emulator.web.live import LiveEvents
from stepwell.emulator.web.marks import real_durations, unreadable
from stepwell.emulator.web.parts import ServerParts
from stepwell.emulator.web.whole_numbers import whole_number

Counts = dict[int, dict[Status, int]]

PER_PAGE: Final = 25
#: Rows that a live page may hold: those of its address, and new ones that pushed others off it.
_HELD: Final = 8 * PER_PAGE
#: Counts that took this long to make are shown this many times longer before they are made again.
_DEAR: Final = 10
_REPLAYS_KEPT: Final = 100
COLUMNS_COOKIE: Final = "stepwell_columns"
THEMES: Final = ("light", "dark", "system")


class Reads:
    """Reads for pages; each method is called in a thread of the server's pool."""

    def __init__(self, parts: ServerParts, live: LiveEvents) -> None:
        self.parts = parts
        self.reader = parts.reader
        self.live = live
        self.sources = Sources(parts.folders)
        self.opened = OpenedRuns(Imported.of(parts.settings.persist_to))
        #: What came of the last replays, by the key of the instance; the oldest are forgotten.
        self.replays: OrderedDict[int, ReplayView] = OrderedDict()
        self._counts: tuple[str, int, Counts] = ("", 0, {})

    def note_replay(self, key: int, view: ReplayView) -> None:
        self.replays[key] = view
        self.replays.move_to_end(key)
        while len(self.replays) > _REPLAYS_KEPT:
            self.replays.popitem(last=False)

    def now(self) -> int:
        """The engine's time."""
        return self.parts.engine.clock.now()

    def skew_ms(self) -> int:
        clock = self.parts.engine.clock
        return clock.skew_ms if isinstance(clock, SystemClock) else 0

    def counts(self) -> Counts:
        """Exact; made again only when something has changed, and under a storm of changes not at each one."""
        revision, good_until_ns, counts = self._counts
        began = monotonic_ns()
        if counts and (self.live.revision == revision or began < good_until_ns):
            return counts
        revision, counts = self.live.revision, self.reader.counts()
        took = monotonic_ns() - began
        self._counts = (revision, monotonic_ns() + (_DEAR * took if took > 5_000_000 else 0), counts)
        return counts

    # -- the frame
    def frame(
        self,
        request: Request,
        title: str,
        *,
        section: str = "",
        selected: str | None = None,
        watch: str = "0",
        command: str = "",
    ) -> Frame:
        """`watch` is "list", the key of an instance, or "0" for a page that only news of the server concern;
        `command` is the `stepwell` command that prints the same data.
        """
        counts = self.counts()
        now = self.now()
        theme = request.cookies.get("stepwell_theme", "system")
        # Which rows a live page shows besides is no part of its address.
        query = "&".join(part for part in request.url.query.split("&") if not part.startswith("shown="))
        path = request.url.path + (f"?{query}" if query else "")
        shell_url = self.parts.url or str(request.base_url).rstrip("/")
        return Frame(
            title=title,
            now=now,
            nav=navigation(self.reader.workflows(), counts, selected),
            total=total_of(counts),
            skew_ms=self.skew_ms(),
            clock_move=self._clock_move(),
            theme=theme if theme in THEMES else "system",
            watch=watch,
            revision=self.live.revision,
            blocked=self.blocked(now),
            troubles=self._troubles(),
            failure=self._failure(),
            cannot_follow=tuple(self.parts.notices.paused),
            held=self._held(),
            damage=self.parts.engine.damage,
            set_aside=tuple(self._name_of(key) for key in sorted(self.parts.engine.damaged)),
            path=path,
            section=section,
            shell_url=shell_url,
            shell=page_snippets(shell_url, path, command) if request.method == "GET" else (),
        )

    def _clock_move(self) -> ClockMove | None:
        move = self.parts.engine.clock_move
        return None if move is None else ClockMove(move.end, round(100 * move.share(self.now())), move.woken)

    def blocked(self, now: int) -> Blocked | None:
        standing = self.live.watch.blocked
        if standing is None:
            return None
        since_at, step = now - self.live.watch.blocked_ms, standing.step
        if step is None:
            return Blocked(since_at, standing.places)
        return Blocked(since_at, standing.places, step.workflow_name, step.instance_id, step.step or "")

    def _troubles(self) -> tuple[LoadFailure, ...]:
        notices = self.parts.notices
        return tuple(
            LoadFailure(name, load_error(text, self.sources.of(name)), runs=name not in notices.unloaded)
            for name, text in notices.problems.items()
        )

    def _held(self) -> str:
        hold = self.parts.engine.held
        return "" if hold is None else hold.reason

    def _name_of(self, key: int) -> str:
        """The id of an instance that may be unreadable, or else its key."""
        with contextlib.suppress(StorageError):
            if (row := self.reader.instance(key)) is not None:
                return row.id
        return f"number {key}"

    def _failure(self) -> str:
        error = self.parts.engine.failure
        return "" if error is None else f"{type(error).__name__}: {error}"

    # -- what an address names
    def workflow(self, request: Request) -> WorkflowRow:
        return self.workflow_named(part_text(request.path_params["workflow"]))

    def workflow_named(self, name: str) -> WorkflowRow:
        for row in self.reader.workflows():
            if row.name == name:
                return row
        raise NotFound(f'Workflow "{name}" not found.')

    def found(self, request: Request) -> Found:
        if (opened := request.path_params.get("opened")) is not None:
            return self.opened.found(opened)
        workflow = self.workflow(request)
        return self.found_named(workflow, part_text(request.path_params["instance"]))

    def found_named(self, workflow: WorkflowRow, instance_id: str) -> Found:
        key = self.reader.find(workflow.key, instance_id)
        row = self.reader.instance(key) if key is not None else None
        if row is None:
            raise NotFound(
                f'The Workflow "{workflow.name}" has no instance "{instance_id}". It may have been deleted.'
            )
        return Found(workflow, row, self.reader)

    # -- the list
    def query(self, request: Request) -> ListQuery:
        given = request.query_params
        return parse_query(
            " ".join(given.getlist("q")), self.now(), given.getlist("status"), given.get("workflow") or None
        )

    def filter_of(self, query: ListQuery) -> PageFilter:
        """Raises `NotFound` for an unknown Workflow."""
        if query.workflow is None:
            return query.filter
        return replace(query.filter, workflow=self.workflow_named(query.workflow).key)

    def list_inputs(self, request: Request) -> ListInputs:
        query, page = self.query(request), _page(request, self.now())
        wanted, grouping = self.filter_of(query), grouping_of(request.query_params.get("group", ""))
        rows = self.reader.listed(wanted, replace(page, limit=page.limit + 1)) if not grouping else []
        extra, deleted = self._shown_already(request, {row.key for row in window(rows, page).rows})
        return ListInputs(
            query=query,
            page=page,
            now=page.now,
            workflows=self.reader.workflows(),
            counts=self.counts(),
            rows=rows,
            parts=self._row_inputs([*rows, *extra]),
            by_status=self._by_status(wanted),
            columns=self._columns(request),
            columns_in_url="columns" in request.query_params,
            base_url=self.parts.url,
            extra=extra,
            deleted=deleted,
            commands=statuses_by_command(),
            grouping=grouping,
            errors=self.reader.error_groups(wanted, LOOKED_AT, SHOWN) if grouping == "error" else (),
            groups=self.reader.workflow_groups(wanted, LOOKED_AT) if grouping == "workflow" else (),
        )

    def _row_inputs(self, rows: list[InstanceRow]) -> RowInputs:
        tallies = self.reader.step_tallies(row.key for row in rows)
        errored = [row.key for row in rows if row.status in (Status.ERRORED, Status.ROLLING_BACK)]
        complete = [row.key for row in rows if row.status is Status.COMPLETE]
        queued = [row.key for row in rows if row.status is Status.QUEUED]
        return RowInputs(
            workflows=self.reader.workflows(),
            tallies=tallies,
            focus=self.reader.steps_at(focus_places(rows, tallies)),
            errors=self.reader.error_briefs(errored) if errored else {},
            outputs=self.reader.output_briefs(complete) if complete else {},
            queue_places={key: self.reader.queued_before(key) for key in queued},
            real_durations=real_durations(self.parts.engine, rows),
            unreadable=unreadable(self.parts.engine, rows),
            pausable=statuses_by_command()["pause"],
        )

    def _by_status(self, wanted: PageFilter) -> dict[Status, int] | None:
        """None where the counts by status say it already."""
        if replace(wanted, workflow=None, statuses=()) == PageFilter():
            return None
        return self.reader.count_matching_by_status(replace(wanted, statuses=()), COUNTED)

    def _columns(self, request: Request) -> tuple[Column, ...]:
        """Those of the address, else those that this browser chose last."""
        given = request.query_params.get("columns", request.cookies.get(COLUMNS_COOKIE))
        return chosen_columns(given.split(".") if given is not None else None)

    def _shown_already(self, request: Request, keys: set[int]) -> tuple[list[InstanceRow], tuple[int, ...]]:
        """Rows that a live page holds beside those of its address, and the keys of those that were deleted."""
        parts = request.query_params.get("shown", "").split(".")[:_HELD]
        held = [key for part in parts if (key := whole_number(part)) is not None and key not in keys]
        rows = {key: self.reader.instance(key) for key in held}
        deleted = tuple(key for key, row in rows.items() if row is None)
        return [row for row in rows.values() if row is not None], deleted


@cache
def statuses_by_command() -> dict[str, frozenset[Status]]:
    """In which statuses a command applies."""
    return {
        str(command): frozenset(status for status in Status if allowed(status)[command] is None)
        for command in Command
    }


def _page(request: Request, now: int) -> ListPage:
    given = request.query_params
    order = Order(given["sort"]) if given.get("sort") in set(Order) else Order.NEWEST
    before, after = _cursor(given.get("before")), _cursor(given.get("after"))
    return ListPage(PER_PAGE, order, before or after, before is not None, now)


def _cursor(text: str | None) -> Cursor | None:
    value, _, key = (text or "").partition(".")
    place = whole_number(value), whole_number(key)
    return Cursor(place[0], place[1]) if place[0] is not None and place[1] is not None else None
