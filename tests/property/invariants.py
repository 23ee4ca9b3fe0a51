"""What must hold of a database after every commit, whatever was done and wherever it was killed."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

from stepwell.emulator.storage.records import (
    FINITE,
    LAST_EVENTS,
    EventType,
    HistoryRow,
    InstanceRow,
    Page,
    PageFilter,
    Status,
    StepKind,
    StepRow,
    StepState,
)
from stepwell.emulator.storage.sqlite import SqliteStore

T = EventType
_OWNERS = "SELECT DISTINCT instance FROM {table} WHERE instance NOT IN (SELECT key FROM instance)"
_STARTED = {StepKind.DO: T.STEP_STARTED, StepKind.SLEEP: T.SLEEP_STARTED, StepKind.WAIT_FOR_EVENT: T.WAIT_STARTED}
_DONE = {
    StepKind.DO: (T.STEP_COMPLETED, T.STEP_ERRORED),
    StepKind.SLEEP: (T.SLEEP_COMPLETED, None),
    StepKind.WAIT_FOR_EVENT: (T.WAIT_COMPLETED, T.WAIT_TIMED_OUT),
}


def check_store(store: SqliteStore) -> None:
    """Raises `AssertionError` with the instance and what is wrong with it."""
    for table in ("step", "history", "event", "chunk", "log"):
        orphans = store._db.execute(_OWNERS.format(table=table)).fetchall()
        assert orphans == [], f"{table} rows of instances that are gone: {orphans}"
    for row in store.instances(PageFilter(), Page(1_000)):
        check_instance(store, row)


def check_instance(store: SqliteStore, row: InstanceRow) -> None:
    history = store.history(row.key, limit=100_000)
    steps = store.steps(row.key)
    _check_ids(row, history)
    _check_status(store, row, history)
    _check_steps(row, steps, history)
    _check_events(store, row, steps)


def _check_ids(row: InstanceRow, history: list[HistoryRow]) -> None:
    ids = [entry.event_id for entry in history]
    assert ids == sorted(set(ids)), f"{row.id}: event ids {ids}"
    assert len({entry.at for entry in history}) <= len(history)
    assert [entry.at for entry in history] == sorted(entry.at for entry in history), f"{row.id}: times go back"


def _check_status(store: SqliteStore, row: InstanceRow, history: list[HistoryRow]) -> None:
    values, kinds = store.values(row.key), [entry.type for entry in history]
    rank, paused = store._db.execute(f"SELECT queue_rank, paused_at FROM instance WHERE key = {row.key}").get
    where = f"{row.id} is {row.status}: {[str(kind) for kind in kinds]}"

    assert kinds[0] is T.WORKFLOW_QUEUED, where
    assert (row.status in FINITE) == (kinds[-1] in LAST_EVENTS), where
    assert (T.WORKFLOW_STARTED in kinds) == (row.started_at is not None), where
    assert (row.ended_at is not None) == (row.status in FINITE), where
    assert (paused is not None) == (row.status is Status.PAUSED), where
    assert rank is None or row.status is Status.QUEUED, where
    assert row.expires_at is None or row.status in FINITE, where
    assert row.wake_at is None or row.status in (
        Status.RUNNING,
        Status.WAITING,
        Status.WAITING_FOR_PAUSE,
    ), where
    assert row.status is not Status.WAITING or row.wake_at is not None, where
    assert values.output is None or row.status is Status.COMPLETE, where
    assert values.error is None or row.status in (Status.ERRORED, Status.ROLLING_BACK), where
    if row.status is Status.PAUSED:
        pauses = [kind for kind in kinds if kind in (T.WORKFLOW_PAUSED, T.WORKFLOW_RUNNING, T.WORKFLOW_WAITING)]
        assert T.WORKFLOW_PAUSED in pauses, where


def _check_steps(row: InstanceRow, steps: list[StepRow], history: list[HistoryRow]) -> None:
    names = Counter((step.kind, step.name, step.count) for step in steps)
    assert not names or max(names.values()) == 1, f"{row.id}: {names}"
    by_step: dict[int, list[HistoryRow]] = defaultdict(list)
    for entry in history:
        if entry.step is not None:
            by_step[entry.step].append(entry)
    assert by_step.keys() <= {step.seq for step in steps}, f"{row.id}: entries of steps that are gone"
    for step in steps:
        _check_step(row, step, Counter(entry.type for entry in by_step[step.seq]), by_step[step.seq])


def _check_step(row: InstanceRow, step: StepRow, kinds: Counter[EventType], entries: list[HistoryRow]) -> None:
    where = f"{row.id} {step.public_name} {step.state} after {step.attempts}: {[str(e.type) for e in entries]}"
    completed, failed = _DONE[step.kind]

    assert kinds[_STARTED[step.kind]] == 1, where
    assert kinds[completed] == (step.state is StepState.COMPLETED), where
    if failed is not None:
        assert kinds[failed] == (step.state is StepState.FAILED), where
    assert (step.ended_at is not None) == (step.state in (StepState.COMPLETED, StepState.FAILED)), where
    assert (step.error is not None) == (step.state is StepState.FAILED), where
    assert step.output is None or step.state is StepState.COMPLETED, where
    if step.kind is StepKind.DO:
        _check_attempts(step, entries, where)
    else:
        assert step.attempts == 0, where
        assert (step.due_at is not None) == (step.state is StepState.PENDING), where


def _check_attempts(step: StepRow, entries: list[HistoryRow], where: str) -> None:
    """W4, W5: every attempt that was counted has begun once, and ended once unless it is in flight."""
    started = [entry.attempt for entry in entries if entry.type is T.ATTEMPT_STARTED]
    ended = [e.attempt for e in entries if e.type in (T.ATTEMPT_COMPLETED, T.ATTEMPT_ERRORED)]
    in_flight = step.state is StepState.IN_FLIGHT

    assert started == list(range(1, step.attempts + 1)), where
    assert ended == started[: len(started) - in_flight], where
    assert (step.due_at is not None) == (step.state is StepState.RETRYING), where
    completions = sum(entry.type is T.ATTEMPT_COMPLETED for entry in entries)
    assert completions == (step.state is StepState.COMPLETED), where


def _check_events(store: SqliteStore, row: InstanceRow, steps: list[StepRow]) -> None:
    """W6: an event has one wait and a wait one event."""
    claims = Counter(event.claimed_by for event in store.events(row.key) if event.claimed_by is not None)
    done = {s.seq for s in steps if s.kind is StepKind.WAIT_FOR_EVENT and s.state is StepState.COMPLETED}
    assert set(claims) == done, f"{row.id}: events claimed by {claims}, waits completed {done}"
    assert not claims or max(claims.values()) == 1


def shown(store: SqliteStore, key: int) -> dict[str, object]:
    """What an instance has come to, without the traces of how: to compare two ways of getting there."""
    row, values = store.instance(key), store.values(key)
    return {
        "status": str(row.status),
        "output": values.output,
        "error": _brief(values.error),
        "steps": {
            f"{step.kind} {step.public_name}": (str(step.state), _timeless(step), _brief(step.error))
            for step in store.steps(key)
        },
    }


def _timeless(step: StepRow) -> object:
    """The output; of a wait the payload without the time at which the event came."""
    if step.kind is not StepKind.WAIT_FOR_EVENT or step.output is None:
        return step.output
    return json.loads(step.output).get("payload")


def _brief(error: str | None) -> object:
    if error is None:
        return None
    info = json.loads(error)
    return [info["name"], info["message"]]
