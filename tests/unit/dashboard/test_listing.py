from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stepwell.emulator.dashboard.list.columns import chosen_columns
from stepwell.emulator.dashboard.list.query import parse_query
from stepwell.emulator.dashboard.list.view import ListInputs, ListView, build_list, focus_places
from stepwell.emulator.storage.records import Status, StepState, WorkflowRow
from stepwell.emulator.storage.view_records import Cursor, ListPage, Order, StepTally
from tests.unit.dashboard.conftest import MakeInstance


def inputs(workflow: WorkflowRow, **fields: Any) -> ListInputs:
    given = ListInputs(
        query=parse_query("", 0),
        page=ListPage(2, now=5_000),
        now=5_000,
        workflows=[workflow],
        counts={1: {Status.RUNNING: 3, Status.ERRORED: 1}},
        rows=[],
        tallies=[],
        focus=[],
    )
    return replace(given, **fields)


def tile(view: ListView, status: Status) -> Any:
    return next(one for one in view.tiles if one.status is status)


def test_tiles_count_all_statuses_whatever_is_chosen(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query("", 0, ["errored"])))

    assert tile(view, Status.RUNNING).count == 3
    assert tile(view, Status.COMPLETE).count == 0
    assert view.total == 4


def test_a_tile_adds_its_status_and_takes_it_away_again(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query("x", 0, ["errored"])))

    assert "status=errored" not in tile(view, Status.ERRORED).url
    assert tile(view, Status.RUNNING).url.endswith("q=x&status=errored&status=running")


def test_one_row_more_than_the_page_means_a_next_page(workflow: WorkflowRow, instance: MakeInstance) -> None:
    rows = [instance(key=key, id=f"i{key}") for key in (9, 8, 7)]

    view = build_list(inputs(workflow, rows=rows))

    assert [row.id for row in view.rows] == ["i9", "i8"]
    assert view.older_url is not None
    assert "after=0.8" in view.older_url
    assert view.newer_url is None
    assert view.newest


def test_going_back_drops_the_row_that_is_too_many_at_the_front(
    workflow: WorkflowRow, instance: MakeInstance
) -> None:
    rows = [instance(key=key, id=f"i{key}") for key in (9, 8, 7)]

    view = build_list(inputs(workflow, rows=rows, page=ListPage(2, after=Cursor(0, 6), backward=True)))

    assert [row.id for row in view.rows] == ["i8", "i7"]
    assert view.newer_url is not None
    assert "before=0.8" in view.newer_url


def test_the_place_in_the_order_of_length_is_the_length(workflow: WorkflowRow, instance: MakeInstance) -> None:
    rows = [instance(key=key, started_at=1_000, ended_at=4_000) for key in (9, 8, 7)]

    view = build_list(inputs(workflow, rows=rows, page=ListPage(2, Order.LONGEST, now=5_000)))

    assert view.older_url is not None
    assert "after=3000.8" in view.older_url
    assert "sort=longest" in view.older_url


def test_progress_counts_steps_by_state(workflow: WorkflowRow, instance: MakeInstance) -> None:
    tallies = [
        StepTally(1, StepState.COMPLETED, 2, 2),
        StepTally(1, StepState.FAILED, 1, 3),
        StepTally(1, StepState.PENDING, 1, 4),
    ]

    (row,) = build_list(inputs(workflow, rows=[instance()], tallies=tallies)).rows

    assert (row.progress.done, row.progress.failed, row.progress.open) == (2, 1, 1)
    assert [round(width) for _, _, width in row.progress.spans] == [50, 25, 25]


