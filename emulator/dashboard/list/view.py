"""The list of instances: tiles with counts, rows, and the links that narrow, sort and page it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from stepwell.emulator.dashboard.list.columns import Column, chosen_columns, columns_query
from stepwell.emulator.dashboard.list.query import ListQuery, Word
from stepwell.emulator.dashboard.parts.clipboard import Snippet, list_snippets
from stepwell.emulator.dashboard.parts.statuses import ORDER, STATUS_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import cut_middle, duration
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.dashboard.parts.where import Where, where
from stepwell.emulator.storage.records import (
    FINITE,
    InstanceRef,
    InstanceRow,
    Status,
    StepState,
    Trigger,
    WorkflowRow,
)
from stepwell.emulator.storage.view_records import Cursor, ListPage, Order, StepBrief, StepTally

#: Up to so many matches are counted exactly where counting means looking at every row.
COUNTED: Final = 10_000

Emptiness: TypeAlias = Literal["", "no-workflow", "no-instance", "no-match"]

ORDER_NAMES: Final = {
    Order.NEWEST: "Newest first",
    Order.OLDEST: "Oldest first",
    Order.LONGEST: "Longest run first",
    Order.NEXT_WAKE: "Next wake first",
}


@dataclass(frozen=True, slots=True)
class ListInputs:
    """Everything read for one page. `rows` may hold one row more than the page: then there is a next page."""

    query: ListQuery
    page: ListPage
    now: int
    workflows: Sequence[WorkflowRow]
    counts: Mapping[int, Mapping[Status, int]]
    rows: Sequence[InstanceRow]
    tallies: Sequence[StepTally]
    focus: Sequence[StepBrief]
    errors: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    outputs: Mapping[int, str] = field(default_factory=dict)
    matching: int | None = None
    columns: tuple[Column, ...] = field(default_factory=lambda: chosen_columns(None))
    #: Whether the address says which columns: then the links of the page say it too.
    columns_in_url: bool = False
    base_url: str = ""
    #: Rows that the page shows already and that may have left the list since.
    extra: Sequence[InstanceRow] = ()
    #: Real durations in ms, by the keys of the rows during which the clock was moved.
    real_durations: Mapping[int, int] = field(default_factory=dict)
    #: Keys of the rows whose data is damaged.
    unreadable: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Tile:
    status: Status
    look: Look
    count: int
    selected: bool
    url: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Steps of an instance by how they stand; the open ones look as the instance does."""

    done: int
    failed: int
    open: int
    open_tone: str

    @property
    def total(self) -> int:
        return self.done + self.failed + self.open

    @property
    def spans(self) -> list[tuple[str, float, float]]:
        """(tone, start, width) of each piece in percent."""
        spans, start = [], 0.0
        for tone, count in (("good", self.done), ("bad", self.failed), (self.open_tone, self.open)):
            if count:
                width = 100 * count / self.total
                spans.append((tone, round(start, 2), round(width, 2)))
                start += width
        return spans


@dataclass(frozen=True, slots=True)
class Row:
    key: int
    id: str
    short_id: str
    url: str
    workflow: str
    workflow_url: str
    status: Status
    look: Look
    where: Where
    progress: Progress
    created_at: int
    started_at: int | None
    ended_at: int | None
    trigger: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    name: str
    url: str
    selected: bool
    value: str = ""


@dataclass(frozen=True, slots=True)
class ListView:
    query: ListQuery
    tiles: tuple[Tile, ...]
    rows: tuple[Row, ...]
    extra: tuple[Row, ...]
    total: int
    matching: int
    matching_exact: bool
    newest: bool
    #: The address of the page as fields of a form.
    fields: tuple[tuple[str, str], ...]
    first_url: str
    newer_url: str | None
    older_url: str | None
    clear_url: str
    orders: tuple[Choice, ...]
    drops: tuple[Choice, ...]
    emptiness: Emptiness
    workflow: WorkflowRow | None
    columns: tuple[Column, ...]
    columns_text: str
    snippets: tuple[Snippet, ...]


