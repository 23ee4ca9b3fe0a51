"""The history of an instance as a replay follows it: its steps, and what of them is not known.

A replay needs neither a database nor an instance. The records may come from the store, from a file, or from
Cloudflare's API, which leaves things out; what is missing is unknown here, and never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.ports import RunEvent
from stepwell.bindings.values import Encoded
from stepwell.emulator.storage.records import FINITE, Status, StepKind, StepRow, StepState

Identity = tuple[StepKind, str, int]

ENDED = (StepState.COMPLETED, StepState.FAILED)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An instance to replay. `event` is what run() receives.

    `unknown` has a reason for each step, by seq, whose result is not known. `knows_parents` is False when the
    history does not say which steps were called inside the callback of another one. `output` and `error` are
    those of run(); `output` is None when it is not known.
    """

    event: RunEvent
    status: Status
    steps: Sequence[StepRow]
    output: Encoded | None = None
    error: ErrorInfo | None = None
    unknown: Mapping[int, str] = field(default_factory=dict)
    knows_parents: bool = True

    @property
    def has_ended(self) -> bool:
        return self.status in FINITE


class Records:
    """The steps of a history that run() calls itself, and which of them a replay has called so far."""

    def __init__(self, recorded: Recorded) -> None:
        self._by_identity: dict[Identity, StepRow] = {
            (row.kind, row.name, row.count): row for row in recorded.steps
        }
        self._inside: dict[int, list[StepRow]] = {}
        for row in recorded.steps:
            if row.parent is not None:
                self._inside.setdefault(row.parent, []).append(row)
        self._left = {row.seq: row for row in recorded.steps if row.parent is None}
        self._knows_parents = recorded.knows_parents
        self._called: list[StepRow] = []

    def __contains__(self, identity: Identity) -> bool:
        return identity in self._by_identity

    def call(self, identity: Identity) -> StepRow | None:
        """The record that a call means; None for a step that the history does not have."""
        row = self._by_identity.get(identity)
        if row is not None and self._left.pop(row.seq, None) is not None:
            self._called.append(row)
        return row

    def inside(self, row: StepRow) -> list[StepRow]:
        """The steps that were called inside the callback of a step, and inside of those."""
        own = self._inside.get(row.seq, [])
        return [inner for child in own for inner in (child, *self.inside(child))]

    def overtaken_by(self, row: StepRow) -> StepRow | None:
        """A step that had ended before this one began, and that the replay has not called yet."""
        for left in self._left.values():
            if left.seq >= row.seq:
                return None
            if left.ended_at is not None and left.ended_at <= row.started_at and not self._may_be_inside(left):
                return left
        return None

    def first_left(self) -> StepRow | None:
        """The first recorded step that the replay has not called."""
        return next((row for row in self._left.values() if not self._may_be_inside(row)), None)

    def _may_be_inside(self, row: StepRow) -> bool:
        """Whether a history without parents leaves open that another step's callback called this one."""
        if self._knows_parents:
            return False
        return any(_encloses(outer, row) for outer in self._called)


def _encloses(outer: StepRow, inner: StepRow) -> bool:
    if outer.kind is not StepKind.DO or outer.started_at > inner.started_at or outer.seq >= inner.seq:
        return False
    ends_after = outer.ended_at is None or (inner.ended_at is not None and inner.ended_at <= outer.ended_at)
    return ends_after and (outer.ended_at is None or inner.started_at < outer.ended_at or outer.attempts > 1)
