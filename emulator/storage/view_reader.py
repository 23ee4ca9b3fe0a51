"""The dashboard's reads on SQLite. A part of `SqliteReader`, which gives it its connection."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from stepwell.emulator.storage.codes import (
    CAUSE_OF_CODE,
    KIND_OF_CODE,
    STATE_OF_CODE,
    STATUS_CODES,
    STATUS_OF_CODE,
)
from stepwell.emulator.storage.excerpts import ERROR_READ, LINE_READ, closed_json
from stepwell.emulator.storage.filters import where
from stepwell.emulator.storage.listing import page_statement
from stepwell.emulator.storage.records import (
    CallSite,
    HistoryRow,
    InstanceRow,
    InstanceValues,
    LogRow,
    PageFilter,
    PassRow,
    Status,
    StepKind,
    StepRow,
)
from stepwell.emulator.storage.view_records import (
    EntryCounts,
    ErrorGroup,
    EventBrief,
    InstanceBrief,
    ListPage,
    Sizes,
    StepBrief,
    StepOutline,
    StepTally,
    WorkflowGroup,
)

Row: TypeAlias = tuple[Any, ...]

_LAST_ID = 2**62
_NO_LIMIT = -1


class ViewReads:
    """Reads that make one page out of a few statements, whatever the number of instances stored."""

    @abstractmethod
    def _all(self, name: str, params: Sequence[Any] = ()) -> list[Row]: ...

    @abstractmethod
    def _rows(self, sql: str, params: Sequence[Any]) -> list[Row]: ...

    @abstractmethod
    def _listed_row(self, row: Row) -> InstanceRow: ...

    @abstractmethod
    def _step(self, row: Row) -> StepRow: ...

    @abstractmethod
    def _entries(self, row: Row) -> list[HistoryRow]: ...

    # -- lists
    def listed(self, wanted: PageFilter, page: ListPage) -> list[InstanceRow]:
        """One page in the order asked for, always as that order shows it."""
        workflows = () if wanted.workflow is not None else self._workflow_keys()
        sql, params = page_statement(wanted, page, workflows)
        rows = [self._listed_row(row) for row in self._rows(sql, params)]
        return rows[::-1] if page.backward else rows

    def _workflow_keys(self) -> tuple[int, ...]:
        return tuple(key for (key,) in self._rows("SELECT key FROM workflow", ()))

    def matching(self, wanted: PageFilter, most: int) -> int:
        """How many instances match; stops counting at `most`."""
        condition, params = where(wanted)
        sql = f"SELECT count(*) FROM (SELECT 1 FROM instance WHERE {condition} LIMIT ?)"
        return int(self._rows(sql, [*params, most])[0][0])

    def matching_keys(self, wanted: PageFilter, before: int | None, limit: int) -> list[tuple[int, Status]]:
        """Keys and statuses, newest first, below the key `before`."""
        condition, params = where(wanted)
        sql = f"SELECT key, status FROM instance WHERE key < ? AND {condition} ORDER BY key DESC LIMIT ?"
        rows = self._rows(sql, [_LAST_ID if before is None else before, *params, limit])
        return [(key, STATUS_OF_CODE[status]) for key, status in rows]

    def count_matching_by_status(self, wanted: PageFilter, most: int | None = None) -> dict[Status, int]:
        """How many match in each status; stops counting at `most` in all."""
        condition, params = where(wanted)
        matching = f"SELECT status FROM instance WHERE {condition} LIMIT ?"
        sql = f"SELECT status, count(*) FROM ({matching}) GROUP BY status"
        rows = self._rows(sql, [*params, _NO_LIMIT if most is None else most])
        return {STATUS_OF_CODE[status]: count for status, count in rows}

    def error_groups(self, wanted: PageFilter, most: int, limit: int) -> list[ErrorGroup]:
        """The errors of the newest `most` errored instances that match; the most frequent first."""
        condition, params = where(wanted)
        sql = f"""SELECT workflow, name, message, count(*) AS count, max(created_at) FROM (
            SELECT workflow, error ->> 'name' AS name, substr(error ->> 'message', 1, 300) AS message, created_at
            FROM instance WHERE {condition} AND status = ? AND error IS NOT NULL ORDER BY key DESC LIMIT ?)
            GROUP BY workflow, name, message ORDER BY count DESC, max(created_at) DESC LIMIT ?"""
        rows = self._rows(sql, [*params, STATUS_CODES[Status.ERRORED], most, limit])
        return [
            ErrorGroup(workflow, name or "Error", message or "", *rest) for workflow, name, message, *rest in rows
        ]

    def workflow_groups(self, wanted: PageFilter, most: int) -> list[WorkflowGroup]:
        """The newest `most` instances that match, by Workflow and status."""
        condition, params = where(wanted)
        sql = f"""SELECT workflow, status, count(*), max(created_at) FROM (
            SELECT workflow, status, created_at FROM instance WHERE {condition} ORDER BY key DESC LIMIT ?)
            GROUP BY workflow, status"""
        rows = self._rows(sql, [*params, most])
        return [WorkflowGroup(workflow, STATUS_OF_CODE[status], *rest) for workflow, status, *rest in rows]

    def found_by_id(self, text: str, limit: int) -> list[InstanceBrief]:
        """Instances of any Workflow whose id contains the text: exact ones first, then the newest."""
        return [_brief(row) for row in self._all("found_by_id", (text, limit))]

    def briefs(self, keys: Iterable[int]) -> list[InstanceBrief]:
        return [_brief(row) for row in self._all("briefs", (json.dumps(list(keys)),))]

    # -- steps of several instances
    def step_tallies(self, keys: Iterable[int]) -> list[StepTally]:
        rows = self._all("step_tallies", (json.dumps(list(keys)),))
        return [StepTally(key, STATE_OF_CODE[state], count, seq) for key, state, count, seq in rows]

    def steps_at(self, places: Iterable[tuple[int, int]]) -> list[StepBrief]:
        """The steps at (instance, seq)."""
        return [_step_brief(row) for row in self._all("steps_at", (json.dumps(list(places)),))]

    def waking_steps(self, keys: Iterable[int]) -> list[StepBrief]:
        """The open steps of the instances that are due at a time, earliest first."""
        return [_step_brief(row) for row in self._all("waking_steps", (json.dumps(list(keys)),))]

    def run_steps(self, key: int, limit: int) -> list[StepBrief]:
        """The first steps of an instance."""
        return [_step_brief(row) for row in self._all("run_steps", (key, limit))]

    def recent_runs(self, workflow: int, limit: int, without: int = 0) -> list[StepBrief]:
        """Steps of the newest instances of a Workflow but for one, by instance and seq; 1,500 at most."""
        return [_step_brief(row) for row in self._all("recent_runs", (workflow, without, limit))]

    def error_briefs(self, keys: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Name and the first 300 characters of the message of their errors, by key."""
        rows = self._all("error_briefs", (json.dumps(list(keys)),))
        return {key: _error_brief(error) for key, error in rows}

    def output_briefs(self, keys: Iterable[int]) -> dict[int, str]:
        """The first 600 characters of their outputs as they are stored, by key."""
        return dict(self._all("output_briefs", (json.dumps(list(keys)),)))

    def known_steps(self, workflow: int | None) -> list[tuple[StepKind, str, str]]:
        """(kind, name, event type or "") seen in the newest runs, for completion."""
        return [(KIND_OF_CODE[kind], name, of) for kind, name, of in self._all("known_steps", (workflow,))]

    # -- one instance
    def step_window(self, key: int, from_seq: int, limit: int) -> list[StepRow]:
        """Steps from `from_seq` on, without outputs."""
        return [_in_line(self._step(row)) for row in self._all("step_window", (key, from_seq, limit))]

    def step_outline(self, key: int) -> list[StepOutline]:
        """Every step of an instance, by seq."""
        return [_outline(row) for row in self._all("step_outline", (key,))]

    def entry_counts(self, key: int) -> EntryCounts:
        return EntryCounts(*self._all("entry_counts", (key,))[0])

    def call_site(self, key: int, seq: int) -> CallSite | None:
        """Where a step was called; None where its host did not say."""
        file, line, needs, *_ = self._called(key, seq) or (None, 0, ())
        return CallSite(file, line, tuple(needs)) if file is not None else None

    def given_config(self, key: int, seq: int) -> frozenset[str] | None:
        """Which parts of a step's config the code has given: limit, delay, backoff, timeout. None: not known."""
        _, _, _, *given = self._called(key, seq) or (None, 0, ())
        return frozenset(given[0]) if given else None

    def _called(self, key: int, seq: int) -> list[Any] | None:
        """File, line, the names of what it needs, and (since that is told) the given parts of its config."""
        rows = self._all("call_site", (key, seq))
        called: list[Any] | None = json.loads(rows[0][0]) if rows and rows[0][0] else None
        return called

    def step_before(self, key: int, seq: int, name: str) -> int | None:
        """The seq of the last `step.do` of this name that began before the step `seq`."""
        found: int | None = self._all("step_before", (key, seq, name))[0][0]
        return found

    def steps_of(self, key: int, seqs: Iterable[int]) -> list[StepRow]:
        """These steps, without outputs."""
        return [_in_line(self._step(row)) for row in self._all("steps_of", (key, json.dumps(list(seqs))))]

    def sizes_of(self, key: int, seqs: Iterable[int]) -> dict[int, int]:
        """`output_sizes` of these steps."""
        rows = self._all("sizes_of", (key, json.dumps(list(seqs))))
        return {seq: size for seq, size in rows if size is not None}

    def history_of(self, key: int, seqs: Iterable[int]) -> list[HistoryRow]:
        """Entries of these steps and of the instance itself: of each the newest, with short errors."""
        rows = self._all("history_of", (key, json.dumps(list(seqs))))
        return [_entry_in_line(entry) for row in rows for entry in self._entries(row)]

    def output_sizes(self, key: int, from_seq: int, to_seq: int) -> dict[int, int]:
        """Bytes of the stored outputs, streams included, by seq; nothing is read for it but their headers."""
        rows = self._all("output_sizes", (key, from_seq, to_seq))
        return {seq: size for seq, size in rows if size is not None}

    def sizes(self, key: int) -> Sizes:
        rows = self._all("value_sizes", (key,))
        return Sizes(*rows[0]) if rows else Sizes(None, None, None)

    def history_window(self, key: int, from_seq: int, to_seq: int) -> list[HistoryRow]:
        """Entries of these steps and of the instance itself."""
        rows = self._all("history_window", (key, from_seq, to_seq))
        return [entry for row in rows for entry in self._entries(row)]

    def history_page(self, key: int, after: int, limit: int) -> list[HistoryRow]:
        """The first entries with ids above `after`, with the beginnings of their details."""
        rows = self._all("history_page", (key, after, limit))
        entries = [_entry_in_line(entry) for row in rows for entry in self._entries(row)]
        return [entry for entry in entries if entry.event_id > after][:limit]

    def last_history(self, key: int, before: int | None, limit: int) -> list[HistoryRow]:
        """The newest entries, oldest of them first; with ids below `before` when it is given."""
        rows = self._all("last_history", (key, _LAST_ID if before is None else before, limit))
        return [_entry_in_line(entry) for row in reversed(rows) for entry in self._entries(row)]

    def last_step_history(self, key: int, seq: int, limit: int) -> list[HistoryRow]:
        """The newest entries of a step, oldest of them first, with the beginnings of errors."""
        rows = self._all("last_step_history", (key, seq, limit))
        return [_entry_in_line(entry) for row in reversed(rows) for entry in self._entries(row)]

    # -- values, as far as a page shows them
    def values_shown(self, key: int, most_bytes: int) -> InstanceValues:
        """Params and output of at most so many bytes, and the beginnings of the errors."""
        rows = self._all("values_shown", (key, most_bytes))
        if not rows:
            return InstanceValues(None, None, None, None, None)
        params, output, error, rollback, reason = rows[0]
        if rollback is not None and not rollback.startswith("{"):  # what is to be noted at its end
            rollback = None
        return InstanceValues(params, output, _whole(error), _whole(rollback), reason)

    def step_shown(self, key: int, seq: int, most_bytes: int) -> StepRow | None:
        """A step with an output of at most so many bytes, and the beginning of its error."""
        rows = self._all("step_shown", (key, seq, most_bytes))
        if not rows:
            return None
        step = self._step(rows[0])
        step.error = _whole(step.error)
        return step

    def count_events(self, key: int) -> int:
        return int(self._all("count_events", (key,))[0][0])

    def events_shown(self, key: int, most_bytes: int, limit: int) -> list[EventBrief]:
        """The newest events, oldest of them first, with payloads of at most so many bytes."""
        return [EventBrief(*row) for row in reversed(self._all("events_shown", (key, most_bytes, limit)))]

    def event_payload(self, key: int, event: int) -> str | None:
        rows = self._all("event_payload", (key, event))
        return rows[0][0] if rows else None

    def logs_shown(self, key: int, step: int | None, limit: int) -> list[LogRow]:
        """The first lines of an instance, or of one of its steps, each with its first 4,001 characters."""
        return [LogRow(*row) for row in self._all("logs_shown", (key, step, limit))]

    def log_text(self, key: int, line: int) -> str | None:
        rows = self._all("log_text", (key, line))
        return rows[0][0] if rows else None

    def passes(self, key: int, limit: int) -> list[PassRow]:
        """The newest passes but the first, in order."""
        rows = self._all("newest_passes", (key, limit))
        return [PassRow(number, at, CAUSE_OF_CODE[cause], version) for number, at, cause, version in reversed(rows)]

    # -- time
    def upcoming(self, limit: int) -> list[InstanceBrief]:
        """Which instances wake next, earliest first."""
        return [_brief(row) for row in self._all("upcoming", (limit,))]

    def count_waking(self, until: int) -> int:
        return int(self._all("count_waking", (until,))[0][0])


