"""The store: each operation on records, and the invariants that it holds by itself."""

from __future__ import annotations

import threading

import apsw
import pytest

from stepwell.emulator.storage.records import (
    EventType,
    LogRow,
    Page,
    PageFilter,
    Status,
    StepKind,
    StepState,
    Trigger,
    VersionRow,
)
from stepwell.emulator.storage.sealing import seal, unseal
from stepwell.emulator.storage.store import Conflict, Unavailable

T = EventType


# -- Workflows and versions


def test_a_workflow_keeps_its_key_and_id_over_its_classes(shelf) -> None:
    again = shelf.store.put_workflow("another id", "flow", "Renamed", "worker", 99)
    (row,) = shelf.store.workflows()

    assert again == shelf.workflow
    assert (row.id, row.class_name, row.created_at, row.modified_at) == ("id of flow", "Renamed", 1, 99)


def test_defining_it_again_unchanged_does_not_modify_it(shelf) -> None:
    shelf.store.put_workflow("another id", "flow", "Flow", "worker", 99)

    assert shelf.store.workflows()[0].modified_at == 1


def test_a_version_seen_again_is_the_first_one(shelf) -> None:
    given = VersionRow(0, "version of flow", shelf.workflow, "Other", "python", 99, '{"new":1}', "other source")
    key = shelf.store.put_version(given)
    row = shelf.store.version(key)

    assert (row.class_name, row.created_at, row.source, row.settings) == ("Flow", 1, "source", '{"new":1}')
    assert shelf.store.version_by_id("version of flow") == row


def test_versions_come_newest_first_without_their_sources(shelf) -> None:
    shelf.store.put_version(VersionRow(0, "second", shelf.workflow, "Flow", "python", 2, "{}", "x"))

    assert [(row.id, row.source) for row in shelf.store.versions(shelf.workflow)] == [
        ("second", None),
        ("version of flow", None),
    ]


# -- instances


def test_v2_a_used_id_inserts_nothing(shelf) -> None:
    from stepwell.emulator.storage.records import NewInstance

    first = shelf.add("one", params='"first"')
    second = shelf.store.insert_instance(NewInstance(shelf.workflow, "one", 99, 1, Trigger.API, '"second"'), None)

    assert second is None
    assert shelf.store.values(first).params == '"first"'
    assert shelf.store.count_instances(PageFilter()) == 1


def test_the_same_id_may_be_used_in_another_workflow(shelf) -> None:
    other = shelf.add_workflow("other")

    assert shelf.add("one") != shelf.add("one", workflow=other)


def test_keys_are_never_used_again(shelf) -> None:
    first = shelf.add("one")
    shelf.store.delete(first)

    assert shelf.add("one") > first


def test_a_life_in_the_table(shelf) -> None:
    store, key = shelf.store, shelf.add("one")
    store.start(key, 11)
    assert (store.instance(key).status, store.instance(key).started_at) == (Status.RUNNING, 11)
    store.set_status(key, Status.WAITING, 12, 99)
    assert (store.instance(key).status, store.instance(key).wake_at) == (Status.WAITING, 99)
    store.pause(key, 13, rested=True)
    row = store.instance(key)
    assert (row.status, row.paused_at, row.wake_at, store.was_rested(key)) == (Status.PAUSED, 13, None, True)
    store.resume(key, Status.WAITING, 14, 100)
    row = store.instance(key)
    assert (row.status, row.paused_at, row.wake_at, store.was_rested(key)) == (Status.WAITING, None, 100, False)
    store.finish(key, Status.COMPLETE, 15, expires_at=200, output='"out"')
    row, values = store.instance(key), store.values(key)

    assert (row.status, row.ended_at, row.wake_at, row.expires_at) == (Status.COMPLETE, 15, None, 200)
    assert (values.output, values.error, values.reason) == ('"out"', None, None)


def test_the_first_start_is_remembered(shelf) -> None:
    key = shelf.add("one")
    shelf.store.start(key, 11)
    shelf.store.requeue(key, 12, -1)
    shelf.store.start(key, 13)

    assert shelf.store.instance(key).started_at == 11


