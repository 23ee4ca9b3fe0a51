"""What the dashboard reads besides the rows themselves: small, light, made for lists."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from stepwell.emulator.storage.records import Status, StepKind, StepState


class Order(StrEnum):
    """In which order a list shows instances. Each has a key, so that pages need no OFFSET."""

    NEWEST = "newest"
    OLDEST = "oldest"
    LONGEST = "longest"
    NEXT_WAKE = "wake"


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place of a row in an order: the value that it sorts by (0 where the key alone decides) and its key."""

    value: int
    key: int


@dataclass(frozen=True, slots=True)
class ListPage:
    """Where to read. `now` stands for the end of what has not ended; `backward` reads the rows before `after`."""

    limit: int
    order: Order = Order.NEWEST
    after: Cursor | None = None
    backward: bool = False
    now: int = 0


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Errored instances of one Workflow with one error: its name and the start of its message."""

    workflow: int
    name: str
    message: str
    count: int
    newest_at: int


@dataclass(frozen=True, slots=True)
class WorkflowGroup:
    """Instances of one Workflow in one status."""

    workflow: int
    status: Status
    count: int
    newest_at: int


@dataclass(frozen=True, slots=True)
class StepTally:
    """How many steps of an instance are in a state, and the newest of them."""

    instance: int
    state: StepState
    count: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class StepBrief:
    """A step as a list or a graph needs it; `config` is JSON, `error` the JSON of its ErrorInfo."""

    instance: int
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
    config: str
    error: str | None

    @property
    def public_name(self) -> str:
        return f"{self.name}-{self.count}"


@dataclass(frozen=True, slots=True)
class InstanceBrief:
    """An instance by name, for pickers. `wake_at` is None for one that does not wait for a time."""

    key: int
    workflow: int
    id: str
    status: Status
    created_at: int
    wake_at: int | None


@dataclass(frozen=True, slots=True)
class EventBrief:
    """An event that was sent; the payload is None where it is too long to be shown among others."""

    key: int
    type: str
    payload: str | None
    payload_bytes: int
    received_at: int
    claimed_by: int | None


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of the stored values of an instance; None where there is none."""

    params: int | None
    output: int | None
    error: int | None


class StepOutline(NamedTuple):
    """What a timeline needs of each of very many steps: `ordinal` is its count among those of its kind and name,
    `has_rollback` says whether it registered a rollback handler.
    """

    seq: int
    kind: StepKind
    name: str
    ordinal: int
    parent: int | None
    state: StepState
    attempts: int
    started_at: int
    ended_at: int | None
    due_at: int | None
    has_rollback: bool

    @property
    def public_name(self) -> str:
        return f"{self.name}-{self.ordinal}"

    @property
    def is_open(self) -> bool:
        return self.state not in (StepState.COMPLETED, StepState.FAILED)


class EntryCounts(NamedTuple):
    """How many events, printed lines and history entries an instance has."""

    events: int
    logs: int
    history: int