def _brief(row: Row) -> InstanceBrief:
    key, workflow, instance_id, status, created_at, wake_at = row
    return InstanceBrief(key, workflow, instance_id, STATUS_OF_CODE[status], created_at, wake_at)


def _step_brief(row: Row) -> StepBrief:
    instance, seq, kind, name, count, parent, state, *rest = row
    rest[-1] = _beginning(rest[-1])
    return StepBrief(instance, seq, KIND_OF_CODE[kind], name, count, parent, STATE_OF_CODE[state], *rest)


def _error_brief(error: str) -> tuple[str, str]:
    found = json.loads(_beginning(error) or "{}")
    return str(found.get("name") or "Error"), str(found.get("message") or "")[:300]


def _in_line(step: StepRow) -> StepRow:
    step.error = _beginning(step.error)
    return step


def _entry_in_line(entry: HistoryRow) -> HistoryRow:
    return entry._replace(detail=_beginning(entry.detail)) if entry.detail is not None else entry


def _beginning(text: str | None) -> str | None:
    return None if text is None else closed_json(text, is_cut=len(text) >= LINE_READ)


def _whole(text: str | None) -> str | None:
    return None if text is None else closed_json(text, is_cut=len(text) >= ERROR_READ)


def _outline(row: Row) -> StepOutline:
    seq, kind, name, count, parent, state, attempts, started_at, ended_at, due_at, rollback = row
    return StepOutline(
        seq,
        KIND_OF_CODE[kind],
        name,
        count,
        parent,
        STATE_OF_CODE[state],
        attempts,
        started_at,
        ended_at,
        due_at,
        bool(rollback),
    )