def build_list(given: ListInputs) -> ListView:
    query = given.query
    columns_text = columns_query(given.columns) if given.columns_in_url else ""
    links = Links(query, given.page.order, columns_text)
    limit = given.page.limit
    more = len(given.rows) > limit
    shown = _page_rows(given, more)
    total = _total(given)
    matching = given.matching if given.matching is not None else total
    workflow = next((row for row in given.workflows if row.name == query.workflow), None)
    at_start = given.page.after is None or (given.page.backward and not more)
    has_older = more if not given.page.backward else True
    return ListView(
        query=query,
        tiles=_tiles(given, links),
        rows=_rows(given, shown, links),
        extra=_rows(given, [row for row in given.extra if row.key not in {one.key for one in shown}], links),
        total=total,
        matching=matching,
        matching_exact=matching < COUNTED or given.matching is None,
        newest=at_start and given.page.order is Order.NEWEST,
        fields=links.fields(given.page),
        first_url=links.page(),
        newer_url=None if at_start or not shown else links.page(before=cursor_of(shown[0], given.page)),
        older_url=links.page(after=cursor_of(shown[-1], given.page)) if has_older and shown else None,
        clear_url=links.cleared(query.workflow),
        orders=tuple(Choice(name, links.order(o), o is given.page.order, o) for o, name in ORDER_NAMES.items()),
        drops=links.drops(),
        emptiness=_emptiness(given, total),
        workflow=workflow,
        columns=given.columns,
        columns_text=columns_text,
        snippets=list_snippets(given.base_url, query.workflow, [str(status) for status in query.statuses]),
    )


def _page_rows(given: ListInputs, more: bool) -> list[InstanceRow]:
    rows = list(given.rows)
    if not more:
        return rows
    return rows[1:] if given.page.backward else rows[:-1]


def _total(given: ListInputs) -> int:
    keys = [row.key for row in given.workflows if given.query.workflow in (None, row.name)]
    return sum(sum(given.counts.get(key, {}).values()) for key in keys)


def _emptiness(given: ListInputs, total: int) -> Emptiness:
    if given.rows:
        return ""
    if not given.workflows:
        return "no-workflow"
    return "no-match" if total else "no-instance"


def _tiles(given: ListInputs, links: Links) -> tuple[Tile, ...]:
    sums: dict[Status, int] = {}
    for row in given.workflows:
        if given.query.workflow in (None, row.name):
            for status, count in given.counts.get(row.key, {}).items():
                sums[status] = sums.get(status, 0) + count
    chosen = given.query.statuses
    return tuple(
        Tile(status, STATUS_LOOKS[status], sums.get(status, 0), status in chosen, links.toggled(status))
        for status in ORDER
    )


def _rows(given: ListInputs, shown: Sequence[InstanceRow], links: Links) -> tuple[Row, ...]:
    urls = Urls()
    workflows = {row.key: row for row in given.workflows}
    tallies: dict[int, list[StepTally]] = {}
    for tally in given.tallies:
        tallies.setdefault(tally.instance, []).append(tally)
    focus = {step.instance: step for step in given.focus}
    rows = []
    for row in shown:
        workflow = workflows.get(row.workflow)
        name = workflow.name if workflow is not None else "?"
        progress = _progress(row.status, tallies.get(row.key, ()))
        sentence = where(
            row,
            focus.get(row.key),
            others=max(progress.open - 1, 0),
            error=given.errors.get(row.key),
            output=given.outputs.get(row.key),
            defined=workflow is not None and workflow.defined,
        )
        rows.append(
            Row(
                key=row.key,
                id=row.id,
                short_id=cut_middle(row.id, 44),
                url=urls.instance(name, row.id),
                workflow=name,
                workflow_url=links.cleared(name),
                status=row.status,
                look=STATUS_LOOKS[row.status],
                where=sentence,
                progress=progress,
                created_at=row.created_at,
                started_at=row.started_at,
                ended_at=row.ended_at,
                trigger=row.trigger,
                notes=_notes(row, given.real_durations.get(row.key), unreadable=row.key in given.unreadable),
            )
        )
    return tuple(rows)


def _notes(row: InstanceRow, real_ms: int | None, *, unreadable: bool) -> tuple[str, ...]:
    """What is special about an instance; nothing for most."""
    creator, source = InstanceRef.from_json(row.created_by), InstanceRef.from_json(row.copied_from)
    notes = (
        "data damaged" if unreadable else "",
        "scheduled" if row.trigger is Trigger.CRON else "",
        f"created by {creator.workflow}/{creator.id}" if creator is not None else "",
        f"copied from {source.id}" if source is not None else "",
        "restarted from a step" if row.restarted_at is not None else "",
        f"clock moved: {duration(real_ms)} in real time" if real_ms is not None else "",
    )
    return tuple(filter(None, notes))


