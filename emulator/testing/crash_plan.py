"""A crash at a named point of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stepwell.emulator.engine.introspection import Point, Reached


def describe(reached: Reached) -> str:
    """A point for people: `after result of step "charge-1", attempt 1`."""
    if reached.step is None:
        return str(reached.point)
    attempt = f", attempt {reached.attempt}" if reached.attempt else ""
    return f'{reached.point} of "{reached.step}"{attempt}'


@dataclass
class CrashPlan:
    """Crashes once, when the point is reached."""

    crash: Callable[[str], None]
    point: Point
    step: str | None
    attempt: int | None
    done: bool = False

    def reached(self, reached: Reached) -> None:
        if not self.done and self._fits(reached):
            self.done = True
            self.crash(describe(reached))

    def _fits(self, reached: Reached) -> bool:
        name, _, count = (reached.step or "").rpartition("-")
        right_step = self.step is None or self.step == reached.step or (self.step == name and count == "1")
        return reached.point is self.point and right_step and self.attempt in (None, reached.attempt)

    def __str__(self) -> str:
        return f"The crash {describe(Reached(self.point, '', '', self.step, self.attempt))}"
