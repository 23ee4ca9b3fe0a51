"""Which step the running code belongs to: set by the engine, read by `print` and by nested steps; and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

#: The instance whose code runs in another process and has called: (Workflow, instance id).
_remote_caller: ContextVar[tuple[str, str] | None] = ContextVar("remote_caller", default=None)


@contextmanager
def called_by(caller: tuple[str, str] | None) -> Iterator[None]:
    """Attribute what happens inside to the instance `caller`, whose code runs in another process."""
    token = _remote_caller.set(caller)
    try:
        yield
    finally:
        _remote_caller.reset(token)


def calling_instance() -> tuple[str, str] | None:
    """The Workflow and the id of the instance whose code runs now, or None outside of instances."""
    frame = current_step.get()
    return (frame.workflow_name, frame.instance_id) if frame is not None else _remote_caller.get()


#: Called at the start of each attempt, in its context.
at_attempt_start: ContextVar[Callable[[StepFrame], None] | None] = ContextVar("at_attempt_start", default=None)

#: Called at the end of each attempt, in its context. None if unused.
at_attempt_end: ContextVar[Callable[[StepFrame], None] | None] = ContextVar("at_attempt_end", default=None)
