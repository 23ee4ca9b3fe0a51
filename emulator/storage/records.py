"""The rows that storage gives and takes: typed, frozen, without SQL.

Times are ms since the epoch. `key` is storage's own number of a row, never shown to users; `seq` is a step's
place in the order of first arrival within its instance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple


class Status(StrEnum):
    """Statuses of an instance, as Cloudflare spells them."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    ERRORED = "errored"
    TERMINATED = "terminated"
    COMPLETE = "complete"
    WAITING_FOR_PAUSE = "waitingForPause"
    WAITING = "waiting"
    ROLLING_BACK = "rollingBack"


#: The numbers that Cloudflare's local explorer uses; ours continue them. Stored, so never to be changed.
STATUS_CODES: Final[Mapping[Status, int]] = {status: code for code, status in enumerate(Status)}
STATUS_OF_CODE: Final[tuple[Status, ...]] = tuple(Status)
FINITE: Final = frozenset({Status.COMPLETE, Status.ERRORED, Status.TERMINATED})
#: Statuses that terminate-all accepts as a filter.
TERMINABLE: Final = tuple(status for status in Status if status not in FINITE and status is not Status.ROLLING_BACK)


class Trigger(StrEnum):
    """What created an instance. The order is stored: append, never insert."""

    UNKNOWN = "unknown"
    API = "api"
    BINDING = "binding"
    EVENT = "event"
    CRON = "cron"
    #: Through a binding, by code of another instance. Stepwell only.
    WORKFLOW = "workflow"

    @property
    def public(self) -> Trigger:
        """The word that Cloudflare's APIs have for it."""
        return Trigger.BINDING if self is Trigger.WORKFLOW else self


class InstanceRef(NamedTuple):
    """An instance by the name of its Workflow and its id."""

    workflow: str
    id: str

    @classmethod
    def from_json(cls, text: str | None) -> InstanceRef | None:
        return None if text is None else cls(*json.loads(text))

    def to_json(self) -> str:
        return json.dumps(self, ensure_ascii=False, separators=(",", ":"))


class StepKind(StrEnum):
    """Types of steps; each type counts its names apart."""

    DO = "do"
    SLEEP = "sleep"
    WAIT_FOR_EVENT = "waitForEvent"


class StepState(StrEnum):
    """Where a step stands.

    `in_flight`: an attempt has been started and has not ended. `retrying`: the next one is due at `due_at`.
    `pending`: a sleep or an event wait, until `due_at`.
    """

    IN_FLIGHT = "in_flight"
    RETRYING = "retrying"
    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"


class EventType(StrEnum):
    """Types of history entries, as `subscribe()` names them. The order is stored: append, never insert."""

    WORKFLOW_QUEUED = "workflow_queued"
    WORKFLOW_STARTED = "workflow_started"
    WORKFLOW_RUNNING = "workflow_running"
    WORKFLOW_WAITING = "workflow_waiting"
    WORKFLOW_PAUSED = "workflow_paused"
    WORKFLOW_WAITING_FOR_PAUSE = "workflow_waiting_for_pause"
    WORKFLOW_COMPLETED = "workflow_completed"
    WORKFLOW_ERRORED = "workflow_errored"
    WORKFLOW_TERMINATED = "workflow_terminated"
    STEP_STARTED = "step_started"
    STEP_COMPLETED = "step_completed"
    STEP_ERRORED = "step_errored"
    ATTEMPT_STARTED = "attempt_started"
    ATTEMPT_COMPLETED = "attempt_completed"
    ATTEMPT_ERRORED = "attempt_errored"
    SLEEP_STARTED = "sleep_started"
    SLEEP_COMPLETED = "sleep_completed"
    WAIT_STARTED = "wait_started"
    WAIT_COMPLETED = "wait_completed"
    WAIT_TIMED_OUT = "wait_timed_out"
    ROLLBACK_STARTED = "rollback_started"
    ROLLBACK_COMPLETED = "rollback_completed"
    ROLLBACK_ERRORED = "rollback_errored"
    ROLLBACK_STEP_STARTED = "rollback_step_started"
    ROLLBACK_STEP_COMPLETED = "rollback_step_completed"
    ROLLBACK_STEP_ERRORED = "rollback_step_errored"
    ROLLBACK_ATTEMPT_STARTED = "rollback_attempt_started"
    ROLLBACK_ATTEMPT_COMPLETED = "rollback_attempt_completed"
    ROLLBACK_ATTEMPT_ERRORED = "rollback_attempt_errored"


#: After one of these a subscription ends.
LAST_EVENTS: Final = frozenset(
    {EventType.WORKFLOW_COMPLETED, EventType.WORKFLOW_ERRORED, EventType.WORKFLOW_TERMINATED}
)


class PassCause(StrEnum):
    """Why a pass of run() began that was not the first. The order is stored: append, never insert."""

    WAKE = "wake"
    EVENT = "event"
    RESUME = "resume"
    QUEUE = "queue"
    RESTART = "restart"
    PROCESS = "process"
    RELOAD = "reload"
    CRASH = "crash"
    ROLLBACK = "rollback"


class WorkflowRow(NamedTuple):
    key: int
    id: str
    name: str
    class_name: str
    script_name: str
    created_at: int
    modified_at: int
    triggered_at: int | None
    #: Whether the running emulator has code for it.
    defined: bool


class ClockMove(NamedTuple):
    """The engine's clock went from `start` to `end` while `real_ms` passed on the machine's."""

    start: int
    end: int
    real_ms: int


