"""What the engine asks of storage. Named operations on records; no SQL and no types of a library.

Writes happen at once in an open transaction and become durable together with `commit()`; the writer sees its
own writes before that. One writer per database. Readers (`SqliteReader`) see what is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NoReturn, Protocol, TypeAlias

from stepwell.emulator.storage.records import (
    BufferedEvent,
    EventType,
    HistoryRow,
    InstanceRow,
    InstanceValues,
    LogRow,
    NewInstance,
    Page,
    PageFilter,
    PassCause,
    RunInput,
    Status,
    StepKind,
    StepRow,
    StoredInstance,
    VersionRow,
)

#: What a `CallSite` is made of, for those who know no records.
Site: TypeAlias = tuple[str, int, tuple[str, ...]]


class StorageError(Exception):
    """A database that cannot be used; the text says why and what to do."""


class Unavailable(StorageError):
    """The database cannot be written at the moment. Nothing is lost: the commit may be repeated."""


class Damaged(StorageError):
    """Something stored cannot be read; the text says what. The rest of the database may be fine."""


class Conflict(AssertionError):
    """A bug of the engine: a step is not in a state from which the change leads on. Nothing was written."""


class Store(Protocol):
    """What the engine reads, outputs of sensitive steps included, and its writes."""

    # -- reads
    def instances(self, wanted: PageFilter, page: Page) -> list[InstanceRow]: ...

    def version(self, key: int) -> VersionRow | None: ...

    def queued_before(self, key: int) -> int:
        """How many come before it in its queue."""
        ...

    def find(self, workflow: int, instance_id: str) -> int | None:
        """The key of an instance."""
        ...

    def instance(self, key: int) -> InstanceRow | None: ...

    def stored(self, key: int) -> StoredInstance | None: ...

    def run_input(self, key: int) -> RunInput | None: ...

    def values(self, key: int) -> InstanceValues | None: ...

    def steps(self, key: int, *, with_outputs: bool = True) -> list[StepRow]:
        """In order of first arrival. Outputs of sensitive steps are never given here."""
        ...

    def find_step(self, key: int, kind: StepKind, name: str, count: int) -> int | None:
        """The seq of a step."""
        ...

    def step(self, key: int, seq: int) -> StepRow | None:
        """One step with its output; a sensitive one comes without."""
        ...

    def history(self, key: int, after: int = 0, limit: int = 1_000) -> list[HistoryRow]:
        """Entries with ids above `after`; at least one when there is any, and about `limit` at most."""
        ...

    def events(self, key: int) -> list[BufferedEvent]: ...

    def chunk(self, key: int, seq: int, n: int) -> bytes | None:
        """The nth piece of a stored stream; an empty one ends it. Those of sensitive steps are never given here."""
        ...

    def close(self) -> None: ...

    def leave_to_parent(self, end: Callable[[], NoReturn]) -> None:
        """In a forked child: calls `end` at the next use of the database, which the parent goes on using."""
        ...

    # -- transactions
    @property
    def dirty(self) -> bool:
        """Whether writes wait for `commit`."""
        ...

    def on_first_write(self, callback: Callable[[], None]) -> None:
        """Calls back whenever a transaction opens."""
        ...

    def on_trouble(self, waits: Callable[[str], None], broke: Callable[[StorageError], None]) -> None:
        """`waits` is called with the reason while a call is made to wait for the database, `broke` once when
        nothing can be written any more.
        """
        ...

    @property
    def damage(self) -> str:
        """What a check in the background found damaged; empty when it found nothing."""
        ...

    @property
    def trouble(self) -> str:
        """Why the database could not be written just now."""
        ...

    def begin(self) -> bool:
        """Opens a transaction unless one is open; False when the database cannot be written just now.

        In an open transaction no write waits. Outside of one, writes that return nothing are kept for later, and
        others wait.
        """
        ...

    def commit(self) -> None:
        """Raises `Unavailable` when it may be repeated later, or another `StorageError`, which is final."""
        ...

    def rollback(self) -> None:
        """Forgets what was written since the last commit."""
        ...

    # -- settings, Workflows, versions
    def setting(self, name: str) -> str | None: ...

    def put_setting(self, name: str, value: str) -> None: ...

    def put_workflow(self, workflow_id: str, name: str, class_name: str, script_name: str, at: int) -> int: ...

    def undefine_workflows(self) -> None:
        """At start: instances of Workflows without code do not wake."""
        ...

    def define_workflow(self, workflow: int, *, defined: bool) -> None: ...

    def delete_workflow(self, workflow: int) -> None: ...

    def put_version(self, version: VersionRow) -> int:
        """Stores a version, or finds the one of that id; `version.key` is ignored."""
        ...

    # -- instances
    def insert_instance(self, new: NewInstance, queue_rank: int | None) -> int | None:
        """The key of the new row; None when the id is taken. `queue_rank` None: it is started at once."""
        ...

    def start(self, key: int, at: int, *, keeps_wake: bool = False) -> None:
        """From queued to running."""
        ...

    def add_pass(self, key: int, at: int, cause: PassCause, version: int) -> None:
        """A pass that is not the instance's first has begun."""
        ...

    def set_status(self, key: int, status: Status, at: int, wake_at: int | None) -> None: ...

    def requeue(self, key: int, at: int, queue_rank: int) -> None: ...

    def pause(self, key: int, at: int, *, rested: bool) -> None:
        """`rested`: no run of it was in memory."""
        ...

    def was_rested(self, key: int) -> bool: ...

    def end_while_paused(self, key: int) -> None:
        """run() ended while the instance was paused; it runs again after resume."""
        ...

    def ended_while_paused(self, key: int) -> bool: ...

    def resume(self, key: int, status: Status, at: int, wake_at: int | None) -> None: ...

    def set_wake(self, key: int, wake_at: int | None) -> None: ...

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
    ) -> None: ...

    def set_error(self, key: int, error: str) -> None: ...

    def set_rollback(self, key: int, rollback: str) -> None: ...

    def set_termination(self, key: int, termination: str) -> None:
        """While it rolls back: JSON of what is to be noted at its end. `set_rollback` takes its place."""
        ...

    def reset(self, key: int, at: int, queue_rank: int, version: int, from_seq: int) -> None:
        """For restart: wipes steps from `from_seq` on with all they left, output and error; queued again.

        `from_seq` 0 wipes the whole history and all events.
        """
        ...

    def delete(self, key: int) -> None:
        """Removes the instance and everything it owns."""
        ...

    def status(self, key: int) -> Status | None: ...

    def last_event_id(self, key: int) -> int: ...

    # -- what is due
    def next_wake(self, without: Collection[int] = ()) -> int | None:
        """When the earliest waiting instance is due, but for those `without`."""
        ...

    def due(self, at: int, limit: int, without: Collection[int] = ()) -> list[tuple[int, int, int]]:
        """(key, workflow, wake_at) of waiting instances that are due, earliest first."""
        ...

    def left_in_memory(self) -> list[tuple[int, int, Status]]:
        """(key, workflow, status) of those that a dead process was running."""
        ...

    def next_queued(self, workflow: int, limit: int, without: Collection[int] = ()) -> list[int]: ...

    def count_queued(self) -> dict[int, int]:
        """How many wait in the queue of each Workflow."""
        ...

    def queue_the_forgotten(self, workflow: int) -> None:
        """Queues instances that were created and neither started nor queued when the process died."""
        ...

    def pending_waits(self, key: int) -> list[tuple[int, str]]:
        """(seq, config) of the event waits that nothing has ended yet."""
        ...

    def expired(self, at: int, limit: int) -> list[tuple[int, int]]:
        """(key, workflow) of instances whose retention is over."""
        ...

    def next_expiry(self) -> int | None: ...

    def instance_keys(self, workflow: int) -> list[int]: ...

    # -- steps
    def insert_step(
        self, key: int, step: StepRow, site: Site | None = None, given: tuple[str, ...] | None = None
    ) -> None:
        """`site`, and which parts of the config were `given`, cost no byte of the step: they lie beside its config,
        once for all steps called there.
        """
        ...

    def start_attempt(self, key: int, seq: int, attempt: int) -> None:
        """Raises `Conflict` unless it is the next attempt of a step that is retried or was cut off."""
        ...

    def retry_step(self, key: int, seq: int, due_at: int) -> None:
        """Raises `Conflict` unless an attempt is in flight."""
        ...

    def complete_step(self, key: int, step: StepRow) -> None:
        """Stores `ended_at`, `output` and `stream` of the record; unreadable when it is sensitive.

        Raises `Conflict` unless an attempt is in flight, or the sleep or wait is pending.
        """
        ...

    def fail_step(self, key: int, seq: int, at: int, error: str) -> None:
        """Raises `Conflict` like `complete_step`."""
        ...

    def move_step(self, key: int, seq: int, due_at: int) -> None: ...

    def register_rollback(self, key: int, seq: int) -> None: ...

    def move_deadlines(self, key: int, by_ms: int) -> int | None:
        """Moves every pending deadline of the instance; gives the earliest one then."""
        ...

    def min_deadline(self, key: int) -> int | None: ...

    def stored_bytes(self, key: int) -> int: ...

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
        """Entries of one moment with consecutive ids from `event_id` on."""
        ...

    def add_event(self, key: int, event_type: str, payload: str, at: int) -> None: ...

    def claim_event(self, key: int, event_type: str, seq: int) -> BufferedEvent | None:
        """Gives the oldest event of the type that no wait has, to the wait `seq`."""
        ...

    def add_chunk(self, key: int, seq: int, n: int, data: bytes, *, sensitive: bool = False) -> None:
        """Pieces of a sensitive step are stored unreadable."""
        ...

    def delete_stream(self, key: int, seq: int) -> None: ...

    def add_logs(self, key: int, rows: Iterable[LogRow]) -> None: ...


__all__: Sequence[str] = ["Store"]
