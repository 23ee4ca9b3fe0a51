"""The statuses of an instance and the commands allowed in each: the only table of allowed transitions.

The binding, the REST API and the buttons of the dashboard all go by `TABLE`. A command that is not in the row
of a status is refused and changes nothing. Sources: the contract suite (areas pause, terminate, restart,
delete), executed on workerd.

    queued ──────► running ◄────────────► waiting
      ▲ ▲            │  ▲                    │
      │ └─ resume ─┐ │  └── resume ──┐       │
      │            │ ▼               │       ▼
      │          paused ◄── waitingForPause  │
      │                                      │
      └─ restart (from anywhere)   complete, errored, terminated ◄── rollingBack
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from stepwell.bindings.errors import WorkflowError
from stepwell.emulator.storage.records import FINITE, Status


class Command(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    TERMINATE = "terminate"
    RESTART = "restart"
    DELETE = "delete"
    SEND_EVENT = "sendEvent"
    SKIP_SLEEP = "skipSleep"
    TIME_OUT = "timeOut"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command is rejected: Cloudflare's code and text, with a placeholder `{status}`."""

    code: str
    text: str

    def error(self, status: Status) -> WorkflowError:
        return WorkflowError(f"({self.code}) {self.text.format(status=status)}", code=self.code)


class Verdict(StrEnum):
    """The effect of an accepted command: it is carried out, or it succeeds without an effect."""

    DO = "do"
    NOTHING = "nothing"


_CANNOT_RESUME: Final = Refusal("instance.cannot_resume", 'Cannot resume instance with status "{status}"')
_CANNOT_TERMINATE: Final = Refusal(
    "instance.cannot_terminate", "Cannot terminate instance since its on a finite state"
)
_NOT_SLEEPING: Final = Refusal("instance.not_sleeping", 'There is no sleep to skip in status "{status}"')
_NOT_WAITING: Final = Refusal("instance.not_waiting", 'There is no wait to time out in status "{status}"')

_ALWAYS: Final[Mapping[Command, Verdict | Refusal]] = {
    Command.RESTART: Verdict.DO,
    Command.DELETE: Verdict.DO,
    Command.SEND_EVENT: Verdict.DO,
}
_ACTIVE: Final[Mapping[Command, Verdict | Refusal]] = {
    **_ALWAYS,
    Command.PAUSE: Verdict.DO,
    Command.RESUME: _CANNOT_RESUME,
    Command.TERMINATE: Verdict.DO,
    Command.SKIP_SLEEP: Verdict.DO,
    Command.TIME_OUT: Verdict.DO,
}
_RESTLESS: Final[Mapping[Command, Verdict | Refusal]] = {
    Command.SKIP_SLEEP: _NOT_SLEEPING,
    Command.TIME_OUT: _NOT_WAITING,
}
_FINISHED: Final[Mapping[Command, Verdict | Refusal]] = {
    **_ALWAYS,
    Command.PAUSE: Verdict.NOTHING,
    Command.RESUME: _CANNOT_RESUME,
    Command.TERMINATE: _CANNOT_TERMINATE,
    # Both of Cloudflare's engines accept the event silently and store it, although no step can receive it.
    Command.SEND_EVENT: Verdict.DO,
    **_RESTLESS,
}

TABLE: Final[Mapping[Status, Mapping[Command, Verdict | Refusal]]] = {
    Status.QUEUED: {**_ACTIVE, **_RESTLESS},
    Status.RUNNING: _ACTIVE,
    Status.WAITING: _ACTIVE,
    Status.WAITING_FOR_PAUSE: {**_ACTIVE, Command.PAUSE: Verdict.NOTHING, Command.RESUME: Verdict.DO},
    Status.PAUSED: {
        **_ACTIVE,
        Command.PAUSE: Verdict.NOTHING,
        Command.RESUME: Verdict.DO,
    },
    # Pausing has no effect on rollbacks (case rollback-pause-while).
    Status.ROLLING_BACK: {**_ACTIVE, **_RESTLESS, Command.PAUSE: Verdict.NOTHING},
    Status.COMPLETE: _FINISHED,
    Status.ERRORED: _FINISHED,
    Status.TERMINATED: _FINISHED,
}

#: The statuses that may follow each status; None means that the instance does not exist. Checked at every change.
TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = {
    Status.QUEUED: frozenset({Status.RUNNING, Status.PAUSED, Status.ROLLING_BACK}) | FINITE,
    Status.RUNNING: frozenset(
        {Status.WAITING, Status.WAITING_FOR_PAUSE, Status.PAUSED, Status.ROLLING_BACK, Status.QUEUED}
    )
    | FINITE,
    Status.WAITING: frozenset({Status.RUNNING, Status.PAUSED, Status.QUEUED, Status.ROLLING_BACK}) | FINITE,
    Status.WAITING_FOR_PAUSE: frozenset({Status.PAUSED, Status.RUNNING, Status.QUEUED, Status.ROLLING_BACK})
    | FINITE,
    Status.PAUSED: frozenset({Status.RUNNING, Status.WAITING, Status.QUEUED, Status.ROLLING_BACK})
    | {Status.TERMINATED},
    Status.ROLLING_BACK: frozenset({Status.ERRORED, Status.TERMINATED, Status.QUEUED}),
    Status.COMPLETE: frozenset({Status.QUEUED}),
    Status.ERRORED: frozenset({Status.QUEUED}),
    Status.TERMINATED: frozenset({Status.QUEUED}),
}

#: Instances in these statuses hold a concurrency slot.
BUSY: Final = frozenset({Status.RUNNING, Status.WAITING_FOR_PAUSE, Status.ROLLING_BACK})


class IllegalTransition(AssertionError):
    """A bug in the engine: an illegal change of the status."""


def check(status: Status, command: Command) -> Verdict:
    """The effect of `command` on an instance in `status`. Raises Cloudflare's `WorkflowError` if it is rejected."""
    verdict = TABLE[status][command]
    if isinstance(verdict, Refusal):
        raise verdict.error(status)
    return verdict


def allowed(status: Status) -> dict[Command, str | None]:
    """For each command, the reason why it would be rejected now, or None if it is allowed (for buttons)."""
    answers: dict[Command, str | None] = {}
    for command, verdict in TABLE[status].items():
        if isinstance(verdict, Refusal):
            answers[command] = verdict.text.format(status=status)
        else:
            answers[command] = None if verdict is Verdict.DO else f'It has no effect in status "{status}"'
    return answers


def check_transition(before: Status, after: Status) -> None:
    """Raise `IllegalTransition` unless `after` may follow `before`."""
    if after is not before and after not in TRANSITIONS[before]:
        raise IllegalTransition(f"{before} -> {after}")
