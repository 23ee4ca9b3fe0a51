"""The `Store` on SQLite through apsw: one writer, one transaction per turn of the engine's loop."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, NoReturn, TypeAlias

import apsw

from stepwell.emulator.left import Left
from stepwell.emulator.storage.checking import BackgroundCheck
from stepwell.emulator.storage.checkpoints import Checkpoints
from stepwell.emulator.storage.codes import (
    CAUSE_CODES,
    CODE_OF_TYPES,
    KIND_CODES,
    STATE_CODES,
    STATUS_CODES,
    STATUS_OF_CODE,
    TRIGGER_CODES,
)
from stepwell.emulator.storage.connection import Synchronous, open_reader, open_writer
from stepwell.emulator.storage.reader import TERMINATION, Row, SqliteReader
from stepwell.emulator.storage.records import (
    BufferedEvent,
    EventType,
    LogRow,
    NewInstance,
    PassCause,
    Status,
    StepRow,
    VersionRow,
)
from stepwell.emulator.storage.sealing import seal
from stepwell.emulator.storage.store import Conflict, Damaged, Site, StorageError
from stepwell.emulator.storage.turn import SharedTurn, Turn

#: What steps share that are called in one place: their config, the place, the parts of the config given there.
Called: TypeAlias = tuple[str, Site | None, tuple[str, ...] | None]

_NO_SITE = (None, 0, ())
#: Rank of a queued instance that has run before; new ones have rank 0, so they come after.
#: Columns of a step before the one that says whether its values are JSON.
_STEP_COLUMNS: Final = 16
_EVERYTHING = 0


class SqliteStore(SqliteReader):
    """The only writer of its database."""

    opens_sealed = True

    def __init__(self, path: str, synchronous: Synchronous = "normal") -> None:
        super().__init__(open_writer(path, synchronous))
        self._path = path
        self._readers: list[SqliteReader] = []
        self._config_keys: dict[Called, int] = {}
        in_memory = path == ":memory:"
        self._turn = (
            SharedTurn(self._db, path, self._sql, self._lock) if in_memory else Turn(self._db, path, self._sql)
        )
        self._check: BackgroundCheck | None = None
        self._checkpoints = None if in_memory else Checkpoints(path, self._db)

    def reader(self) -> SqliteReader:
        """A connection of its own; for a database in memory, which only one connection can see, this one."""
        if self._path == ":memory:":
            return SqliteReader(self._db, self._lock)
        reader = SqliteReader(open_reader(self._path))
        self._readers.append(reader)
        return reader

    def leave_to_parent(self, end: Callable[[], NoReturn]) -> None:
        """In a forked child. The connection stays open: closing it there would harm that of the parent."""
        self._left = (self._db, self._cursor, self._turn)
        nobody: Any = Left(end)
        self._db = self._cursor = self._turn = self._lock = nobody

    def check_in_background(self) -> None:
        """Checks a large database while it is used; what is damaged is logged."""
        if self._path != ":memory:":
            self._check = BackgroundCheck(self._path)

    @property
    def damage(self) -> str:
        return "" if self._check is None else self._check.problem

    # -- transactions
    @property
    def dirty(self) -> bool:
        return self._turn.dirty

    def on_first_write(self, callback: Callable[[], None]) -> None:
        self._turn.on_first_write(callback)

    def on_trouble(self, waits: Callable[[str], None], broke: Callable[[StorageError], None]) -> None:
        self._turn.on_trouble(waits, broke)

    @property
    def trouble(self) -> str:
        return self._turn.trouble

    def begin(self) -> bool:
        return self._turn.is_open or self._turn.begin()

    def _rows(self, sql: str, params: Sequence[Any]) -> list[Row]:
        rows: list[Row] = self._turn.read(lambda db: db.execute(sql, params).fetchall())
        return rows

    def _one(self, name: str, params: Sequence[Any] = ()) -> Row | None:
        sql = self._sql[name]
        row: Row | None = self._turn.read(lambda db: db.execute(sql, params).fetchone())
        return row

    def _write_step(self, name: str, params: Sequence[Any], seq: int) -> None:
        """A change of a step that is only allowed in certain states."""
        if not self._turn.change(name, params):
            raise Conflict(f"step {seq} is not in a state for {name}")

    def commit(self) -> None:
        self._turn.commit()

    def rollback(self) -> None:
        self._config_keys.clear()
        self._turn.rollback()

    def close(self) -> None:
        """Closes the readers too: the last connection to go copies the log into the database and removes it."""
        with contextlib.suppress(StorageError):  # whoever wanted to know has committed before
            self.commit()
        for reader in self._readers:
            # A page that is being made at this moment keeps its connection, which ends with the process.
            with contextlib.suppress(apsw.ThreadingViolationError):
                reader.close()
        if self._check is not None:
            self._check.stop()
        if self._checkpoints is not None:
            self._checkpoints.stop()
        super().close()

    # -- reads whose errors name what is damaged
    def steps(self, key: int, *, with_outputs: bool = True) -> list[StepRow]:
        try:
            rows = self._all("list_steps_checked" if with_outputs else "list_steps_light", (key,))
            if with_outputs and (bad := [row[0] for row in rows if not row[-1]]):
                raise self._damaged_step(key, f"{self._path} is damaged: a value is not JSON.", bad[0])
            return [self._step(row[:_STEP_COLUMNS]) for row in rows]
        except Damaged as error:
            raise self._damaged_step(key, str(error)) from None

    def _damaged_step(self, key: int, problem: str, seq: int | None = None) -> Damaged:
        for row_seq, name, count, instance_id in self._all("names_of_steps", (key,)):
            if row_seq == seq or (seq is None and not self._is_readable(key, row_seq)):
                text, of = (bytes(part).decode(errors="replace") for part in (name, instance_id))
                return Damaged(f'{problem.rstrip(".")}, in the step "{text}-{count}" of the instance "{of}".')
        return Damaged(problem)

    def _is_readable(self, key: int, seq: int) -> bool:
        try:
            return self.step(key, seq) is not None
        except Damaged:
            return False

    # -- settings, Workflows, versions
    def setting(self, name: str) -> str | None:
        row = self._one("get_setting", (name,))
        return row[0] if row else None

    def put_setting(self, name: str, value: str) -> None:
        self._turn.write("put_setting", (name, value))

    def put_workflow(self, workflow_id: str, name: str, class_name: str, script_name: str, at: int) -> int:
        return int(self._turn.write_returning("put_workflow", (workflow_id, name, class_name, script_name, at, at)))

    def undefine_workflows(self) -> None:
        self._turn.write("undefine_workflows", ())

    def define_workflow(self, workflow: int, *, defined: bool) -> None:
        self._turn.write("define_workflow", (int(defined), workflow))

    def delete_workflow(self, workflow: int) -> None:
        self._turn.write("delete_workflow", (workflow,))

    def put_version(self, version: VersionRow) -> int:
        v = version
        params = (v.id, v.workflow, v.class_name, v.language, v.created_at, v.settings, v.source)
        return int(self._turn.write_returning("put_version", params))

    # -- instances
    def insert_instance(self, new: NewInstance, queue_rank: int | None) -> int | None:
        params = (
            new.workflow,
            new.id,
            new.created_at,
            new.created_at,
            queue_rank,
            new.version,
            TRIGGER_CODES[new.trigger],
            new.success_retention_ms,
            new.error_retention_ms,
            new.schedule,
            new.params,
            new.created_by,
            new.copied_from,
        )
        key: int | None = self._turn.write_returning("insert_instance", params)
        return key

    def start(self, key: int, at: int, *, keeps_wake: bool = False) -> None:
        self._turn.write("start_instance", (key, at, keeps_wake))

    def add_pass(self, key: int, at: int, cause: PassCause, version: int) -> None:
        self._turn.write("insert_pass", (key, at, CAUSE_CODES[cause], version))

    def set_status(self, key: int, status: Status, at: int, wake_at: int | None) -> None:
        self._turn.write("set_status", (STATUS_CODES[status], at, wake_at, key))

    def requeue(self, key: int, at: int, queue_rank: int) -> None:
        self._turn.write("queue_instance", (at, queue_rank, key))

    def pause(self, key: int, at: int, *, rested: bool) -> None:
        self._turn.write("pause_instance", (key, at, 1 if rested else None))

    def was_rested(self, key: int) -> bool:
        row = self._one("was_rested", (key,))
        return row is not None and row[0] == 1

    def end_while_paused(self, key: int) -> None:
        self._turn.write("end_while_paused", (key,))

    def ended_while_paused(self, key: int) -> bool:
        row = self._one("was_rested", (key,))
        return row is not None and row[0] == 2

    def resume(self, key: int, status: Status, at: int, wake_at: int | None) -> None:
        self._turn.write("resume_instance", (STATUS_CODES[status], at, wake_at, key))

    def set_wake(self, key: int, wake_at: int | None) -> None:
        self._turn.write("set_wake", (wake_at, key))

    def finish(
        self,
        key: int,
        status: Status,
        at: int,
        *,
        expires_at: int | None,
        output: str | None = None,
        error: str | None = None,
        reason: str | None = None,
    ) -> None:
        self._turn.write("finish_instance", (key, STATUS_CODES[status], at, expires_at, output, error, reason))

    def set_error(self, key: int, error: str) -> None:
        self._turn.write("set_error", (error, key))

    def set_rollback(self, key: int, rollback: str) -> None:
        self._turn.write("set_rollback", (rollback, key))

    def set_termination(self, key: int, termination: str) -> None:
        self._turn.write("set_rollback", (f"{TERMINATION}{termination}", key))

    def reset(self, key: int, at: int, queue_rank: int, version: int, from_seq: int) -> None:
        floor = self.last_event_id(key)
        if from_seq == _EVERYTHING:
            self._turn.write("delete_all_history", (key,))
            self._turn.write("delete_events", (key,))
            self._turn.write("delete_logs", (key,))
            self._turn.write("delete_passes", (key,))
        else:
            self._turn.write("delete_step_history", (key, from_seq))
            self._turn.write("split_started", (key,))
            self._turn.write("delete_workflow_history", (key,))
            self._turn.write("delete_unclaimed_events", (key, from_seq))
        self._turn.write("delete_steps", (key, from_seq))
        self._turn.write("delete_chunks", (key, from_seq))
        self._turn.write("reset_instance", (key, at, queue_rank, version, floor, from_seq == _EVERYTHING, from_seq))

    def delete(self, key: int) -> None:
        self._turn.write("delete_all_history", (key,))
        self._turn.write("delete_events", (key,))
        self._turn.write("delete_logs", (key,))
        self._turn.write("delete_passes", (key,))
        self._turn.write("delete_steps", (key, _EVERYTHING))
        self._turn.write("delete_chunks", (key, _EVERYTHING))
        self._turn.write("delete_instance", (key,))

    def last_event_id(self, key: int) -> int:
        row = self._one("last_event_id", (key,))
        return int(row[0]) if row and row[0] is not None else 0

    # -- what is due
    def next_wake(self, without: Collection[int] = ()) -> int | None:
        row = self._one("next_wake", (_json_list(without),))
        return row[0] if row else None

    def due(self, at: int, limit: int, without: Collection[int] = ()) -> list[tuple[int, int, int]]:
        rows = self._all("due_instances", (at, _json_list(without), limit))
        return [(key, workflow, wake_at) for key, workflow, wake_at in rows]

    def left_in_memory(self) -> list[tuple[int, int, Status]]:
        return [(key, workflow, STATUS_OF_CODE[status]) for key, workflow, status in self._all("left_in_memory")]

    def next_queued(self, workflow: int, limit: int, without: Collection[int] = ()) -> list[int]:
        return [key for (key,) in self._all("next_queued", (workflow, _json_list(without), limit))]

    def count_queued(self) -> dict[int, int]:
        return dict(self._all("count_queued"))

    def queue_the_forgotten(self, workflow: int) -> None:
        self._turn.write("queue_the_forgotten", (workflow,))

    def pending_waits(self, key: int) -> list[tuple[int, str]]:
        return [(seq, config) for seq, config in self._all("pending_waits", (key,))]

    def expired(self, at: int, limit: int) -> list[tuple[int, int]]:
        return [(key, workflow) for key, workflow in self._all("expired_instances", (at, limit))]

    def next_expiry(self) -> int | None:
        row = self._one("next_expiry")
        return row[0] if row else None

    def instance_keys(self, workflow: int) -> list[int]:
        return [key for (key,) in self._all("instance_keys", (workflow,))]

    # -- steps
    def insert_step(
        self, key: int, step: StepRow, site: Site | None = None, given: tuple[str, ...] | None = None
    ) -> None:
        called = (step.config, site, given)
        config = self._config_keys.get(called) or self._config_key(called)
        self._turn.write(
            "insert_step",
            (
                key,
                step.seq,
                KIND_CODES[step.kind],
                step.name,
                step.count,
                step.parent,
                STATE_CODES[step.state],
                step.attempts,
                step.started_at,
                step.due_at,
                1 if step.has_rollback else None,
                config,
            ),
        )

    def _config_key(self, called: Called) -> int:
        text, site, given = called
        parts = [*(site or _NO_SITE), *([given] if given is not None else [])]
        stored = "" if site is None and given is None else json.dumps(parts, ensure_ascii=False)
        key = int(self._turn.write_returning("put_config", (text, stored)))
        if len(self._config_keys) < 1_000:  # dynamic configs would fill the memory
            self._config_keys[called] = key
        return key

    def start_attempt(self, key: int, seq: int, attempt: int) -> None:
        self._write_step("start_attempt", (attempt, key, seq), seq)

    def retry_step(self, key: int, seq: int, due_at: int) -> None:
        self._write_step("retry_step", (due_at, key, seq), seq)

    def complete_step(self, key: int, step: StepRow) -> None:
        output, sealed = step.output, None
        if step.sensitive and step.output is not None:
            output, sealed = None, seal(step.output.encode())
        params = (step.ended_at, output, sealed, step.stream, key, step.seq)
        self._write_step("complete_step", params, step.seq)

    def fail_step(self, key: int, seq: int, at: int, error: str) -> None:
        self._write_step("fail_step", (at, error, key, seq), seq)

    def move_step(self, key: int, seq: int, due_at: int) -> None:
        self._turn.write("move_step", (due_at, key, seq))

    def register_rollback(self, key: int, seq: int) -> None:
        self._turn.write("register_rollback", (key, seq))

    def move_deadlines(self, key: int, by_ms: int) -> int | None:
        self._turn.write("move_deadlines", (by_ms, key))
        return self.min_deadline(key)

    def min_deadline(self, key: int) -> int | None:
        row = self._one("min_deadline", (key,))
        return row[0] if row else None

    def stored_bytes(self, key: int) -> int:
        row = self._one("stored_bytes", (key,))
        return int(row[0]) if row else 0

    # -- history, events, streams, logs
    def append(
        self,
        key: int,
        event_id: int,
        at: int,
        types: tuple[EventType, ...],
        step: int | None = None,
        attempt: int | None = None,
        detail: str | None = None,
    ) -> None:
        self._turn.write("append_history", (key, event_id, CODE_OF_TYPES[types], at, step, attempt, detail))

    def add_event(self, key: int, event_type: str, payload: str, at: int) -> None:
        self._turn.write("insert_event", (key, event_type, payload, at))

    def claim_event(self, key: int, event_type: str, seq: int) -> BufferedEvent | None:
        row = self._one("oldest_event", (key, event_type))
        if row is None:
            return None
        self._turn.write("claim_event", (seq, row[0]))
        return BufferedEvent(row[0], row[1], row[2], row[3], seq)

    def add_chunk(self, key: int, seq: int, n: int, data: bytes, *, sensitive: bool = False) -> None:
        self._turn.write("insert_chunk", (key, seq, n, seal(data) if sensitive else data))

    def delete_stream(self, key: int, seq: int) -> None:
        self._turn.write("delete_stream", (key, seq))

    def add_logs(self, key: int, rows: Iterable[LogRow]) -> None:
        for row in rows:
            self._turn.write("insert_log", (key, row.at, row.step, row.attempt, row.level, row.text))


def _json_list(keys: Collection[int]) -> str:
    return json.dumps(list(keys)) if keys else "[]"