def test_deleting_removes_everything_it_owns_and_nothing_else(shelf) -> None:
    keys = [shelf.add(name) for name in ("one", "two")]
    for key in keys:
        shelf.log(key, 1, T.WORKFLOW_QUEUED)
        row = shelf.add_step(key)
        shelf.store.add_chunk(key, row.seq, 0, b"x")
        shelf.store.add_event(key, "go", "1", 5)
        shelf.store.add_logs(key, [LogRow(0, 5, None, None, "log", "line")])
    shelf.store.delete(keys[0])

    for table in ("step", "history", "chunk", "event", "log"):
        owners = [row[0] for row in shelf.store._db.execute(f"SELECT DISTINCT instance FROM {table}")]
        assert owners == [keys[1]], table


# -- the queue, and what is due


def test_the_queue_has_resumed_ones_before_new_ones_and_each_in_order_of_creation(shelf) -> None:
    keys = [shelf.add(name, rank=0) for name in "abc"]
    shelf.store.start(keys[0], 1)
    shelf.store.requeue(keys[0], 2, -1)

    assert shelf.store.next_queued(shelf.workflow, 10) == [keys[0], keys[1], keys[2]]
    assert shelf.store.count_queued() == {shelf.workflow: 3}
    assert [shelf.store.queued_before(key) for key in keys] == [0, 1, 2]


def test_a_started_instance_is_in_no_queue(shelf) -> None:
    key = shelf.add("one", rank=0)
    shelf.store.start(key, 1)

    assert shelf.store.next_queued(shelf.workflow, 10) == []
    assert shelf.store.count_queued() == {}


@pytest.mark.parametrize("way", ["pause", "finish", "set_status"])
def test_every_way_out_of_queued_leaves_the_queue(shelf, way) -> None:
    key = shelf.add("one", rank=0)
    if way == "pause":
        shelf.store.pause(key, 1, rested=False)
    elif way == "finish":
        shelf.store.finish(key, Status.TERMINATED, 1, expires_at=None)
    else:
        shelf.store.set_status(key, Status.ROLLING_BACK, 1, None)

    assert shelf.store.count_queued() == {}


def test_the_forgotten_are_queued_with_the_rank_of_new_ones(shelf) -> None:
    key = shelf.add("forgotten")
    running = shelf.add("running")
    shelf.store.start(running, 1)
    shelf.store.queue_the_forgotten(shelf.workflow)

    assert shelf.store.next_queued(shelf.workflow, 10) == [key]


def test_due_are_those_whose_time_has_come_earliest_first_of_workflows_with_code(shelf) -> None:
    blocked = shelf.add_workflow("blocked", defined=False)
    keys = {}
    for name, wake_at, workflow in (("b", 20, None), ("a", 10, None), ("later", 99, None), ("x", 5, blocked)):
        keys[name] = shelf.add(name, workflow=workflow)
        shelf.store.set_status(keys[name], Status.WAITING, 1, wake_at)

    assert shelf.store.due(50, 10) == [(keys["a"], shelf.workflow, 10), (keys["b"], shelf.workflow, 20)]
    assert shelf.store.due(50, 1) == [(keys["a"], shelf.workflow, 10)]
    assert shelf.store.next_wake() == 10
    shelf.store.define_workflow(blocked, defined=True)
    assert shelf.store.next_wake() == 5


def test_left_in_memory_are_those_that_a_dead_process_was_running(shelf) -> None:
    expected = []
    for n, status in enumerate(Status):
        key = shelf.add(f"i{n}")
        shelf.store.set_status(key, status, 1, None)
        if status in (Status.RUNNING, Status.WAITING_FOR_PAUSE, Status.ROLLING_BACK):
            expected.append((key, shelf.workflow, status))

    assert shelf.store.left_in_memory() == expected


def test_expired_are_those_whose_retention_is_over(shelf) -> None:
    for name, expires_at in (("a", 10), ("b", 20), ("never", None)):
        shelf.store.finish(shelf.add(name), Status.COMPLETE, 1, expires_at=expires_at)

    assert [key for key, _ in shelf.store.expired(15, 10)] == [shelf.store.find(shelf.workflow, "a")]
    assert shelf.store.next_expiry() == 10


