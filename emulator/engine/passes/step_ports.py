"""What a pass asks of its steps, beside what user code asks of them."""

from __future__ import annotations

from typing import Protocol

from stepwell.emulator.engine.introspection import RecordedSteps
from stepwell.emulator.engine.passes.rollback import Rollbacks
from stepwell.emulator.engine.passes.waits import Wait


class PassSteps(RecordedSteps, Protocol):
    """The steps of a pass."""

    rollbacks: Rollbacks

    def warn_of_renamed(self) -> None:
        """Warns if the code, as far as it has come, called new steps in place of recorded ones."""
        ...

    def warn_of_abandoned(self) -> None:
        """At the end of run(): the same, and a warning for each step that is left unfinished."""
        ...

    def claim(self, wait: Wait) -> bool:
        """Gives a waiting step the oldest event of its type; False without one."""
        ...

    def expects_no_more(self) -> bool:
        """Called when the code has come as far as it can; whether events were held back until now."""
        ...


class FollowedSteps(PassSteps, Protocol):
    """The steps of a pass that is followed on its records."""

    @property
    def arrivals(self) -> int:
        """How often a step was called so far."""
        ...

    @property
    def staying(self) -> int:
        """How many of these calls are in a step without a result, which they never leave."""
        ...
