"""How fast instances may be made, each Workflow for itself; a restart counts like a creation."""

from __future__ import annotations

from collections import deque

from stepwell.bindings.errors import WorkflowError
from stepwell.emulator.clock import Clock
from stepwell.emulator.engine.definitions import WorkflowState


class CreationRate:
    """Remembers the creations of the last second, while there is a limit on them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._recent: dict[int, deque[int]] = {}

    def check(self, workflow: WorkflowState, count: int = 1) -> None:
        """Raise `WorkflowError` (instance.rate_limited) if creating `count` more would exceed the limit."""
        most = workflow.limits.creation_rate
        if most is None:
            return
        now = self._clock.now()
        recent = self._recent.setdefault(workflow.key, deque())
        while recent and recent[0] <= now - 1_000:
            recent.popleft()
        if len(recent) + count > most:
            raise WorkflowError(
                f"(instance.rate_limited) More than {most} instances of this Workflow were created within a second",
                code="instance.rate_limited",
            )

    def made(self, workflow: WorkflowState, count: int = 1) -> None:
        if workflow.limits.creation_rate is not None:
            self._recent.setdefault(workflow.key, deque()).extend([self._clock.now()] * count)
