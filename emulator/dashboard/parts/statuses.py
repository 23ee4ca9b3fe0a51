"""The look of a status: a word, an icon and a tone. Word and icon carry the meaning, not the colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepwell.emulator.storage.records import Status, StepState


@dataclass(frozen=True, slots=True)
class Look:
    """`icon` is a glyph of templates/_icons.html; `tone` a class of static/css."""

    word: str
    icon: str
    tone: str
    sentence: str


STATUS_LOOKS: Final[dict[Status, Look]] = {
    Status.RUNNING: Look("Running", "run", "run", "code is running"),
    Status.WAITING: Look("Waiting", "wait", "wait", "sleeping, or waiting for an event or the next attempt"),
    Status.QUEUED: Look("Queued", "queue", "calm", "waiting for a free concurrency slot"),
    Status.PAUSED: Look("Paused", "pause", "hold", "continues when resumed"),
    Status.WAITING_FOR_PAUSE: Look("Pausing", "pausing", "hold", "pauses when the current step ends"),
    Status.ROLLING_BACK: Look("Rolling back", "undo", "undo", "rollback handlers are running"),
    Status.COMPLETE: Look("Complete", "good", "good", "run() returned"),
    Status.ERRORED: Look("Errored", "bad", "bad", "run() raised an error"),
    Status.TERMINATED: Look("Terminated", "stop", "calm", "ended by a command"),
}

STEP_LOOKS: Final[dict[StepState, Look]] = {
    StepState.IN_FLIGHT: Look("Running", "run", "run", "an attempt is running"),
    StepState.RETRYING: Look("Retrying", "retry", "hold", "the next attempt is due later"),
    StepState.PENDING: Look("Waiting", "wait", "wait", "sleeping, or waiting for an event"),
    StepState.COMPLETED: Look("Done", "good", "good", "the result is stored"),
    StepState.FAILED: Look("Failed", "bad", "bad", "the error is stored"),
}

#: A step or an attempt that was open when its instance ended.
ABANDONED: Final = Look("Abandoned", "stop", "calm", "the instance ended first")

#: Order of tiles and filters: statuses that need attention come last.
ORDER: Final = tuple(STATUS_LOOKS)
