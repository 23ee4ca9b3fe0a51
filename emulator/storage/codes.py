"""The numbers under which words are stored. They lie in people's databases: append, never renumber."""

from __future__ import annotations

from typing import Final

from stepwell.emulator.storage.records import (
    STATUS_CODES,
    STATUS_OF_CODE,
    EventType,
    PassCause,
    Status,
    StepKind,
    StepState,
    Trigger,
)

TRIGGER_CODES: Final = {trigger: code for code, trigger in enumerate(Trigger)}
TRIGGER_OF_CODE: Final = tuple(Trigger)
KIND_CODES: Final = {kind: code for code, kind in enumerate(StepKind)}
KIND_OF_CODE: Final = tuple(StepKind)
STATE_CODES: Final = {state: code for code, state in enumerate(StepState)}
STATE_OF_CODE: Final = tuple(StepState)
CAUSE_CODES: Final = {cause: code for code, cause in enumerate(PassCause)}
CAUSE_OF_CODE: Final = tuple(PassCause)

_T = EventType

#: Entries that one moment of one step writes together share a row: it saves half of a trivial step's bytes.
_TOGETHER: Final[tuple[tuple[EventType, ...], ...]] = (
    (_T.STEP_STARTED, _T.ATTEMPT_STARTED),
    (_T.ATTEMPT_COMPLETED, _T.STEP_COMPLETED),
    (_T.ATTEMPT_ERRORED, _T.STEP_ERRORED),
    (_T.WORKFLOW_STARTED, _T.WORKFLOW_RUNNING),
)
_FIRST_TOGETHER: Final = 1000

TYPES_OF_CODE: Final[dict[int, tuple[EventType, ...]]] = {
    **{code: (one,) for code, one in enumerate(EventType)},
    **{_FIRST_TOGETHER + n: together for n, together in enumerate(_TOGETHER)},
}
CODE_OF_TYPES: Final = {types: code for code, types in TYPES_OF_CODE.items()}

__all__ = [
    "CAUSE_CODES",
    "CAUSE_OF_CODE",
    "CODE_OF_TYPES",
    "KIND_CODES",
    "KIND_OF_CODE",
    "STATE_CODES",
    "STATE_OF_CODE",
    "STATUS_CODES",
    "STATUS_OF_CODE",
    "TRIGGER_CODES",
    "TRIGGER_OF_CODE",
    "TYPES_OF_CODE",
    "Status",
]