# -- steps


def test_a_step_comes_back_as_it_was_put(shelf) -> None:
    key = shelf.add("one")
    row = shelf.add_step(key, 3, name="x", count=2, parent=1, has_rollback=True, config='{"a":1}')

    assert shelf.store.steps(key) == [row]
    assert shelf.store.step(key, 3) == row
    assert shelf.store.find_step(key, StepKind.DO, "x", 2) == 3
    assert shelf.store.find_step(key, StepKind.SLEEP, "x", 2) is None


def test_v11_steps_can_be_read_without_their_outputs(shelf) -> None:
    key = shelf.add("one")
    shelf.complete(key, shelf.add_step(key), '"large"')

    assert [row.output for row in shelf.store.steps(key, with_outputs=False)] == [None]
    assert [row.output for row in shelf.store.steps(key)] == ['"large"']


def test_equal_configs_are_stored_once(shelf) -> None:
    key = shelf.add("one")
    for seq in range(1, 6):
        shelf.add_step(key, seq, config='{"same":1}')

    assert shelf.store._db.execute("SELECT count(*) FROM step_config").get == 1


def test_a_config_of_a_forgotten_transaction_is_not_referred_to(shelf) -> None:
    key = shelf.add("one")
    shelf.store.commit()
    shelf.add_step(key, 1, config='{"new":1}')
    shelf.store.rollback()
    shelf.add_step(key, 1, config='{"new":1}')

    assert [row.config for row in shelf.store.steps(key)] == ['{"new":1}']


def states(shelf):
    """A step in each state, as the engine brings it there."""
    key = shelf.add("one")
    rows = {
        StepState.IN_FLIGHT: shelf.add_step(key, 1),
        StepState.RETRYING: shelf.add_step(key, 2),
        StepState.PENDING: shelf.add_step(
            key, 3, kind=StepKind.SLEEP, state=StepState.PENDING, attempts=0, config='{"durationMs":1}'
        ),
        StepState.COMPLETED: shelf.add_step(key, 4),
        StepState.FAILED: shelf.add_step(key, 5),
    }
    shelf.store.retry_step(key, 2, 99)
    shelf.complete(key, rows[StepState.COMPLETED], "1")
    shelf.store.fail_step(key, 5, 30, "{}")
    return key, rows


ALLOWED = {
    "start_attempt": {StepState.IN_FLIGHT, StepState.RETRYING},
    "retry_step": {StepState.IN_FLIGHT},
    "complete_step": {StepState.IN_FLIGHT, StepState.PENDING},
    "fail_step": {StepState.IN_FLIGHT, StepState.PENDING},
}


@pytest.mark.parametrize("state", StepState)
@pytest.mark.parametrize("change", ALLOWED)
def test_w5_v3_a_change_of_a_step_that_is_not_in_the_right_state_is_a_conflict(shelf, change, state) -> None:
    key, rows = states(shelf)
    row = rows[state]
    arguments = {
        "start_attempt": (key, row.seq, row.attempts + 1),
        "retry_step": (key, row.seq, 50),
        "complete_step": (key, row),
        "fail_step": (key, row.seq, 50, "{}"),
    }[change]
    before = shelf.store.step(key, row.seq)

    if state in ALLOWED[change]:
        getattr(shelf.store, change)(*arguments)
    else:
        with pytest.raises(Conflict):
            getattr(shelf.store, change)(*arguments)
        assert shelf.store.step(key, row.seq) == before


@pytest.mark.parametrize("attempt", [0, 1, 3])
def test_v5_starting_an_attempt_that_is_not_the_next_one_is_a_conflict(shelf, attempt) -> None:
    key = shelf.add("one")
    shelf.add_step(key, 1)
    shelf.store.retry_step(key, 1, 5)

    with pytest.raises(Conflict):
        shelf.store.start_attempt(key, 1, attempt)
    assert shelf.store.step(key, 1).attempts == 1


