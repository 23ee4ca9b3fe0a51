"""How a status looks: a word, a shape and a tone; the shape and the word carry the meaning, not the colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stepwell.emulator.storage.records import Status, StepState


@dataclass(frozen=True, slots=True)
class Look:
    """`icon` is a symbol of templates/_icons.html; `tone` a class of static/css."""

    word: str
    icon: str
    tone: str
    sentence: str


STATUS_LOOKS: Final[dict[Status, Look]] = {
    Status.RUNNING: Look("Running", "play", "run", "its code is executing"),
    Status.WAITING: Look("Waiting", "clock", "wait", "it sleeps, waits for an event or for the next attempt"),
    Status.QUEUED: Look("Queued", "queue", "calm", "it waits for a free slot"),
    Status.PAUSED: Look("Paused", "pause", "hold", "it goes on when it is resumed"),
    Status.WAITING_FOR_PAUSE: Look("Pausing", "pausing", "hold", "it pauses when its current step ends"),
    Status.ROLLING_BACK: Look("Rolling back", "undo", "undo", "its rollback handlers are running"),
    Status.COMPLETE: Look("Complete", "check", "good", "run() returned"),
    Status.ERRORED: Look("Errored", "cross", "bad", "run() raised an error"),
    Status.TERMINATED: Look("Terminated", "stop", "calm", "it was ended from outside"),
}

STEP_LOOKS: Final[dict[StepState, Look]] = {
    StepState.IN_FLIGHT: Look("Running", "play", "run", "an attempt is executing"),
    StepState.RETRYING: Look("Retrying", "retry", "hold", "the next attempt is due later"),
    StepState.PENDING: Look("Waiting", "clock", "wait", "until its time or its event comes"),
    StepState.COMPLETED: Look("Done", "check", "good", "its result is stored"),
    StepState.FAILED: Look("Failed", "cross", "bad", "its error is stored"),
}

#: Of a step or an attempt that was open when its instance ended.
GIVEN_UP: Final = Look("Given up", "stop", "calm", "the instance ended without it")

#: The order of tiles and filters: what needs attention last, as one reads.
ORDER: Final = tuple(STATUS_LOOKS)