@pytest.mark.parametrize(
    ("status", "tone"),
    [
        (Status.RUNNING, "run"),
        (Status.WAITING, "wait"),
        (Status.PAUSED, "hold"),
        (Status.TERMINATED, "calm"),
        (Status.ERRORED, "calm"),
    ],
)
def test_open_steps_look_as_their_instance_does(
    workflow: WorkflowRow, instance: MakeInstance, status: Status, tone: str
) -> None:
    tallies = [StepTally(1, StepState.PENDING, 1, 4)]

    (row,) = build_list(inputs(workflow, rows=[instance(status=status)], tallies=tallies)).rows

    assert row.progress.spans == [(tone, 0, 100)]


def test_the_sentence_of_a_row_is_about_its_newest_open_step(instance: MakeInstance) -> None:
    tallies = [StepTally(1, StepState.COMPLETED, 5, 9), StepTally(1, StepState.PENDING, 1, 4)]

    assert focus_places([instance()], tallies) == [(1, 4)]


def test_the_sentence_of_an_errored_row_is_about_its_last_failed_step(instance: MakeInstance) -> None:
    tallies = [StepTally(1, StepState.FAILED, 2, 3), StepTally(1, StepState.PENDING, 1, 4)]

    assert focus_places([instance(status=Status.ERRORED)], tallies) == [(1, 3)]


def test_each_emptiness_is_told_apart(workflow: WorkflowRow) -> None:
    assert build_list(inputs(workflow, workflows=[], counts={})).emptiness == "no-workflow"
    assert build_list(inputs(workflow, counts={})).emptiness == "no-instance"
    assert build_list(inputs(workflow)).emptiness == "no-match"


def test_an_empty_list_offers_to_drop_each_filter(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query("step:x", 0, ["errored"], "orders")))

    assert [choice.name for choice in view.drops] == [
        "without status Errored",
        "without “step:x”",
        "in all Workflows",
    ]


def test_a_status_is_offered_to_be_dropped_once_wherever_it_was_chosen(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query("status:complete x x", 0, ["complete", "errored"])))

    assert [(choice.name, choice.url.partition("?")[2]) for choice in view.drops] == [
        ("without status Complete", "q=x+x&status=errored"),
        ("without status Errored", "q=x+x&status=complete"),
        ("without “x”", "q=status%3Acomplete&status=complete&status=errored"),
    ]


def test_what_is_quoted_is_dropped_as_one_word(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query('step:"charge card" dur:>5s', 0)))

    assert [choice.name for choice in view.drops] == ['without “step:"charge card"”', "without “dur:>5s”"]


def test_a_status_of_the_search_is_not_one_of_the_links_besides(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query("status:complete", 0)))

    assert view.first_url.partition("?")[2] == "q=status%3Acomplete"
    assert tile(view, Status.COMPLETE).url.endswith("/__dashboard")


def test_columns_of_the_address_stay_with_every_link(workflow: WorkflowRow, instance: MakeInstance) -> None:
    rows = [instance(key=key, id=f"i{key}", status=Status.ERRORED) for key in (9, 8, 7)]
    given = inputs(
        workflow,
        rows=rows,
        query=parse_query("x", 0, ["errored"], "orders"),
        page=ListPage(2, after=Cursor(0, 10), now=5_000),
        columns=chosen_columns(["trigger", "where"]),
        columns_in_url=True,
    )

    view = build_list(given)

    links = [
        *(one.url for one in view.tiles),
        *(one.url for one in view.orders),
        *(one.url for one in view.drops),
        *(one.workflow_url for one in view.rows),
        view.first_url,
        view.newer_url,
        view.older_url,
        view.clear_url,
    ]
    assert [link for link in links if "columns=where.trigger" not in str(link)] == []


def test_no_columns_at_all_stay_none(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, columns=chosen_columns([]), columns_in_url=True))

    assert view.clear_url.endswith("columns=none")


def test_columns_that_the_browser_remembers_are_not_in_the_links(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, columns=chosen_columns(["trigger"])))

    assert "columns" not in view.clear_url


def test_the_first_page_keeps_the_order(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, page=ListPage(2, Order.LONGEST, now=5_000)))

    assert view.first_url.endswith("sort=longest")
