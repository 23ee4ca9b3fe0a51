"""Reads over one connection: rows become records here."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import apsw

from stepwell.emulator.storage import pages, queries
from stepwell.emulator.storage.codes import (
    KIND_CODES,
    KIND_OF_CODE,
    STATE_OF_CODE,
    STATUS_OF_CODE,
    TRIGGER_OF_CODE,
    TYPES_OF_CODE,
)
from stepwell.emulator.storage.connection import explain, is_passing, reason_of
from stepwell.emulator.storage.records import (
    BufferedEvent,
    HistoryRow,
    InstanceRow,
    InstanceValues,
    LogRow,
    Page,
    PageFilter,
    RunInput,
    Status,
    StepKind,
    StepRow,
    StoredInstance,
    Trigger,
    VersionRow,
    WorkflowRow,
)
from stepwell.emulator.storage.sealing import unseal
from stepwell.emulator.storage.store import Damaged, Unavailable
from stepwell.emulator.storage.view_reader import ViewReads

_log = logging.getLogger("stepwell.storage")

Row: TypeAlias = tuple[Any, ...]

#: What the column `rollback` begins with while it holds no outcome yet, but what the engine needs at the end.
TERMINATION: Final = "termination "


class SqliteReader(ViewReads):
    """Reads for the REST API, the dashboard and tests. One statement per call; threads take turns."""

    #: Sensitive outputs stay closed to readers; the engine's own store opens them.
    opens_sealed = False

    def __init__(self, db: apsw.Connection, lock: threading.RLock | None = None) -> None:
        """`lock`: the lock of whoever else uses this connection."""
        self._db = db
        self._path = db.filename or ":memory:"
        self._cursor = db.cursor()
        self._sql = queries.statements()
        self._lock = lock or threading.RLock()

    def _all(self, name: str, params: Sequence[Any] = ()) -> list[Row]:
        return self._rows(self._sql[name], params)

    def _rows(self, sql: str, params: Sequence[Any]) -> list[Row]:
        with self._lock, self._explained():
            return list(self._readable(sql, params))

    def _readable(self, sql: str, params: Sequence[Any]) -> Iterator[Row]:
        """The rows that can be read: one whose text is damaged does not keep the others from being shown."""
        cursor = self._db.execute(sql, params)
        for position in itertools.count():
            try:
                yield next(cursor)
            except StopIteration:
                return
            except UnicodeDecodeError as error:
                _log.error(
                    "%s is damaged: a text is not UTF-8 (%r). Its row is left out: %s.",
                    self._path,
                    bytes(error.object[:100]),
                    self._row_name(sql, params, cursor.description[0][0], position),
                )

    def _row_name(self, sql: str, params: Sequence[Any], column: str, position: int) -> str:
        """Which row that is: its first column, which is a key nearly always, as text whatever its bytes are."""
        nth = f'SELECT CAST("{column}" AS BLOB) FROM ({sql.rstrip().rstrip(";")}) LIMIT 1 OFFSET {position}'
        try:
            key = self._db.execute(nth, params).fetchone()
        except apsw.Error:
            key = None
        return f"row {position + 1}" if key is None else f"{column} {bytes(key[0] or b'').decode(errors='replace')}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What SQLite says becomes a `StorageError`."""
        try:
            yield
        except apsw.CorruptError as error:
            raise Damaged(str(explain(self._path, error))) from None
        except apsw.Error as error:
            if is_passing(error):
                raise Unavailable(f"The database cannot be read: {reason_of(error)}.") from None
            raise
        except UnicodeDecodeError as error:
            raise Damaged(
                f"{self._path} is damaged: a text in it is not UTF-8 ({bytes(error.object[:100])!r})."
            ) from None

    def _one(self, name: str, params: Sequence[Any] = ()) -> Row | None:
        with self._lock, self._explained():
            row: Row | None = self._db.execute(self._sql[name], params).fetchone()
            return row

    # -- Workflows and versions
    def workflows(self) -> list[WorkflowRow]:
        return [_workflow(row) for row in self._all("list_workflows")]

    def counts(self) -> dict[int, dict[Status, int]]:
        """How many instances each Workflow (by key) has in each status; statuses without any are left out."""
        found: dict[int, dict[Status, int]] = {}
        for workflow, status, count in self._all("count_by_status"):
            if count:
                found.setdefault(workflow, {})[STATUS_OF_CODE[status]] = count
        return found

    def versions(self, workflow: int) -> list[VersionRow]:
        """Newest first, without sources."""
        return [VersionRow(*row) for row in self._all("list_versions", (workflow,))]

    def version(self, key: int) -> VersionRow | None:
        row = self._one("get_version", (key,))
        return VersionRow(*row) if row else None

    def version_by_id(self, version_id: str) -> VersionRow | None:
        row = self._one("get_version_by_id", (version_id,))
        return VersionRow(*row) if row else None

    # -- instances
    def instances(self, wanted: PageFilter, page: Page) -> list[InstanceRow]:
        sql, params = pages.page_statement(wanted, page)
        return [_listed(row) for row in self._rows(sql, params)]

    def count_instances(self, wanted: PageFilter) -> int:
        sql, params = pages.count_statement(wanted)
        return int(self._rows(sql, params)[0][0])

    def find(self, workflow: int, instance_id: str) -> int | None:
        row = self._one("find_instance", (workflow, instance_id))
        return row[0] if row else None

    def instance(self, key: int) -> InstanceRow | None:
        row = self._one("get_instance", (key,))
        return _instance(row) if row else None

    def stored(self, key: int) -> StoredInstance | None:
        row = self._one("get_stored", (key,))
        if row is None:
            return None
        workflow, instance_id, status, is_started, *rest = row
        return StoredInstance(workflow, instance_id, _status(key, status), bool(is_started), *rest)

    def run_input(self, key: int) -> RunInput | None:
        row = self._one("get_run_input", (key,))
        return RunInput(*row) if row else None

    def status(self, key: int) -> Status | None:
        row = self._one("get_status", (key,))
        return _status(key, row[0]) if row else None

    def values(self, key: int) -> InstanceValues | None:
        row = self._one("get_values", (key,))
        if not row:
            return None
        values = InstanceValues(*row)
        if values.rollback is None or not values.rollback.startswith(TERMINATION):
            return values
        return values._replace(rollback=None, termination=values.rollback.removeprefix(TERMINATION))

    def queued_before(self, key: int) -> int:
        """How many come before it in its queue."""
        row = self._one("queued_before", (key,))
        return int(row[0]) if row else 0

    # -- steps
    def steps(self, key: int, *, with_outputs: bool = True) -> list[StepRow]:
        name = "list_steps" if with_outputs else "list_steps_light"
        return [self._step(row) for row in self._all(name, (key,))]

    def check_steps(self, key: int) -> None:
        """Raises `Damaged`, with the step, when a value of a step is not JSON."""
        for (seq,) in self._all("steps_without_json", (key,)):
            row = next(row for row in self._all("names_of_steps", (key,)) if row[0] == seq)
            name, instance_id = (bytes(part).decode(errors="replace") for part in (row[1], row[3]))
            raise Damaged(
                f'{self._path} is damaged: a value is not JSON, in the step "{name}-{row[2]}" of the instance '
                f'"{instance_id}".'
            )

    def steps_shown(self, key: int, most: int) -> list[StepRow]:
        """Like `steps`, but an output of more than `most` bytes is a text of its beginning: lists stay light."""
        return [self._step(row) for row in self._all("list_steps_shown", (key, most))]

    def step(self, key: int, seq: int) -> StepRow | None:
        row = self._one("get_step", (key, seq))
        return self._step(row) if row else None

    def _listed_row(self, row: Row) -> InstanceRow:
        return _listed(row)

    def _entries(self, row: Row) -> list[HistoryRow]:
        return _entries(row)

    def find_step(self, key: int, kind: StepKind, name: str, count: int) -> int | None:
        row = self._one("find_step", (key, KIND_CODES[kind], name, count))
        return row[0] if row else None

    def _step(self, row: Row) -> StepRow:
        try:
            return self._step_of(row)
        except (LookupError, TypeError, ValueError) as error:
            raise Damaged(f"The database is damaged: a step has invalid values ({error!r}).") from None

    def _step_of(self, row: Row) -> StepRow:
        (seq, kind, name, count, parent, state, attempts, started, ended, due, rollback, config, *rest) = row
        error, output, stream, sealed = rest
        sensitive = '"sensitive":' in config
        if sealed and self.opens_sealed and isinstance(sealed, bytes):
            output = unseal(sealed).decode()
        return StepRow(
            seq=seq,
            kind=KIND_OF_CODE[kind],
            name=name,
            count=count,
            parent=parent,
            state=STATE_OF_CODE[state],
            attempts=attempts,
            started_at=started,
            ended_at=ended,
            due_at=due,
            has_rollback=bool(rollback),
            sensitive=sensitive,
            config=config,
            error=error,
            output=output,
            stream=stream,
        )

    def chunk(self, key: int, seq: int, n: int) -> bytes | None:
        row = self._one("get_chunk", (key, seq, n))
        if row is None:
            return None
        data, is_sealed = row
        if not is_sealed:
            return bytes(data)
        return unseal(data) if self.opens_sealed else None

    # -- history, events, logs
    def history(self, key: int, after: int = 0, limit: int = 1_000) -> list[HistoryRow]:
        # An entry may be the second of a row whose id is the one before.
        rows = self._all("read_history", (key, after, limit + 1))
        return [entry for row in rows for entry in _entries(row) if entry.event_id > after]

    def newest_history(self, key: int, limit: int) -> list[HistoryRow]:
        """The last entries, in order; about `limit` of them."""
        rows = self._all("newest_history", (key, limit))
        return [entry for row in reversed(rows) for entry in _entries(row)]

    def step_history(self, key: int, seq: int) -> list[HistoryRow]:
        return [entry for row in self._all("read_step_history", (key, seq)) for entry in _entries(row)]

    def events(self, key: int) -> list[BufferedEvent]:
        return [BufferedEvent(*row) for row in self._all("list_events", (key,))]

    def last_payload(self, workflow: int, event_type: str) -> str | None:
        row = self._one("last_payload", (event_type, workflow))
        return row[0] if row else None

    def logs(self, key: int, after: int = 0, limit: int = 1_000) -> list[LogRow]:
        return [LogRow(*row) for row in self._all("list_logs", (key, after, limit))]

    def close(self) -> None:
        self._db.close()


