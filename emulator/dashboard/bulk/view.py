"""Many instances at once, in words: what was chosen, and what an action will do with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.list.query import ListQuery
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import plural
from stepwell.emulator.storage.records import Status

#: By action. The number of instances follows.
WORDS: Final = {
    "pause": "Pause",
    "resume": "Resume",
    "terminate": "Terminate",
    "restart": "Restart",
    "delete": "Delete",
    "sendEvent": "Send an event to",
}


@dataclass(frozen=True, slots=True)
class PlanLine:
    """Instances of a status; `reason` is why the action leaves them alone."""

    look: Look
    count: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class Typed:
    """What an action needs besides, as it was typed last."""

    type: str = ""
    payload: str = "{}"
    reason: str = ""
    rollback: str = ""


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """`fields` are what the form sends again: the address of the plan. `back` is the list as it was."""

    action: str
    word: str
    title: str
    what: str
    applies: int
    lines: tuple[PlanLine, ...]
    fields: tuple[tuple[str, str], ...]
    back: str
    typed: Typed = Typed()
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
    """`reasons` say of each status why the action is refused there; None where it is not."""
    lines = tuple(PlanLine(STATUS_LOOKS[status], count, reasons[status]) for status, count in counts.items())
    applies = sum(line.count for line in lines if line.reason is None)
    title = f"{WORDS[action]} {plural(applies, 'instance')}"
    return BulkPlan(action, WORDS[action], title, what, applies, lines, tuple(fields), back)


def chosen_ones(count: int) -> str:
    return "The one that was chosen" if count == 1 else f"The {count:,} that were chosen"


def all_that_match(query: ListQuery) -> str:
    """What "all" means in a list, in full: a filter that was not meant must be seen."""
    of = f" of {query.workflow}" if query.workflow is not None else " of every Workflow"
    status = f" in status {_or(STATUS_LOOKS[status].word for status in query.statuses)}" if query.statuses else ""
    # Statuses that were typed and those of tiles are alternatives.
    text = " ".join(word.text for word in query.words if word.key != "status")
    search = f" that match “{text}”" if text else ""
    return f"All instances{of}{status}{search}"


def _or(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
