"""The texts of bulk actions: the selected instances, and the effect of an action on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.list.query import ListQuery
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import plural
from stepwell.emulator.storage.records import FINITE, Status

#: Button text by action. The number of instances follows.
WORDS: Final = {
    "pause": "Pause",
    "resume": "Resume",
    "terminate": "Terminate",
    "restart": "Restart",
    "delete": "Delete",
    "sendEvent": "Send event to",
}


@dataclass(frozen=True, slots=True)
class PlanLine:
    """Number of instances in a status; `reason` is why the action skips them."""

    look: Look
    count: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class ActionInput:
    """Additional input of an action, as typed."""

    type: str = ""
    payload: str = "{}"
    reason: str = ""
    rollback: str = ""


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """`fields` repeat the query of the plan's address. `back` is the address of the list."""

    action: str
    word: str
    title: str
    what: str
    applies: int
    lines: tuple[PlanLine, ...]
    fields: tuple[tuple[str, str], ...]
    back: str
    typed: ActionInput = ActionInput()
    problem: str = ""

    @property
    def total(self) -> int:
        return sum(line.count for line in self.lines)


def bulk_plan(
    action: str,
    what: str,
    counts: Mapping[Status, int],
    reasons: Mapping[Status, str | None],
    fields: Iterable[tuple[str, str]],
    back: str,
) -> BulkPlan:
    """`reasons` maps each status to why the action does not apply there, or None."""
    lines = tuple(PlanLine(STATUS_LOOKS[status], count, reasons[status]) for status, count in counts.items())
    applies = sum(line.count for line in lines if line.reason is None)
    title = f"{WORDS[action]} {plural(applies, 'instance')}"
    return BulkPlan(action, WORDS[action], title, what, applies, lines, tuple(fields), back)


def skip_reason(command: str, status: Status, *, applies: bool) -> str | None:
    """Why the action leaves instances of a status alone, in a word or two; None where it applies."""
    if applies:
        return None
    if status in FINITE:
        return "already finished"
    if command == "resume":
        return "not paused"
    return {Status.PAUSED: "already paused", Status.WAITING_FOR_PAUSE: "already pausing"}.get(
        status, "rolling back"
    )


def chosen_ones(count: int) -> str:
    return "The selected instance" if count == 1 else f"The {count:,} selected instances"


def all_that_match(query: ListQuery) -> str:
    """Spell out what "all" means, so that an unintended filter is noticed."""
    of = f" of {query.workflow}" if query.workflow is not None else " of all Workflows"
    status = f" with status {_or(STATUS_LOOKS[status].word for status in query.statuses)}" if query.statuses else ""
    # Typed statuses and those of the tiles are alternatives.
    text = " ".join(word.text for word in query.words if word.key != "status")
    search = f" that match “{text}”" if text else ""
    return f"All instances{of}{status}{search}"


def _or(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