def _entries(row: Row) -> list[HistoryRow]:
    event_id, types, *rest = row
    return [HistoryRow(event_id + n, kind, *rest) for n, kind in enumerate(TYPES_OF_CODE[types])]


def _status(key: int, code: Any) -> Status:
    try:
        status: Status = STATUS_OF_CODE[code]
    except (LookupError, TypeError):
        raise Damaged(
            f"The database is damaged. The instance {key} has invalid values (status {code!r})."
        ) from None
    return status


def _workflow(row: Row) -> WorkflowRow:
    values = list(row)
    values[-1] = bool(values[-1])
    return WorkflowRow(*values)


def _instance(row: Row) -> InstanceRow:
    values = list(row)
    try:
        values[3] = STATUS_OF_CODE[values[3]]
        values[12] = TRIGGER_OF_CODE[values[12]]
    except (LookupError, TypeError) as error:
        raise Damaged(f"The database is damaged. The instance {row[0]} has invalid values ({error}).") from None
    return InstanceRow(*values)


def _listed(row: Row) -> InstanceRow:
    """A row of a list: one that is damaged is marked, so that the others are shown."""
    try:
        return _instance(row)
    except Damaged:
        values = list(row)
        values[3], values[12] = Status.ERRORED, Trigger.UNKNOWN
        return InstanceRow(*values)._replace(damaged=True)
