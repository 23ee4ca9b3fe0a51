"""The activity of an instance in one sentence: "Sleeping until 21:10", "Running charge card, attempt 2 of 3"."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from stepwell.emulator.dashboard.parts.errors import unfolded
from stepwell.emulator.storage.records import InstanceRow, Status, StepKind, StepState
from stepwell.emulator.storage.view_records import StepBrief

#: Characters of two messages that are compared.
_COMPARED: Final = 250

Ticking: TypeAlias = Literal["until", "clock"]


@dataclass(frozen=True, slots=True)
class Where:
    """A sentence: `lead`, a step or an event type, `tail`, a ticking time, `more`; then an error or a value.

    Parts may be empty. `number` tells steps of one name apart; it is 0 for the first of them.
    """

    lead: str
    step: str = ""
    tail: str = ""
    at: int | None = None
    ticking: Ticking | None = None
    more: str = ""
    number: int = 0
    error: str = ""
    value: str = ""

    @property
    def plain(self) -> str:
        number = f" #{self.number}" if self.number else ""
        head = " ".join(part for part in (self.lead, self.step + number) if part) + self.tail
        return " ".join(part for part in (head, self.more, self.error, self.value) if part)


def where(
    row: InstanceRow,
    focus: StepBrief | None,
    *,
    others: int = 0,
    error: tuple[str, str] | None = None,
    output: str | None = None,
    defined: bool = True,
    queue_place: int | None = None,
) -> Where:
    """`focus` is the most relevant step, `others` the number of other open steps; `error` is (name, message),
    `output` the returned value in one line, "" when it returned nothing.
    """
    if not defined and row.ended_at is None:
        return Where("Suspended: this Workflow is not defined in the Worker")
    if row.status is Status.QUEUED:
        place = "" if queue_place is None else f": {queue_place:,} ahead" if queue_place else ": next"
        return Where(f"Queued{place} (concurrency limit)")
    if row.status is Status.ERRORED:
        return _errored(focus, error)
    if row.status is Status.ROLLING_BACK:
        return Where(f"Rolling back after {error[0]}" if error is not None else "Rolling back")
    if row.status is Status.PAUSED:
        return Where("Paused. Timers are frozen until you resume")
    if row.status is Status.COMPLETE:
        return Where("Returned", value=output) if output else Where("Returned nothing")
    if row.status is Status.TERMINATED:
        return _terminated(focus)
    activity = _open(focus) if focus is not None else Where("Running code between steps")
    if row.status is Status.WAITING_FOR_PAUSE:
        return Where("Pausing after", activity.step, number=activity.number) if activity.step else Where("Pausing")
    return replace(activity, more=f"and {others} more") if others else activity


def _terminated(focus: StepBrief | None) -> Where:
    if focus is None:
        return Where("Terminated by request")
    if focus.kind is StepKind.WAIT_FOR_EVENT:
        return Where("Terminated by request while waiting for", event_type(focus.config))
    return _at("Terminated by request in", focus)


def _errored(focus: StepBrief | None, error: tuple[str, str] | None) -> Where:
    if focus is None or focus.state is not StepState.FAILED:
        return Where("", error=_short(error))
    # run() may catch a step's error and fail with its own.
    own = json.loads(focus.error or "{}")
    message = str(own.get("message", ""))
    # Of long messages only the beginnings are known.
    same = (message[:_COMPARED], f"{own.get('name')}: {message}"[:_COMPARED])
    is_its_error = error is None or error[1][:_COMPARED] in same
    return replace(_at("" if is_its_error else "After", focus), error=_short(error))


def _short(error: tuple[str, str] | None) -> str:
    if error is None:
        return ""
    name, message = error
    return unfolded(name, message.split("\n", 1)[0])


def _at(lead: str, focus: StepBrief, tail: str = "", at: int | None = None) -> Where:
    number = focus.count if focus.count > 1 else 0
    return Where(lead, focus.name, tail, at, "until" if at is not None else None, number=number)


def _open(focus: StepBrief) -> Where:
    """The activity of a step that has not ended."""
    if focus.state is StepState.IN_FLIGHT:
        attempt = f", attempt {focus.attempts} of {most_attempts(focus.config)}" if focus.attempts > 1 else ""
        return _at("Running", focus, attempt)
    if focus.state is StepState.RETRYING:
        attempt = f", attempt {focus.attempts + 1} of {most_attempts(focus.config)}"
        return _at("Retrying", focus, attempt, focus.due_at)
    if focus.kind is StepKind.SLEEP:
        return Where("Sleeping until", at=focus.due_at, ticking="clock")
    if focus.kind is StepKind.WAIT_FOR_EVENT:
        return Where("Waiting for event", event_type(focus.config), ", times out", focus.due_at, "until")
    return _at("In", focus)


def most_attempts(config: str) -> int:
    """Maximum attempts of a step: the first one plus its retries."""
    limit = json.loads(config).get("retries", {}).get("limit", 0)
    return int(limit) + 1


def event_type(config: str) -> str:
    """The event type that a wait expects."""
    return str(json.loads(config).get("type", ""))
