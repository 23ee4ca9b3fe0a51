"""What the hot statements cost: with 100,000 instances stored no more than with 1,000.

The cost is what SQLite's machine executes, counted by its progress handler: a busy computer changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw
import pytest

from stepwell.emulator.storage.pages import count_statement
from stepwell.emulator.storage.queries import statements
from stepwell.emulator.storage.records import (
    NewInstance,
    Page,
    PageFilter,
    Status,
    StepKind,
    StepRow,
    StepState,
    Trigger,
)
from stepwell.emulator.storage.sqlite import SqliteStore

#: Machine instructions between two calls of the handler.
GRAIN = 50

FILL = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
INSERT INTO instance (workflow, id, status, created_at, modified_at, started_at, wake_at, expires_at, queue_rank,
                      version, trigger, params)
SELECT 1 + i % 3, 'i' || i, CASE i % 10 WHEN 0 THEN 0 WHEN 1 THEN 5 WHEN 2 THEN 3 ELSE 7 END, i, i, i,
       CASE WHEN i % 10 > 2 THEN 1000000 + i END, CASE WHEN i % 10 IN (1, 2) THEN 2000000 + i END,
       CASE WHEN i % 10 = 0 THEN 0 END, 1, 2, '{{}}'
FROM n
"""
STEPS = """
INSERT INTO step (instance, seq, kind, name, count, state, attempts, started_at, due_at, config)
SELECT key, 1, 1, 'nap', 1, 2, 0, 1, wake_at, 1 FROM instance
"""
HISTORY = "INSERT INTO history (instance, event_id, types, at) SELECT key, 1, 0, 1 FROM instance"
EVENTS = "INSERT INTO event (instance, type, payload, received_at) SELECT key, 'go', '1', 1 FROM instance"


def filled(count: int) -> SqliteStore:
    store = SqliteStore(":memory:")
    for n in range(3):
        key = store.put_workflow(f"id{n}", f"flow{n}", "Flow", "worker", 1)
        store.define_workflow(key, defined=n != 2)
    store.commit()
    store._db.execute("INSERT INTO step_config (text) VALUES ('{}')")
    for statement in (FILL.format(count=count), STEPS, HISTORY, EVENTS):
        store._db.execute(statement)
    return store


@pytest.fixture(scope="module")
def stores() -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """A small store and a large one."""
    made = filled(1_000), filled(100_000)
    yield made
    for store in made:
        store.close()


def cost(store: SqliteStore, call: Callable[[SqliteStore], object]) -> int:
    ticks = 0

    def tick() -> bool:
        nonlocal ticks
        ticks += 1
        return False

    store._db.set_progress_handler(tick, GRAIN)
    try:
        call(store)
    finally:
        store._db.set_progress_handler(None)
        store.rollback()
    return ticks * GRAIN


def step_row() -> StepRow:
    return StepRow(
        2, StepKind.DO, "s", 1, None, StepState.IN_FLIGHT, 1, 1, None, None, False, False, "{}", None, None
    )


def complete(store: SqliteStore) -> None:
    row = step_row()
    store.insert_step(900, row)
    row.ended_at = 1
    store.complete_step(900, row)