def _progress(status: Status, tallies: Sequence[StepTally]) -> Progress:
    done = sum(t.count for t in tallies if t.state is StepState.COMPLETED)
    failed = sum(t.count for t in tallies if t.state is StepState.FAILED)
    # What was open when a run ended will not go on: it is neither running nor what failed.
    tone = "calm" if status in FINITE else STATUS_LOOKS[status].tone
    return Progress(done, failed, sum(t.count for t in tallies) - done - failed, tone)


def focus_places(rows: Sequence[InstanceRow], tallies: Sequence[StepTally]) -> list[tuple[int, int]]:
    """(instance, seq) of the step that a row's sentence is about: an open one; of errored ones the last failed."""
    status = {row.key: row.status for row in rows}
    places: dict[int, tuple[int, int]] = {}
    for tally in tallies:
        is_open = tally.state not in (StepState.COMPLETED, StepState.FAILED)
        wanted = tally.state is StepState.FAILED if status[tally.instance] is Status.ERRORED else is_open
        if wanted and tally.last_seq > places.get(tally.instance, (0, 0))[1]:
            places[tally.instance] = (tally.instance, tally.last_seq)
    return list(places.values())


def cursor_of(row: InstanceRow, page: ListPage) -> Cursor:
    """The place of a row in the order of the page."""
    if page.order is Order.LONGEST:
        end = row.ended_at if row.ended_at is not None else page.now
        start = row.started_at if row.started_at is not None else end
        return Cursor(end - start, row.key)
    if page.order is Order.NEXT_WAKE:
        return Cursor(row.wake_at if row.wake_at is not None else 9_000_000_000_000_000, row.key)
    return Cursor(0, row.key)


class Links:
    """The list's own addresses: the same view with one thing changed."""

    def __init__(self, query: ListQuery, order: Order, columns: str = "") -> None:
        """`columns` as the address of the page says them; empty where it does not."""
        self._query = query
        self._order = order
        self._columns = columns
        self._urls = Urls()

    def _parts(self, **changed: str | list[str] | None) -> dict[str, str | list[str] | None]:
        return {
            "workflow": self._query.workflow,
            "q": self._query.text,
            "status": [str(status) for status in self._query.tiles],
            "sort": None if self._order is Order.NEWEST else str(self._order),
            "columns": self._columns,
            **changed,
        }

    def _url(self, **changed: str | list[str] | None) -> str:
        return self._urls.home(**self._parts(**changed))

    def fields(self, page: ListPage) -> tuple[tuple[str, str], ...]:
        place = f"{page.after.value}.{page.after.key}" if page.after else None
        parts = self._parts(**{"before" if page.backward else "after": place})
        many = [(name, [value] if isinstance(value, str) else value or []) for name, value in parts.items()]
        return tuple((name, value) for name, values in many for value in values if value)

    def toggled(self, status: Status) -> str:
        """With a tile chosen, or not any more; then every status is that of a tile, which can take it away."""
        chosen = [s for s in self._query.statuses if s is not status]
        if len(chosen) == len(self._query.statuses):
            chosen.append(status)
        text = _text(word for word in self._query.words if word.key != "status")
        return self._url(status=[str(one) for one in chosen], q=text)

    def order(self, order: Order) -> str:
        return self._url(sort=None if order is Order.NEWEST else str(order))

    def page(self, *, after: Cursor | None = None, before: Cursor | None = None) -> str:
        return self._url(
            after=f"{after.value}.{after.key}" if after else None,
            before=f"{before.value}.{before.key}" if before else None,
        )

    def cleared(self, workflow: str | None) -> str:
        """Of a Workflow, or of all, without filters and in the usual order."""
        return self._url(workflow=workflow, q=None, status=None, sort=None)

    def drops(self) -> tuple[Choice, ...]:
        """For a list that shows nothing: the same without one of its filters."""
        choices = [
            Choice(f"without status {STATUS_LOOKS[status].word}", self.toggled(status), False)
            for status in self._query.statuses
        ]
        words = [word for word in self._query.words if word.key != "status"]
        for text in dict.fromkeys(word.text for word in words):
            rest = _text(word for word in self._query.words if word.text != text)
            choices.append(Choice(f"without “{text}”", self._url(q=rest), False))
        if self._query.workflow is not None:
            choices.append(Choice("in all Workflows", self._url(workflow=None), False))
        return tuple(choices)


def _text(words: Iterable[Word]) -> str:
    return " ".join(word.text for word in words)
