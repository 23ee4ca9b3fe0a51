"""Pages of the REST API's lists: by whichever way, they are what a look at all rows gives."""

from __future__ import annotations

import itertools
import random

import pytest

from stepwell.emulator.storage import pages
from stepwell.emulator.storage.records import InstanceRow, NewInstance, Page, PageFilter, Status, Trigger
from stepwell.emulator.storage.sqlite import SqliteStore

STATUSES = [(), (Status.WAITING,), (Status.COMPLETE, Status.WAITING, Status.PAUSED)]
DATES = [(None, None), (30, None), (None, 60), (30, 60), (200, None)]
PLACES = [
    Page(7),
    Page(7, ascending=True),
    Page(7, after=60),
    Page(7, after=60, ascending=True),
    Page(7, offset=15),
]


@pytest.fixture(scope="module")
def rows() -> tuple[SqliteStore, list[InstanceRow]]:
    """120 instances of two Workflows, created at times that go back and forth as a clock that is set."""
    chance = random.Random(7)
    store = SqliteStore(":memory:")
    for n in range(2):
        store.put_workflow(f"id{n}", f"flow{n}", "Flow", "worker", 1)
    for n in range(120):
        at = chance.randrange(100)
        key = store.insert_instance(NewInstance(chance.choice([1, 2]), f"i{n}", at, 1, Trigger.API), None)
        assert key is not None
        store.set_status(key, chance.choice([Status.WAITING, Status.COMPLETE, Status.PAUSED]), at, None)
    store.commit()
    everything = store.instances(PageFilter(), Page(1_000, ascending=True))
    assert len(everything) == 120
    return store, everything


def looked_through(everything: list[InstanceRow], wanted: PageFilter, page: Page) -> list[str]:
    found = [
        row
        for row in (everything if page.ascending else reversed(everything))
        if (wanted.workflow is None or row.workflow == wanted.workflow)
        and (not wanted.statuses or row.status in wanted.statuses)
        and (wanted.created_from is None or row.created_at >= wanted.created_from)
        and (wanted.created_to is None or row.created_at <= wanted.created_to)
        and (page.after is None or (row.key > page.after if page.ascending else row.key < page.after))
    ]
    return [row.id for row in found[page.offset : page.offset + page.limit]]


@pytest.mark.parametrize("shallow", [0, 1_000], ids=["along the keys", "by ranges"])
def test_every_page_is_what_a_look_at_all_rows_gives(
    rows: tuple[SqliteStore, list[InstanceRow]], monkeypatch: pytest.MonkeyPatch, shallow: int
) -> None:
    monkeypatch.setattr(pages, "_SHALLOW", shallow)
    store, everything = rows

    for workflow, statuses, (start, end), page in itertools.product([1, None], STATUSES, DATES, PLACES):
        wanted = PageFilter(workflow=workflow, statuses=statuses, created_from=start, created_to=end)
        assert [row.id for row in store.instances(wanted, page)] == looked_through(everything, wanted, page), (
            wanted,
            page,
        )


def test_every_count_is_what_a_look_at_all_rows_gives(rows: tuple[SqliteStore, list[InstanceRow]]) -> None:
    store, everything = rows

    for workflow, statuses, (start, end) in itertools.product([1, None], STATUSES, DATES):
        wanted = PageFilter(workflow=workflow, statuses=statuses, created_from=start, created_to=end)
        assert store.count_instances(wanted) == len(looked_through(everything, wanted, Page(1_000)))
