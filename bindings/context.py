"""Which step the running code belongs to: set by the engine, read by `print` and by nested steps; and its end."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple


class StepFrame(NamedTuple):
    """Where user code is. `step` and `attempt` are None in run() itself; `seq` is storage's number of the step."""

    workflow_name: str
    instance_id: str
    instance_key: int
    step: str | None = None
    seq: int | None = None
    attempt: int | None = None


#: None outside of any instance (a fetch handler, an import).
current_step: ContextVar[StepFrame | None] = ContextVar("current_step", default=None)

#: Told of the end of each attempt in the context that it was made in; None where nobody wants to know.
at_attempt_end: ContextVar[Callable[[StepFrame], None] | None] = ContextVar("at_attempt_end", default=None)
