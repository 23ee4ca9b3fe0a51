"""The activity of an instance in one sentence: "sleeping, wakes in 3 min", "failed at charge-card-1"."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from stepwell.bindings.values import NULL_TEXT, UNDEFINED_TEXT
from stepwell.emulator.dashboard.parts.errors import unfolded
from stepwell.emulator.storage.records import InstanceRow, Status, StepKind, StepState
from stepwell.emulator.storage.view_records import StepBrief

#: Characters of two messages that are compared.
_COMPARED: Final = 250

Ticking: TypeAlias = Literal["until", "since"]


@dataclass(frozen=True, slots=True)
class Where:
    """A sentence with the name of a step and a ticking time. Parts may be empty."""

    lead: str
    step: str = ""
    tail: str = ""
    at: int | None = None
    ticking: Ticking | None = None
    more: str = ""

    @property
    def plain(self) -> str:
        return " ".join(part for part in (self.lead, self.step, self.tail, self.more) if part)


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
    `output` the start of the returned value.
    """
    if not defined and row.ended_at is None:
        return Where("suspended: this Workflow is not defined in the Worker")
    if row.status is Status.QUEUED:
        return _queued(row, queue_place)
    if row.status is Status.ERRORED:
        return _errored(focus, error)
    if row.status is Status.ROLLING_BACK:
        return Where("rolling back", tail=_short(error))
    if row.status is Status.PAUSED:
        return Where("paused", at=row.paused_at, ticking="since")
    if row.status in (Status.COMPLETE, Status.TERMINATED):
        return _ended(row.status, focus, output)
    found = _open(focus) if focus is not None else Where("in run(), between steps")
    if others:
        found = replace(found, more=f"and {others} more")
    return found


def _ended(status: Status, focus: StepBrief | None, output: str | None) -> Where:
    """The returned value (possibly truncated), or the step in which the instance was terminated."""
    if status is Status.TERMINATED:
        return Where("terminated") if focus is None else Where("terminated in", focus.public_name)
    nothing = output in (None, NULL_TEXT, UNDEFINED_TEXT)
    return Where("", tail="returned nothing" if nothing else f"returned {output}")


def _queued(row: InstanceRow, place: int | None) -> Where:
    behind = "" if place is None else f" (number {place + 1:,} in the queue)"
    return Where(f"waiting for a free slot{behind}", at=row.modified_at, ticking="since")


def _errored(focus: StepBrief | None, error: tuple[str, str] | None) -> Where:
    if focus is not None and focus.state is StepState.FAILED:
        # run() may catch a step's error and fail with its own.
        own = json.loads(focus.error or "{}")
        message = str(own.get("message", ""))
        # Of long messages only the beginnings are known.
        same = (message[:_COMPARED], f"{own.get('name')}: {message}"[:_COMPARED])
        is_its_error = error is None or error[1][:_COMPARED] in same
        return Where("failed at" if is_its_error else "failed after", focus.public_name, _short(error))
    return Where("failed outside a step", tail=_short(error))


def _short(error: tuple[str, str] | None) -> str:
    if error is None:
        return ""
    name, message = error
    return unfolded(name, message.split("\n", 1)[0])


def _open(focus: StepBrief) -> Where:
    """The activity of a step that has not ended."""
    if focus.state is StepState.IN_FLIGHT:
        attempt = f"attempt {focus.attempts} of {most_attempts(focus.config)}" if focus.attempts > 1 else ""
        return Where("running", focus.public_name, attempt)
    if focus.state is StepState.RETRYING:
        lead = f"attempt {focus.attempts + 1} of {most_attempts(focus.config)} of"
        return Where(lead, focus.public_name, "", focus.due_at, "until")
    if focus.kind is StepKind.SLEEP:
        return Where("sleeping in", focus.public_name, "wakes", focus.due_at, "until")
    if focus.kind is StepKind.WAIT_FOR_EVENT:
        return Where(f"waiting for event “{event_type(focus.config)}”", "", "times out", focus.due_at, "until")
    return Where("at", focus.public_name)


def most_attempts(config: str) -> int:
    """Maximum attempts of a step: the first one plus its retries."""
    limit = json.loads(config).get("retries", {}).get("limit", 0)
    return int(limit) + 1


def event_type(config: str) -> str:
    """The event type that a wait expects."""
    return str(json.loads(config).get("type", ""))