def test_a_step_is_inserted_once(shelf) -> None:
    key = shelf.add("one")
    shelf.add_step(key, 1)

    with pytest.raises(apsw.ConstraintError):
        shelf.add_step(key, 1)


def test_after_a_pause_every_deadline_moves_and_nothing_else(shelf) -> None:
    key = shelf.add("one")
    for seq, due_at in ((1, 100), (2, 50), (3, None)):
        shelf.add_step(key, seq, due_at=due_at, state=StepState.PENDING)

    assert shelf.store.move_deadlines(key, 1000) == 1050
    assert [row.due_at for row in shelf.store.steps(key)] == [1100, 1050, None]


def test_sensitive_outputs_are_opened_for_the_engine_only(shelf) -> None:
    key = shelf.add("one")
    row = shelf.add_step(key, 1, sensitive=True, config='{"sensitive":"output"}')
    shelf.complete(key, row, '"secret"')

    assert shelf.store.step(key, 1).output == '"secret"'
    assert shelf.store.reader().step(key, 1).output is None
    assert shelf.store.reader().steps(key)[0].output is None


@pytest.mark.parametrize("data", [b"", b"a", bytes(range(256)), "ü這🔑".encode()])
def test_a_seal_can_be_undone_and_changes_every_byte(data) -> None:
    assert unseal(seal(data)) == data
    assert all(before != after for before, after in zip(data, seal(data), strict=True))


def test_what_an_instance_stores_is_counted_in_bytes(shelf) -> None:
    key = shelf.add("one")
    shelf.complete(key, shelf.add_step(key, 1), '"ü"')
    secret = shelf.add_step(key, 2, sensitive=True, config='{"sensitive":"output"}')
    shelf.complete(key, secret, "12345")
    shelf.store.add_chunk(key, 3, 0, b"x" * 100)

    assert shelf.store.stored_bytes(key) == 4 + 5 + 100


# -- history


def test_entries_of_one_moment_share_a_row_and_are_read_apart(shelf) -> None:
    key = shelf.add("one")
    shelf.log(key, 1, T.WORKFLOW_QUEUED)
    shelf.log(key, 2, T.STEP_STARTED, T.ATTEMPT_STARTED, step=1, attempt=1)
    shelf.log(key, 4, T.ATTEMPT_COMPLETED, T.STEP_COMPLETED, step=1, attempt=1)

    assert [(row.event_id, str(row.type)) for row in shelf.store.history(key)] == [
        (1, "workflow_queued"),
        (2, "step_started"),
        (3, "attempt_started"),
        (4, "attempt_completed"),
        (5, "step_completed"),
    ]
    assert shelf.store._db.execute("SELECT count(*) FROM history").get == 3
    assert shelf.store.last_event_id(key) == 5


@pytest.mark.parametrize("after", range(6))
def test_reading_on_from_any_entry_finds_the_rest(shelf, after) -> None:
    key = shelf.add("one")
    shelf.log(key, 1, T.WORKFLOW_QUEUED)
    shelf.log(key, 2, T.STEP_STARTED, T.ATTEMPT_STARTED, step=1, attempt=1)
    shelf.log(key, 4, T.ATTEMPT_COMPLETED, T.STEP_COMPLETED, step=1, attempt=1)
    found = []
    while rows := shelf.store.history(key, after if not found else found[-1], limit=1):
        found += [row.event_id for row in rows]

    assert found == list(range(after + 1, 6))


def test_v7_entries_can_be_listed_by_the_step_they_belong_to(shelf) -> None:
    key = shelf.add("one")
    shelf.log(key, 1, T.STEP_STARTED, T.ATTEMPT_STARTED, step=1, attempt=1)
    shelf.log(key, 3, T.SLEEP_STARTED, step=2)
    shelf.log(key, 4, T.ATTEMPT_ERRORED, step=1, attempt=1, detail="{}")

    assert [row.event_id for row in shelf.store.step_history(key, 1)] == [1, 2, 4]