class VersionRow(NamedTuple):
    """One load of changed code. `source` is the text of the main module, for the graph; `settings` is JSON."""

    key: int
    id: str
    workflow: int
    class_name: str
    language: str
    created_at: int
    settings: str
    source: str | None = None


class NewInstance(NamedTuple):
    """What `create` writes. `params` and `schedule` are encoded; None where nothing was given.

    `created_by` and `copied_from` are JSON of `InstanceRef`.
    """

    workflow: int
    id: str
    created_at: int
    version: int
    trigger: Trigger
    params: str | None = None
    schedule: str | None = None
    success_retention_ms: int | None = None
    error_retention_ms: int | None = None
    created_by: str | None = None
    copied_from: str | None = None


class InstanceRow(NamedTuple):
    """An instance without its values; `step_count` counts steps that have started, of all types.

    `created_by` and `copied_from` are JSON of `InstanceRef`: the instance whose code created it, and the one whose
    results it began with. `restarted_from` is the seq of the first step that its last restart ran again.
    """

    key: int
    workflow: int
    id: str
    status: Status
    created_at: int
    modified_at: int
    started_at: int | None
    ended_at: int | None
    paused_at: int | None
    wake_at: int | None
    expires_at: int | None
    version: int
    trigger: Trigger
    schedule: str | None
    success_retention_ms: int | None
    error_retention_ms: int | None
    step_count: int
    created_by: str | None = None
    copied_from: str | None = None
    restarted_from: int | None = None
    restarted_at: int | None = None
    #: A row of a list with a value that cannot be: its status and trigger are stand-ins.
    damaged: bool = False

    def kept(self, step: StepRow) -> bool:
        """Whether a step has its result from before the last restart from a step."""
        if self.restarted_from is None or self.restarted_at is None or step.ended_at is None:
            return False
        return step.seq < self.restarted_from and step.ended_at <= self.restarted_at


class StoredInstance(NamedTuple):
    """What the engine keeps of an instance while something is done with it. The retentions are its own."""

    workflow: int
    id: str
    status: Status
    is_started: bool
    success_retention_ms: int | None
    error_retention_ms: int | None
    last_event_id: int


class RunInput(NamedTuple):
    """What a pass of run() is called with; `params` and `schedule` are JSON."""

    created_at: int
    params: str | None
    schedule: str | None


class InstanceValues(NamedTuple):
    """The values of an instance. `error` and `rollback` are JSON: ErrorInfo, and {outcome, error}.

    `termination` is there only while it rolls back: what the engine wants to know at its end.
    """

    params: str | None
    output: str | None
    error: str | None
    rollback: str | None
    reason: str | None
    termination: str | None = None


@dataclass(slots=True)
class StepRow:
    """A step's record; the engine's own copy is changed together with the stored one.

    `config` is JSON: of a do the full config, of a sleep {"durationMs"}, of a wait {"type", "timeoutMs"}.
    `output` is Encoded text, None where there is none; of a sensitive step it is stored unreadable. `stream` is
    the kind of a stream output ("text" or "binary") and then `output` is None. `error` is JSON of ErrorInfo.
    `step_cost` is the order of its rollback: 0 for none registered.
    """

    seq: int
    kind: StepKind
    name: str
    count: int
    parent: int | None
    state: StepState
    attempts: int
    started_at: int
    ended_at: int | None
    due_at: int | None
    has_rollback: bool
    sensitive: bool
    config: str
    error: str | None
    output: str | None
    stream: str | None = None

    @property
    def public_name(self) -> str:
        """`name-count`, never ambiguous to the right of the last dash."""
        return f"{self.name}-{self.count}"


class CallSite(NamedTuple):
    """Where user code calls a step; `needs` are the names of the steps whose results it is given."""

    file: str
    line: int
    needs: tuple[str, ...] = ()


class HistoryRow(NamedTuple):
    """One entry of an instance's history. `detail` is JSON of what only this entry knows."""

    event_id: int
    type: EventType
    at: int
    step: int | None
    attempt: int | None
    detail: str | None


class PassRow(NamedTuple):
    """A pass that began at the top again; the first one of an instance has no row. `version` is a key."""

    number: int
    at: int
    cause: PassCause
    version: int


class BufferedEvent(NamedTuple):
    """An event that was sent; `claimed_by` is the seq of the wait that took it."""

    key: int
    type: str
    payload: str
    received_at: int
    claimed_by: int | None


class LogRow(NamedTuple):
    """A line that user code printed; `step` is None for code outside of steps."""

    key: int
    at: int
    step: int | None
    attempt: int | None
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Which instances a list shows; every part narrows it further. None and empty mean any.

    Of statuses and triggers one must hold, of all other parts each. `created_by` are names of Workflows or
    "name/instance id": one of their instances created it. `params` are paths into the params ("userId",
    "user.name") with the texts of the values there. `ran_from_ms` and `ran_to_ms` bound how long an instance has
    run, until `now` when it has not ended.
    """

    workflow: int | None = None
    statuses: tuple[Status, ...] = ()
    created_from: int | None = None
    created_to: int | None = None
    id_texts: tuple[str, ...] = ()
    value_texts: tuple[str, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    created_by: tuple[str, ...] = ()
    step_texts: tuple[str, ...] = ()
    error_texts: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()
    attempts_from: int | None = None
    waiting_for: tuple[str, ...] = ()
    ran_from_ms: int | None = None
    ran_to_ms: int | None = None
    now: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Where to read: `after` is the key of the last row seen; newest first unless `ascending`."""

    limit: int
    after: int | None = None
    offset: int = 0
    ascending: bool = False
