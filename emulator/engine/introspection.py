"""What tests may change about an instance, and the points of a run at which they may crash the engine.

Changes are of sleeps, delays, results, errors, timeouts and events, by the rules of Cloudflare's own test toolkit.
The engine asks; `stepwell.testing` fills in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.ports import StepPort
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.storage.records import StepKind


class MockedEvent(NamedTuple):
    """An event that a test hands to a wait; `at` is its timestamp in ms, None for the time of the wait."""

    payload: Encoded
    at: int | None = None


class Modifications(Protocol):
    """The changes for one instance."""

    def skips_sleep(self, kind: StepKind, name: str, count: int) -> bool:
        """Whether a sleep is over at once."""
        ...

    def skips_retry_delay(self, name: str, count: int) -> bool: ...

    def outcome(self, name: str, count: int, attempt: int) -> MockedOutcome | None:
        """What an attempt gives instead of calling the callback."""
        ...

    def event(self, event_type: str, name: str, count: int) -> MockedEvent | None:
        """The mocked event for this wait: the same one as often as it is asked."""
        ...

    def ignores_events(self, event_type: str) -> bool:
        """Whether events of this type are mocked, so that real ones do not count."""
        ...

    def times_out_waiting(self, name: str, count: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class MockedOutcome:
    """Exactly one of the three."""

    result: Encoded | None = None
    error: ErrorInfo | None = None
    times_out: bool = False


class Point(StrEnum):
    """Points of a run where a process may die, and where what is stored differs from what has happened."""

    BEFORE_START = "before start"
    BEFORE_ATTEMPT = "before attempt"
    BEFORE_RESULT = "before result"
    BEFORE_COMMIT = "before commit"
    AFTER_RESULT = "after result"
    AFTER_FAILURE = "after failure"
    BETWEEN_ATTEMPTS = "between attempts"
    SLEEPING = "sleeping"
    WAITING_FOR_EVENT = "waiting for event"
    BEFORE_END = "before end"


@dataclass(frozen=True, slots=True)
class Reached:
    """A point that an instance has come to; `step` is the public name ("charge-1") of the step it is about."""

    point: Point
    workflow_name: str
    instance_id: str
    step: str | None = None
    attempt: int | None = None


class Followed(Protocol):
    """An instance, for those who only look at it."""

    @property
    def key(self) -> int: ...

    @property
    def id(self) -> str: ...

    @property
    def workflow(self) -> WorkflowState: ...


class RecordedSteps(StepPort, Protocol):
    """The steps of one pass, and whether they are stored."""

    def has_record(self, identity: tuple[StepKind, str, int]) -> bool:
        """Of a type, name and count."""
        ...


class PassWatch(Protocol):
    """Follows every pass of every instance."""

    def begins(self, instance: Followed, steps: RecordedSteps) -> StepPort:
        """A pass begins: gives what its code is to call."""
        ...

    def rests(self, instance: Followed) -> None:
        """The pass waits."""
        ...

    def ends(self, instance: Followed) -> None:
        """run() has returned or raised."""
        ...


@dataclass(slots=True)
class Introspection:
    """Looks up the modifications of an instance; nothing is modified unless a test asked for it."""

    modifications: Callable[[str, str], Modifications | None] | None = None
    #: Called at each point; it may crash the engine, and the run ends there.
    at_point: Callable[[Reached], None] | None = field(default=None)
    #: Whether a pass stays in memory through a long wait, where it would be dropped otherwise.
    keeps: Callable[[str, str], bool] | None = None
    #: Compares the passes of each instance, where somebody wants to know.
    replays: PassWatch | None = None

    def of(self, workflow_name: str, instance_id: str) -> Modifications | None:
        return None if self.modifications is None else self.modifications(workflow_name, instance_id)