def test_an_id_of_the_history_is_used_once(shelf) -> None:
    key = shelf.add("one")
    shelf.log(key, 1, T.WORKFLOW_QUEUED)

    with pytest.raises(apsw.ConstraintError):
        shelf.log(key, 1, T.WORKFLOW_STARTED)


def test_a_restart_keeps_the_ids_growing_even_when_it_wipes_the_history(shelf) -> None:
    key = shelf.add("one")
    shelf.log(key, 1, T.WORKFLOW_QUEUED)
    shelf.log(key, 2, T.WORKFLOW_STARTED, T.WORKFLOW_RUNNING)
    shelf.store.reset(key, 50, 0, 1, 0)

    assert shelf.store.history(key) == []
    assert shelf.store.last_event_id(key) == 3


def test_a_restart_from_a_step_wipes_it_and_all_after_it_with_their_entries(shelf) -> None:
    key = shelf.add("one")
    shelf.store.start(key, 5)
    shelf.log(key, 1, T.WORKFLOW_QUEUED)
    shelf.log(key, 2, T.WORKFLOW_STARTED, T.WORKFLOW_RUNNING)
    for seq in (1, 2, 3):
        shelf.complete(key, shelf.add_step(key, seq), str(seq))
        shelf.log(key, 2 + 2 * seq, T.ATTEMPT_COMPLETED, T.STEP_COMPLETED, step=seq, attempt=1)
        shelf.store.add_chunk(key, seq, 0, b"x")
    shelf.store.finish(key, Status.COMPLETE, 60, expires_at=99, output="1")
    shelf.log(key, 10, T.WORKFLOW_COMPLETED)
    shelf.store.reset(key, 70, 0, 1, 2)
    row = shelf.store.instance(key)

    assert [step.seq for step in shelf.store.steps(key)] == [1]
    assert [(entry.event_id, str(entry.type)) for entry in shelf.store.history(key)] == [
        (1, "workflow_queued"),
        (2, "workflow_started"),
        (4, "attempt_completed"),
        (5, "step_completed"),
    ]
    assert [shelf.store.chunk(key, seq, 0) for seq in (1, 2, 3)] == [b"x", None, None]
    assert (row.status, row.ended_at, row.expires_at, row.started_at) == (Status.QUEUED, None, None, 5)
    assert shelf.store.values(key).output is None
    assert shelf.store.last_event_id(key) == 10


# -- events


def test_w6_the_oldest_unclaimed_event_of_the_type_is_claimed(shelf) -> None:
    key = shelf.add("one")
    for kind, payload in (("a", "1"), ("b", "2"), ("a", "3")):
        shelf.store.add_event(key, kind, payload, 5)

    assert shelf.store.claim_event(key, "a", 10).payload == "1"
    assert shelf.store.claim_event(key, "a", 11).payload == "3"
    assert shelf.store.claim_event(key, "a", 12) is None
    assert [event.claimed_by for event in shelf.store.events(key)] == [10, None, 11]


def test_w6_the_schema_lets_a_wait_claim_only_one_event(shelf) -> None:
    key = shelf.add("one")
    for _ in range(2):
        shelf.store.add_event(key, "a", "1", 5)
    shelf.store.claim_event(key, "a", 10)

    with pytest.raises(apsw.ConstraintError):
        shelf.store.claim_event(key, "a", 10)


def test_the_newest_payload_of_a_type_is_found_for_the_workflow(shelf) -> None:
    other = shelf.add("elsewhere", workflow=shelf.add_workflow("other"))
    for name, payload in (("one", "1"), ("two", "2")):
        shelf.store.add_event(shelf.add(name), "go", payload, 5)
    shelf.store.add_event(other, "go", "3", 5)

    assert shelf.store.last_payload(shelf.workflow, "go") == "2"
    assert shelf.store.last_payload(shelf.workflow, "never") is None


# -- lists


def test_v6_lists_page_by_cursor_in_both_directions(shelf) -> None:
    keys = [shelf.add(f"i{n}") for n in range(7)]

    def walk(ascending):
        found, after = [], None
        while rows := shelf.store.instances(PageFilter(), Page(3, after=after, ascending=ascending)):
            found += [row.key for row in rows]
            after = found[-1]
        return found

    assert walk(ascending=True) == keys
    assert walk(ascending=False) == keys[::-1]


