from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs

import pytest

from stepwell.emulator.dashboard.list.columns import chosen_columns
from stepwell.emulator.dashboard.list.query import parse_query
from stepwell.emulator.dashboard.list.rows import RowInputs, focus_places
from stepwell.emulator.dashboard.list.view import ListInputs, ListView, build_list
from stepwell.emulator.storage.records import Status, StepKind, StepState, WorkflowRow
from stepwell.emulator.storage.view_records import (
    Cursor,
    ErrorGroup,
    ListPage,
    Order,
    StepBrief,
    StepTally,
    WorkflowGroup,
)
from tests.unit.dashboard.conftest import MakeInstance
from tests.unit.dashboard.test_where import brief


def inputs(workflow: WorkflowRow, **fields: Any) -> ListInputs:
    given = ListInputs(
        query=parse_query("", 0),
        page=ListPage(2, now=5_000),
        now=5_000,
        workflows=[workflow],
        counts={1: {Status.RUNNING: 3, Status.ERRORED: 1}},
        rows=[],
        parts=RowInputs([workflow], pausable=frozenset({Status.RUNNING})),
    )
    return replace(given, **fields)


def segment(view: ListView, status: Status) -> Any:
    return next((one for one in view.segments if one.status is status), None)


def test_segments_count_all_statuses_whatever_is_chosen(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query("", 0, ["errored"])))

    assert segment(view, Status.RUNNING).count == 3
    assert (view.total, view.matching) == (4, 1)


def test_a_status_without_instances_has_no_segment_unless_it_is_chosen(workflow: WorkflowRow) -> None:
    assert segment(build_list(inputs(workflow)), Status.COMPLETE) is None

    view = build_list(inputs(workflow, query=parse_query("", 0, ["complete"])))
    assert segment(view, Status.COMPLETE).count == 0


def test_segments_fill_the_bar_and_the_smallest_can_be_seen(workflow: WorkflowRow) -> None:
    counts = {1: {Status.RUNNING: 1, Status.COMPLETE: 100_000, Status.ERRORED: 2}}

    segments = build_list(inputs(workflow, counts=counts)).segments

    assert min(one.width for one in segments) > 0.7
    assert round(segments[-1].start + segments[-1].width, 1) == 100
    assert all(a.start + a.width < b.start for a, b in pairwise(segments))


def test_a_search_counts_what_it_matches_by_status(workflow: WorkflowRow) -> None:
    by_status = {Status.RUNNING: 2, Status.ERRORED: 1}
    view = build_list(inputs(workflow, query=parse_query("x", 0, ["errored"]), by_status=by_status))

    assert (view.total, view.matching, view.stored) == (3, 1, 4)


def test_a_segment_adds_its_status_and_takes_it_away_again(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query("x", 0, ["errored"])))

    assert "status=errored" not in segment(view, Status.ERRORED).url
    assert segment(view, Status.RUNNING).url.endswith("q=x&status=errored&status=running")


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

    (row,) = build_list(inputs(workflow, rows=[instance()], parts=RowInputs([workflow], tallies))).rows

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

    (row,) = build_list(inputs(workflow, rows=[instance(status=status)], parts=RowInputs([workflow], tallies))).rows

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
        "Without status Errored",
        "Without “step:x”",
        "In all Workflows",
    ]


def test_a_status_is_offered_to_be_dropped_once_wherever_it_was_chosen(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query("status:complete x x", 0, ["complete", "errored"])))

    assert [(choice.name, choice.url.partition("?")[2]) for choice in view.drops] == [
        ("Without status Complete", "q=x+x&status=errored"),
        ("Without status Errored", "q=x+x&status=complete"),
        ("Without “x”", "q=status%3Acomplete&status=complete&status=errored"),
    ]


def test_what_is_quoted_is_dropped_as_one_word(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query('step:"charge card" dur:>5s', 0)))

    assert [choice.name for choice in view.drops] == ['Without “step:"charge card"”', "Without “dur:>5s”"]


def test_a_status_of_the_search_is_not_one_of_the_links_besides(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query("status:complete", 0)))

    assert view.first_url.partition("?")[2] == "q=status%3Acomplete"
    assert segment(view, Status.COMPLETE).url.endswith("/__dashboard")


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
        *(one.url for one in view.segments),
        *(one.url for one in view.orders),
        *(one.url for one in view.drops),
        *(one.url for one in view.groupings),
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


def test_a_row_that_is_on_the_page_is_not_added_again(workflow: WorkflowRow, instance: MakeInstance) -> None:
    rows = [instance(key=key, id=f"i{key}") for key in (9, 8, 7)]

    view = build_list(inputs(workflow, rows=rows, extra=[rows[1], rows[2]]))

    assert [row.id for row in (*view.rows, *view.extra)] == ["i9", "i8", "i7"]


def test_filters_of_the_search_are_chips_that_can_be_removed(workflow: WorkflowRow) -> None:
    view = build_list(inputs(workflow, query=parse_query('step:"charge card" order-7 age:<1h', 0)))

    assert [(chip.name, chip.url.partition("?")[2]) for chip in view.chips] == [
        ('step:"charge card"', "q=order-7+age%3A%3C1h"),
        ("age:<1h", "q=step%3A%22charge+card%22+order-7"),
    ]
    assert view.plain_text == "order-7"


@pytest.mark.parametrize(
    ("status", "focus", "word"),
    [
        (Status.PAUSED, None, "Resume"),
        (Status.ERRORED, None, "Restart"),
        (Status.RUNNING, brief(), "Pause"),
        (Status.WAITING, brief(kind=StepKind.SLEEP, state=StepState.PENDING), "Skip sleep"),
        (Status.WAITING, brief(state=StepState.RETRYING), "Try again now"),
        (Status.WAITING, brief(kind=StepKind.WAIT_FOR_EVENT, config='{"type":"go"}'), "Send event"),
    ],
)
def test_a_row_offers_the_action_that_fits_its_state(
    workflow: WorkflowRow, instance: MakeInstance, status: Status, focus: StepBrief | None, word: str
) -> None:
    parts = RowInputs([workflow], focus=[focus] if focus is not None else [], pausable=frozenset({Status.RUNNING}))

    (row,) = build_list(inputs(workflow, rows=[instance(status=status)], parts=parts)).rows

    assert row.action is not None
    assert row.action.word == word


def test_errors_are_grouped_with_a_search_that_finds_their_instances(workflow: WorkflowRow) -> None:
    errors = [ErrorGroup(1, "TypeError", 'no "key" here', 12, 3_000)]

    (group,) = build_list(inputs(workflow, grouping="error", errors=errors)).groups

    assert (group.error, group.count) == ('TypeError: no "key" here', 12)
    assert parse_qs(group.url.partition("?")[2])["q"] == ['error:"no"']


def test_groups_of_workflows_show_their_statuses(workflow: WorkflowRow) -> None:
    groups = [WorkflowGroup(1, Status.RUNNING, 1, 2_000), WorkflowGroup(1, Status.COMPLETE, 3, 4_000)]

    (group,) = build_list(inputs(workflow, grouping="workflow", groups=groups)).groups

    assert (group.count, group.newest_at) == (4, 4_000)
    assert group.mix == (("run", 0.0, 25.0), ("good", 25.0, 75.0))
