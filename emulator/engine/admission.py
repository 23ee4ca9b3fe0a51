"""Concurrency slots, and the queue of instances that wait for one.

Slots are held by instances that run, wait for a pause or roll back; sleeping, waiting and paused ones hold none.
The queue is in the database: resumed and woken instances come first, then new ones, each in order of creation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.limits import Limits

#: Ranks in the queue.
AGAIN: Final = -1
NEW: Final = 0


class Slots:
    """How many instances of each Workflow are busy."""

    def __init__(self) -> None:
        self._busy: Counter[int] = Counter()
        self.total = 0
        self._freed: Callable[[int], None] | None = None

    def on_freed(self, callback: Callable[[int], None]) -> None:
        """Set the callback that receives the key of a Workflow when one of its slots becomes free."""
        self._freed = callback

    def change(self, workflow: int, by: int) -> None:
        self._busy[workflow] += by
        self.total += by
        if by < 0:
            self.announce(workflow)

    def announce(self, workflow: int) -> None:
        """An instance of the Workflow (0: of any) may start now: a slot is free, or its host has room."""
        if self._freed is not None:
            self._freed(workflow)

    def busy(self, workflow: int) -> int:
        return self._busy[workflow]


class Admission:
    """Decides whether an instance starts or queues, and counts queued instances. The engine carries it out."""

    def __init__(self, slots: Slots, limits: Limits, queued: dict[int, int]) -> None:
        self._slots = slots
        self._limits = limits
        self._queued: Counter[int] = Counter(queued)

    def may_run(self, workflow: WorkflowState) -> bool:
        """True if a slot is free for an instance of this Workflow, regardless of the queue."""
        total = self._limits.concurrency
        if total is not None and self._slots.total >= total:
            return False
        own = workflow.definition.concurrency_limit
        return own is None or self._slots.busy(workflow.key) < own

    def may_overtake(self, workflow: WorkflowState) -> bool:
        """True if a new instance may start immediately: a slot is free, and no instance is queued for it."""
        return self._queued[workflow.key] == 0 and self.may_run(workflow)

    def queued(self, workflow: int) -> int:
        return self._queued[workflow]

    @property
    def queued_in_all(self) -> int:
        return self._queued.total()

    def recount(self, queued: dict[int, int]) -> None:
        """Load the counts from storage."""
        self._queued = Counter(queued)

    def joined(self, workflow: int) -> None:
        self._queued[workflow] += 1

    def left(self, workflow: int) -> None:
        self._queued[workflow] -= 1
