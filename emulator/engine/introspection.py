"""What tests may change about an instance before it runs: sleeps, delays, results, errors, timeouts, events.

The rules are those of Cloudflare's own test toolkit. The engine asks; `emulator.testing` fills in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from bindings.errors import ErrorInfo
from bindings.values import Encoded
from emulator.storage.records import StepKind


class Modifications(Protocol):
    """The changes for one instance."""

    def skips_sleep(self, kind: StepKind, name: str, count: int) -> bool:
        """Whether a sleep is over at once."""
        ...

    def skips_retry_delay(self, name: str, count: int) -> bool: ...

    def outcome(self, name: str, count: int, attempt: int) -> MockedOutcome | None:
        """What an attempt gives instead of calling the callback."""
        ...

    def event(self, event_type: str) -> Encoded | None:
        """The payload of a mocked event; real events of the type are then ignored."""
        ...

    def times_out_waiting(self, name: str, count: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class MockedOutcome:
    """Exactly one of the three."""

    result: Encoded | None = None
    error: ErrorInfo | None = None
    times_out: bool = False


@dataclass(slots=True)
class Introspection:
    """Looks up the modifications of an instance; nothing is modified unless a test asked for it."""

    modifications: Callable[[str, str], Modifications | None] | None = None
    #: Called at named points of a run: tests crash the engine there.
    at_point: Callable[[str, str, str], None] | None = field(default=None)

    def of(self, workflow_name: str, instance_id: str) -> Modifications | None:
        return None if self.modifications is None else self.modifications(workflow_name, instance_id)
