"""The list of instances: its search, counts, rows or groups, and the links that narrow, sort and page it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from stepwell.emulator.dashboard.list.columns import Column, chosen_columns, columns_query
from stepwell.emulator.dashboard.list.groups import (
    GROUPINGS,
    Grouping,
    GroupRow,
    error_rows,
    workflow_rows,
)
from stepwell.emulator.dashboard.list.links import Choice, Links
from stepwell.emulator.dashboard.list.query import ListQuery
from stepwell.emulator.dashboard.list.rows import Row, RowInputs, rows_of
from stepwell.emulator.dashboard.list.spread import Segment, spread
from stepwell.emulator.dashboard.list.window import Window, window
from stepwell.emulator.dashboard.parts.clipboard import Snippet, list_snippets
from stepwell.emulator.storage.records import InstanceRow, Status, WorkflowRow
from stepwell.emulator.storage.view_records import ErrorGroup, ListPage, Order, WorkflowGroup

#: Up to so many matches are counted exactly where counting means looking at every row.
COUNTED: Final = 10_000

Emptiness: TypeAlias = Literal["", "no-workflow", "no-instance", "no-match"]

ORDER_NAMES: Final = {
    Order.NEWEST: "Newest",
    Order.OLDEST: "Oldest",
    Order.LONGEST: "Longest run",
    Order.NEXT_WAKE: "Next wake",
}
#: Bulk actions by their names, with word and icon, in the order of the selection bar.
BULK: Final = (
    ("pause", "Pause", "pause"),
    ("resume", "Resume", "play"),
    ("restart", "Restart", "restart"),
    ("sendEvent", "Send event", "send"),
    ("terminate", "Terminate", "stop"),
    ("delete", "Delete", "trash"),
)


@dataclass(frozen=True, slots=True)
class ListInputs:
    """Everything read for one page. `rows` may hold one row more than the page: then there is a next page.

    `counts` are instances by Workflow and status; `by_status` are those that match the search, whatever their
    status, where it has words (counted up to `COUNTED`).
    """

    query: ListQuery
    page: ListPage
    now: int
    workflows: Sequence[WorkflowRow]
    counts: Mapping[int, Mapping[Status, int]]
    rows: Sequence[InstanceRow]
    parts: RowInputs = field(default_factory=RowInputs)
    by_status: Mapping[Status, int] | None = None
    columns: tuple[Column, ...] = field(default_factory=lambda: chosen_columns(None))
    #: Whether the address says which columns: then the links of the page say it too.
    columns_in_url: bool = False
    base_url: str = ""
    #: Rows that the page shows already and that may have left the list since, and keys of those that were deleted.
    extra: Sequence[InstanceRow] = ()
    deleted: tuple[int, ...] = ()
    #: In which statuses a command applies.
    commands: Mapping[str, frozenset[Status]] = field(default_factory=dict)
    grouping: Grouping = ""
    errors: Sequence[ErrorGroup] = ()
    groups: Sequence[WorkflowGroup] = ()


@dataclass(frozen=True, slots=True)
class BulkButton:
    """`statuses` are those of instances that the command applies to."""

    command: str
    word: str
    icon: str
    statuses: tuple[Status, ...]


@dataclass(frozen=True, slots=True)
class ListView:
    """`total` counts what the search matches whatever its status, `matching` what is listed."""

    query: ListQuery
    segments: tuple[Segment, ...]
    rows: tuple[Row, ...]
    extra: tuple[Row, ...]
    deleted: tuple[int, ...]
    total: int
    stored: int
    matching: int
    matching_exact: bool
    newest: bool
    #: The address of the page as fields of a form.
    fields: tuple[tuple[str, str], ...]
    first_url: str
    newer_url: str | None
    older_url: str | None
    clear_url: str
    all_url: str
    orders: tuple[Choice, ...]
    groupings: tuple[Choice, ...]
    grouping: Grouping
    groups: tuple[GroupRow, ...]
    #: The filters of the search, and what else was typed.
    chips: tuple[Choice, ...]
    plain_text: str
    drops: tuple[Choice, ...]
    emptiness: Emptiness
    workflow: WorkflowRow | None
    columns: tuple[Column, ...]
    columns_text: str
    snippets: tuple[Snippet, ...]
    bulk: tuple[BulkButton, ...]


def build_list(inputs: ListInputs) -> ListView:
    query = inputs.query
    columns_text = columns_query(inputs.columns) if inputs.columns_in_url else ""
    links = Links(query, inputs.page.order, columns_text, inputs.grouping)
    shown = window(inputs.rows, inputs.page)
    stored = _stored(inputs)
    by_status = inputs.by_status if inputs.by_status is not None else stored
    matching = sum(by_status.get(status, 0) for status in query.statuses or Status)
    exact = inputs.by_status is None or sum(by_status.values()) < COUNTED
    keys = {row.key for row in shown.rows}
    return ListView(
        query=query,
        segments=spread(by_status, query, links),
        rows=rows_of(shown.rows, inputs.parts),
        extra=rows_of([row for row in inputs.extra if row.key not in keys], inputs.parts),
        deleted=inputs.deleted,
        total=sum(by_status.values()),
        stored=sum(stored.values()),
        matching=matching,
        matching_exact=exact,
        newest=shown.is_first and inputs.page.order is Order.NEWEST,
        fields=links.fields(inputs.page),
        first_url=links.page(),
        **_neighbours(shown, links),
        clear_url=links.cleared(query.workflow),
        all_url=links.any_status(),
        orders=tuple(Choice(name, links.order(o), o is inputs.page.order, o) for o, name in ORDER_NAMES.items()),
        groupings=tuple(
            Choice(name, links.grouped(one), one == inputs.grouping, one) for one, name in GROUPINGS.items()
        ),
        grouping=inputs.grouping,
        groups=_groups(inputs, links),
        chips=links.chips(),
        plain_text=" ".join(word.text for word in query.words if word.key is None),
        drops=links.drops(),
        emptiness=_emptiness(inputs, sum(stored.values())),
        workflow=next((row for row in inputs.workflows if row.name == query.workflow), None),
        columns=inputs.columns,
        columns_text=columns_text,
        snippets=list_snippets(inputs.base_url, query.workflow, [str(status) for status in query.statuses]),
        bulk=_bulk_buttons(inputs.commands),
    )


def _neighbours(shown: Window, links: Links) -> dict[str, str | None]:
    return {
        "newer_url": links.page(before=shown.newer) if shown.newer is not None else None,
        "older_url": links.page(after=shown.older) if shown.older is not None else None,
    }


def _stored(inputs: ListInputs) -> dict[Status, int]:
    """The instances of the Workflow of the list, or of all, by status."""
    sums: dict[Status, int] = {}
    for row in inputs.workflows:
        if inputs.query.workflow in (None, row.name):
            for status, count in inputs.counts.get(row.key, {}).items():
                sums[status] = sums.get(status, 0) + count
    return sums


def _groups(inputs: ListInputs, links: Links) -> tuple[GroupRow, ...]:
    if inputs.grouping == "error":
        return error_rows(inputs.errors, inputs.workflows, links)
    return workflow_rows(inputs.groups, inputs.workflows, links) if inputs.grouping == "workflow" else ()


def _emptiness(inputs: ListInputs, stored: int) -> Emptiness:
    if inputs.rows or inputs.errors or inputs.groups:
        return ""
    if not inputs.workflows:
        return "no-workflow"
    return "no-match" if stored else "no-instance"


def _bulk_buttons(commands: Mapping[str, frozenset[Status]]) -> tuple[BulkButton, ...]:
    return tuple(
        BulkButton(command, word, icon, tuple(status for status in Status if status in commands.get(command, ())))
        for command, word, icon in BULK
    )
