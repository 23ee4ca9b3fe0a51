"""The dashboard's reads on SQLite: pages, orders, filters, and plans without full scans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from stepwell.emulator.storage import queries
from stepwell.emulator.storage.records import (
    CallSite,
    EventType,
    NewInstance,
    PageFilter,
    Status,
    StepKind,
    StepRow,
    StepState,
    Trigger,
    VersionRow,
)
from stepwell.emulator.storage.sqlite import SqliteStore
from stepwell.emulator.storage.view_records import Cursor, ListPage, Order
from tests.unit.dashboard.conftest import DO_CONFIG


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    """Two Workflows with ten instances each: every third errored, the others wait, `n` in the params."""
    store = SqliteStore(":memory:")
    for name in ("orders", "quick"):
        workflow = store.put_workflow(name, name, name.title(), "worker", 0)
        store.define_workflow(workflow, defined=True)
        version = store.put_version(VersionRow(0, f"v-{name}", workflow, name.title(), "python", 0, "{}"))
        for n in range(10):
            _add(store, workflow, version, name, n)
    store.commit()
    yield store
    store.close()


def _add(store: SqliteStore, workflow: int, version: int, name: str, n: int) -> None:
    new = NewInstance(workflow, f"{name}-{n}", n, version, Trigger.API, f'{{"n":{n},"user":{{"id":"u{n}"}}}}')
    key = store.insert_instance(new, None)
    assert key is not None
    store.start(key, n)
    store.append(key, 1, n, (EventType.WORKFLOW_STARTED, EventType.WORKFLOW_RUNNING))
    row = StepRow(
        1, StepKind.WAIT_FOR_EVENT, "approval", 1, None, StepState.PENDING, 0, n, None, 100 + n, False, False,
        '{"type":"go","timeoutMs":100}', None, None,
    )  # fmt: skip
    store.insert_step(key, row)
    if n % 3 == 0:
        store.finish(key, Status.ERRORED, 50 + n, expires_at=None, error='{"name":"Error","message":"no luck"}')
    else:
        store.set_status(key, Status.WAITING, n, 100 + n)


def _step(store: SqliteStore, key: int, name: str, **fields: object) -> StepRow:
    """The second step of an instance: an attempt in flight, unless the fields say otherwise."""
    row = StepRow(
        2, StepKind.DO, name, 1, None, StepState.IN_FLIGHT, 1, 0, None, None, False, False, DO_CONFIG, None, None
    )
    row = replace(row, **fields)  # type: ignore[arg-type]
    store.insert_step(key, row)
    return row


def ids(store: SqliteStore, wanted: PageFilter | None = None, **page: object) -> list[str]:
    return [row.id for row in store.listed(wanted or PageFilter(), ListPage(**{"limit": 50, **page}))]  # type: ignore[arg-type]


def test_the_newest_come_first_across_workflows(store: SqliteStore) -> None:
    assert ids(store, limit=3) == ["quick-9", "quick-8", "quick-7"]


def test_statuses_across_workflows_are_merged_in_order(store: SqliteStore) -> None:
    found = ids(store, PageFilter(statuses=(Status.ERRORED, Status.COMPLETE)))

    assert found == [f"{name}-{n}" for name in ("quick", "orders") for n in (9, 6, 3, 0)]


def test_pages_go_forth_and_back_without_gap(store: SqliteStore) -> None:
    first = store.listed(PageFilter(), ListPage(6))
    second = store.listed(PageFilter(), ListPage(6, after=Cursor(0, first[-1].key)))
    back = store.listed(PageFilter(), ListPage(6, after=Cursor(0, second[0].key), backward=True))

    assert len({row.key for row in (*first, *second)}) == 12
    assert back == first


def test_every_order_pages_by_value_and_key(store: SqliteStore) -> None:
    wanted = PageFilter(statuses=(Status.WAITING,))
    whole = ids(store, wanted, order=Order.NEXT_WAKE)
    head = store.listed(wanted, ListPage(5, Order.NEXT_WAKE))
    cursor = Cursor(head[-1].wake_at or 0, head[-1].key)

    assert whole[:4] == ["orders-1", "quick-1", "orders-2", "quick-2"]
    assert [row.id for row in head] + ids(store, wanted, order=Order.NEXT_WAKE, after=cursor) == whole


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (PageFilter(id_texts=("quick-3",)), ["quick-3"]),
        (PageFilter(workflow=1, params=(("n", "4"),)), ["orders-4"]),
        (PageFilter(workflow=1, params=(("user.id", "u5"),)), ["orders-5"]),
        (PageFilter(workflow=1, error_texts=("LUCK",)), ["orders-9", "orders-6", "orders-3", "orders-0"]),
        (PageFilter(workflow=1, waiting_for=("nothing",)), []),
        (PageFilter(workflow=1, step_texts=("prov",), id_texts=("-7",)), ["orders-7"]),
        (PageFilter(workflow=1, ran_from_ms=990, now=1_000, statuses=(Status.WAITING,)), ["orders-8", "orders-7"]),
        (PageFilter(workflow=1, triggers=(Trigger.CRON,)), []),
    ],
)
def test_every_filter_narrows(store: SqliteStore, wanted: PageFilter, found: list[str]) -> None:
    if wanted.ran_from_ms is not None:
        found = [f"orders-{n}" for n in (8, 7, 5, 4, 2, 1)]
    assert ids(store, wanted) == found


def test_steps_that_are_asked_for_must_all_be_there(store: SqliteStore) -> None:
    (both,) = store.listed(PageFilter(id_texts=("orders-4",)), ListPage(2))
    _step(store, both.key, "upload")

    assert ids(store, PageFilter(step_texts=("approval", "upload"))) == ["orders-4"]


def _tried_again(store: SqliteStore, state: StepState, attempts: int) -> None:
    """A step of orders-4 whose first attempt ended with "TimeoutError", the second with "BankError"."""
    (row,) = store.listed(PageFilter(id_texts=("orders-4",)), ListPage(2))
    _step(store, row.key, "charge", state=state, attempts=attempts)
    for attempt, name in ((1, "TimeoutError"), (2, "BankError")):
        detail = f'{{"error":{{"name":"{name}","message":"m"}}}}'
        store.append(row.key, 10 + attempt, 1, (EventType.ATTEMPT_ERRORED,), step=2, attempt=attempt, detail=detail)


@pytest.mark.parametrize(
    ("state", "attempts", "found"),
    [
        (StepState.RETRYING, 2, "bankerror"),
        (StepState.IN_FLIGHT, 3, "BankError"),
        (StepState.IN_FLIGHT, 2, "timeout"),
    ],
)
def test_an_instance_is_found_by_the_error_of_the_attempt_before(
    store: SqliteStore, state: StepState, attempts: int, found: str
) -> None:
    _tried_again(store, state, attempts)

    assert ids(store, PageFilter(error_texts=(found,))) == ["orders-4"]


@pytest.mark.parametrize(("state", "attempts"), [(StepState.RETRYING, 2), (StepState.COMPLETED, 1)])
def test_errors_that_are_behind_it_do_not_find_an_instance(
    store: SqliteStore, state: StepState, attempts: int
) -> None:
    _tried_again(store, state, attempts)

    assert ids(store, PageFilter(error_texts=("TimeoutError",))) == []


def test_an_instance_is_found_by_the_error_of_a_step_that_it_caught(store: SqliteStore) -> None:
    (row,) = store.listed(PageFilter(id_texts=("quick-4",)), ListPage(2))
    _step(store, row.key, "charge")
    store.fail_step(row.key, 2, 9, '{"name":"Declined","message":"m"}')

    assert ids(store, PageFilter(error_texts=("declined",))) == ["quick-4"]


def test_params_that_are_asked_for_must_all_be_there(store: SqliteStore) -> None:
    assert ids(store, PageFilter(params=(("n", "4"), ("user.id", "u4")))) == ["quick-4", "orders-4"]
    assert ids(store, PageFilter(params=(("n", "4"), ("user.id", "u5")))) == []


def test_params_that_are_nested_too_deeply_to_be_read_match_nothing(store: SqliteStore) -> None:
    store._db.execute("UPDATE instance SET params = ? WHERE id = 'orders-4'", ("[" * 2_000 + "]" * 2_000,))

    assert ids(store, PageFilter(params=(("n", "4"),))) == ["quick-4"]


def test_of_triggers_one_is_enough(store: SqliteStore) -> None:
    assert len(ids(store, PageFilter(triggers=(Trigger.CRON, Trigger.API)))) == 20


@pytest.mark.parametrize("path", ["a.²", "a.\0b", 'a."', "a.99999999999999999999", "", "..", "\\", "[", "$", "#-1"])
def test_no_path_into_the_params_is_refused_by_the_store(store: SqliteStore, path: str) -> None:
    assert ids(store, PageFilter(params=((path, "x"),))) == []


def test_counting_stops_where_it_is_told(store: SqliteStore) -> None:
    assert store.matching(PageFilter(), 7) == 7
    assert store.matching(PageFilter(error_texts=("luck",)), 100) == 8


def test_an_id_is_found_exactly_before_it_is_found_in_part(store: SqliteStore) -> None:
    found = store.found_by_id("quick-1", 5)

    assert [one.id for one in found] == ["quick-1"]
    assert [one.id for one in store.found_by_id("ick-", 3)] == ["quick-9", "quick-8", "quick-7"]


def test_tallies_and_places_give_the_open_step(store: SqliteStore) -> None:
    (tally,) = store.step_tallies([2])
    (step,) = store.steps_at([(tally.instance, tally.last_seq)])

    assert (tally.state, tally.count) == (StepState.PENDING, 1)
    assert step.public_name == "approval-1"


def test_names_and_event_types_are_known_for_completion(store: SqliteStore) -> None:
    assert store.known_steps(1) == [(StepKind.WAIT_FOR_EVENT, "approval", "go")]


def test_what_wakes_next_comes_in_order(store: SqliteStore) -> None:
    assert [one.id for one in store.upcoming(3)] == ["orders-1", "quick-1", "orders-2"]
    assert store.count_waking(102) == 4


def test_the_newest_history_is_given_oldest_first(store: SqliteStore) -> None:
    store.append(1, 3, 9, (EventType.WORKFLOW_WAITING,))

    assert [entry.event_id for entry in store.last_history(1, None, 10)] == [1, 2, 3]
    assert [entry.event_id for entry in store.history_window(1, 1, 5)] == [1, 2, 3]


def test_output_sizes_are_bytes(store: SqliteStore) -> None:
    row = StepRow(
        2, StepKind.DO, "é", 1, None, StepState.IN_FLIGHT, 1, 0, 5, None, False, False, DO_CONFIG, None, '"é"'
    )
    store.insert_step(1, row)
    store.complete_step(1, row)

    assert store.output_sizes(1, 1, 9) == {2: 4}


@pytest.mark.parametrize("name", ["next_wake", "due_instances", "upcoming", "count_waking"])
def test_what_is_due_is_read_along_the_index_of_wakes(store: SqliteStore, name: str) -> None:
    sql = queries.statements()[name]
    plan = [row[3] for row in store._rows(f"EXPLAIN QUERY PLAN {sql}", (1,) * sql.count("?"))]

    assert any("instance_to_wake" in line for line in plan)
    assert not any("TEMP B-TREE" in line for line in plan)


def test_which_parts_of_a_config_were_given_is_kept_beside_it(store: SqliteStore) -> None:
    site = CallSite("src/entry.py", 12, ("first",))
    store.insert_step(1, called(2), site, ("limit", "delay"))
    store.insert_step(1, called(3), None, ())
    store.insert_step(1, called(4), site)

    assert store.given_config(1, 2) == {"limit", "delay"}
    assert store.given_config(1, 3) == frozenset()
    assert store.given_config(1, 4) is None
    assert [store.call_site(1, seq) for seq in (2, 3, 4)] == [site, None, site]


def test_a_call_site_is_kept_once_for_all_steps_called_there(store: SqliteStore) -> None:
    for seq in (2, 3):
        store.insert_step(1, called(seq), CallSite("src/entry.py", 12, ("first",)))
    store.insert_step(1, called(4), CallSite("src/entry.py", 14))
    store.insert_step(1, called(5))

    assert store.call_site(1, 2) == store.call_site(1, 3) == CallSite("src/entry.py", 12, ("first",))
    assert store.call_site(1, 4) == CallSite("src/entry.py", 14)
    assert store.call_site(1, 5) is None
    assert store._db.execute("SELECT count(*) FROM step_config WHERE site <> ''").get == 2


def test_the_last_step_of_a_name_before_another_is_found(store: SqliteStore) -> None:
    for seq in (2, 3, 4):
        store.insert_step(1, called(seq))

    assert store.step_before(1, 4, "charge") == 3
    assert store.step_before(1, 2, "charge") is None


def called(seq: int) -> StepRow:
    return StepRow(
        seq,
        StepKind.DO,
        "charge",
        seq,
        None,
        StepState.IN_FLIGHT,
        1,
        0,
        None,
        None,
        False,
        False,
        DO_CONFIG,
        None,
        None,
    )


def _steps(store: SqliteStore, *states: StepState) -> None:
    """Steps of the instance 1 from the second on, 10 ms apart, with 3 bytes of output where complete."""
    for seq, state in enumerate(states, 2):
        row = StepRow(
            seq, StepKind.DO, "s", seq, None, StepState.IN_FLIGHT, 1, seq * 10, None, None, False, False, DO_CONFIG,
            None, None,
        )  # fmt: skip
        store.insert_step(1, row)
        store.append(1, 100 + seq, seq * 10, (EventType.STEP_STARTED,), step=seq)
        row.ended_at, row.output = seq * 10 + 9, "123"
        if state is StepState.COMPLETED:
            store.complete_step(1, row)
        elif state is StepState.FAILED:
            store.fail_step(1, seq, seq * 10 + 9, "{}")


def test_chosen_steps_are_read_with_their_sizes_and_their_history(store: SqliteStore) -> None:
    _steps(store, StepState.COMPLETED, StepState.COMPLETED, StepState.COMPLETED)

    assert [row.seq for row in store.steps_of(1, [4, 2])] == [2, 4]
    assert store.sizes_of(1, [2, 3]) == {2: 3, 3: 3}
    assert [entry.step for entry in store.history_of(1, [3]) if entry.step is not None] == [3]
    assert [entry.event_id for entry in store.history_of(1, [])] == [1, 2]