HOT: dict[str, Callable[[SqliteStore], object]] = {
    "find": lambda store: store.find(1, "i900"),
    "instance": lambda store: store.instance(900),
    "status": lambda store: store.status(900),
    "values": lambda store: store.values(900),
    "insert": lambda store: store.insert_instance(NewInstance(1, "new", 1, 1, Trigger.API), None),
    "start": lambda store: store.start(900, 5),
    "set_status": lambda store: store.set_status(900, Status.WAITING, 5, 99),
    "requeue": lambda store: store.requeue(900, 5, -1),
    "pause": lambda store: store.pause(900, 5, rested=True),
    "resume": lambda store: store.resume(900, Status.WAITING, 5, 99),
    "finish": lambda store: store.finish(900, Status.COMPLETE, 5, expires_at=9, output="1"),
    "reset": lambda store: store.reset(900, 5, 0, 1, 0),
    "reset from a step": lambda store: store.reset(900, 5, 0, 1, 1),
    "delete": lambda store: store.delete(900),
    "last_event_id": lambda store: store.last_event_id(900),
    "next_wake": lambda store: store.next_wake(),
    "due": lambda store: store.due(1_000_100, 20),
    "left_in_memory": lambda store: store.left_in_memory(),
    "next_queued": lambda store: store.next_queued(1, 1),
    "expired": lambda store: store.expired(2_000_100, 20),
    "next_expiry": lambda store: store.next_expiry(),
    "pending_waits": lambda store: store.pending_waits(900),
    "steps": lambda store: store.steps(900),
    "step": lambda store: store.step(900, 1),
    "find_step": lambda store: store.find_step(900, StepKind.SLEEP, "nap", 1),
    "insert_step": lambda store: store.insert_step(900, step_row()),
    "complete_step": complete,
    "move_deadlines": lambda store: store.move_deadlines(900, 5),
    "stored_bytes": lambda store: store.stored_bytes(900),
    "history": lambda store: store.history(900, 0, 10),
    "step_history": lambda store: store.step_history(900, 1),
    "events": lambda store: store.events(900),
    "claim_event": lambda store: store.claim_event(900, "go", 1),
    "add_event": lambda store: store.add_event(900, "go", "1", 1),
    "chunk": lambda store: store.chunk(900, 1, 0),
    "logs": lambda store: store.logs(900),
    "first page of all": lambda store: store.instances(PageFilter(), Page(20)),
    "first page of a Workflow": lambda store: store.instances(PageFilter(workflow=1), Page(20)),
    "first page of a status": lambda store: store.instances(
        PageFilter(workflow=1, statuses=(Status.ERRORED,)), Page(20)
    ),
    "a later page of a Workflow": lambda store: store.instances(PageFilter(workflow=1), Page(20, after=500)),
    "first page since a date": lambda store: store.instances(PageFilter(workflow=1, created_from=10), Page(20)),
    "first page of a status since a date": lambda store: store.instances(
        PageFilter(workflow=1, statuses=(Status.ERRORED,), created_from=10), Page(20)
    ),
    "workflows": lambda store: store.workflows(),
}


@pytest.mark.parametrize("name", HOT)
def test_a_hot_statement_costs_the_same_however_much_is_stored(stores, name) -> None:
    small, large = (cost(store, HOT[name]) for store in stores)

    assert large <= 2 * small + 4 * GRAIN, f"{small} instructions with 1,000 instances, {large} with 100,000"
    assert large < 20_000


@pytest.mark.parametrize("statuses", [(), (Status.WAITING,), (Status.WAITING, Status.ERRORED)])
def test_instances_are_counted_by_date_without_reading_them(statuses) -> None:
    store = filled(10)
    sql, params = count_statement(PageFilter(workflow=1, statuses=statuses, created_from=2, created_to=5))

    (plan,) = store._db.execute(f"EXPLAIN QUERY PLAN {sql}", params).fetchall()

    assert "USING COVERING INDEX instance_of_status" in plan[-1]


def test_replaying_an_instance_with_2000_steps_reads_them_in_one_statement() -> None:
    store = filled(10)
    store._db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 2001) "
        "INSERT INTO step (instance, seq, kind, name, count, state, attempts, started_at, config, output) "
        "SELECT 1, i, 0, 's', i, 3, 1, 1, 1, '1' FROM n"
    )

    assert len(store.steps(1)) == 2001
    assert cost(store, lambda one: one.steps(1)) < 2001 * 60


def test_the_forgotten_are_looked_for_among_the_queued_only(stores) -> None:
    _, large = stores

    # A tenth of the instances is queued; the rest is not looked at.
    assert cost(large, lambda store: store.queue_the_forgotten(1)) < 100_000 * 3


@pytest.mark.parametrize("name", sorted(statements()))
def test_every_statement_is_valid_and_in_use(name) -> None:
    store = SqliteStore(":memory:")
    sql = statements()[name]
    marks = max(sql.count("?"), 9)

    for count in range(marks + 1):
        try:
            store._db.execute(f"EXPLAIN {sql}", (None,) * count).fetchall()
        except apsw.BindingsError:
            continue
        return
    raise AssertionError(f"{name} takes no number of parameters up to {marks}")