FILTERS = {
    "workflow": (PageFilter(workflow=2), ["other"]),
    "one status": (PageFilter(statuses=(Status.COMPLETE,)), ["done"]),
    "two statuses": (PageFilter(statuses=(Status.COMPLETE, Status.WAITING)), ["sleeper", "done"]),
    "created from": (PageFilter(created_from=300), ["other", "sleeper"]),
    "created to": (PageFilter(created_to=200), ["done", "first"]),
    "created between": (PageFilter(created_from=200, created_to=300), ["sleeper", "done"]),
    "part of the id": (PageFilter(id_texts=("leep",)), ["sleeper"]),
    "a percent sign is no wildcard": (PageFilter(id_texts=("%",)), []),
    "value": (PageFilter(value_texts=("needle",)), ["first"]),
    "all together": (PageFilter(workflow=1, statuses=(Status.WAITING,), id_texts=("s",)), ["sleeper"]),
    "nothing": (PageFilter(workflow=99), []),
}


@pytest.mark.parametrize(("wanted", "found"), FILTERS.values(), ids=FILTERS.keys())
def test_lists_are_narrowed_by_every_part_of_the_filter(shelf, wanted, found) -> None:
    other = shelf.add_workflow("other")
    shelf.add("first", created_at=100, params='{"in":"needle"}')
    done = shelf.add("done", created_at=200)
    sleeper = shelf.add("sleeper", created_at=300)
    shelf.add("other", created_at=400, workflow=other)
    shelf.store.set_status(done, Status.COMPLETE, 1, None)
    shelf.store.set_status(sleeper, Status.WAITING, 1, None)

    assert [row.id for row in shelf.store.instances(wanted, Page(10))] == found
    assert shelf.store.count_instances(wanted) == len(found)


def test_counts_by_workflow_and_status(shelf) -> None:
    for name in "abc":
        shelf.add(name)
    shelf.store.set_status(shelf.add("d"), Status.WAITING, 1, None)

    assert shelf.store.counts() == {shelf.workflow: {Status.QUEUED: 3, Status.WAITING: 1}}


def test_the_number_of_steps_comes_with_an_instance(shelf) -> None:
    key = shelf.add("one")
    for seq in (1, 2):
        shelf.add_step(key, seq)

    assert shelf.store.instance(key).step_count == 2
    assert shelf.store.instances(PageFilter(), Page(1))[0].step_count == 2


def test_what_is_not_there_is_none_or_empty(shelf) -> None:
    store = shelf.store

    assert store.instance(99) is store.values(99) is store.status(99) is store.step(99, 1) is None
    assert store.find(shelf.workflow, "nobody") is store.chunk(99, 1, 0) is store.version(99) is None
    assert store.steps(99) == store.history(99) == store.events(99) == store.logs(99) == []
    assert store.last_event_id(99) == store.queued_before(99) == 0


# -- failures and threads


def test_a_write_that_fails_for_a_moment_is_made_again_by_the_commit(shelf) -> None:
    shelf.store.commit()
    shelf.store.put_setting("half", "1")
    shelf.store._db.execute("PRAGMA query_only = 1")
    shelf.store.put_setting("other half", "1")
    with pytest.raises(Unavailable, match="attempt to write a readonly database"):
        shelf.store.commit()
    shelf.store._db.execute("PRAGMA query_only = 0")
    shelf.store.commit()

    assert [shelf.store.setting(name) for name in ("half", "other half")] == ["1", "1"]


def test_a_reader_may_be_used_in_several_threads(shelves, tmp_path) -> None:
    shelf = shelves(str(tmp_path / "s.sqlite"))
    for n in range(50):
        shelf.add(f"i{n}")
    shelf.store.commit()
    reader, found, errors = shelf.store.reader(), [], []

    def read():
        try:
            for n in range(50):
                found.append(reader.find(shelf.workflow, f"i{n}"))
        except Exception as error:  # noqa: BLE001 - shown below
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert len(found) == 200
    assert None not in found
