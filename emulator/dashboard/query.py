"""The search box of the list: `status:errored step:"charge card" dur:>5s order-42` and back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.storage.records import PageFilter, Status, Trigger

_TOKEN: Final = re.compile(r'(?:([A-Za-z][\w.]*):)?("[^"]*"|\S+)')
_SPAN: Final = re.compile(r"([<>]=?)?(\d+(?:\.\d+)?)(ms|s|min|m|h|d|w)")
_UNIT_MS: Final = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}

#: What one may write, for completion and for the help page.
WORDS: Final = (
    ("status:", "status:errored", "one of Cloudflare's statuses; several are alternatives"),
    ("step:", "step:charge-card", "has a step whose name contains this"),
    ("error:", "error:Timeout", "its error contains this"),
    ("waiting:", "waiting:approval", "waits for an event of this type"),
    ("params.", "params.userId:42", "a value inside the params"),
    ("text:", 'text:"out of stock"', "params, output or error contain this"),
    ("age:", "age:<1h", "created less (or, with >, more) than this ago"),
    ("dur:", "dur:>5s", "has run longer (or, with <, shorter) than this"),
    ("attempts:", "attempts:>2", "has a step with more attempts than this"),
    ("trigger:", "trigger:cron", "what made it: api, binding, cron, event"),
)


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What the list is narrowed to. `problems` are sentences about words that were not understood."""

    text: str = ""
    workflow: str | None = None
    statuses: tuple[Status, ...] = ()
    filter: PageFilter = field(default_factory=PageFilter)
    problems: tuple[str, ...] = ()

    @property
    def narrows(self) -> bool:
        return bool(self.text or self.statuses or self.workflow)


def parse_query(text: str, now: int, statuses: Iterable[str] = (), workflow: str | None = None) -> ListQuery:
    """Reads the search box and the status tiles; what it cannot read it names, and goes on without."""
    reading = _Reading(now)
    for status in statuses:
        reading.status(status)
    for match in _TOKEN.finditer(text):
        reading.word(match[1], match[2].strip('"'))
    found = tuple(dict.fromkeys(reading.statuses))
    wanted = PageFilter(statuses=found, **reading.parts)
    return ListQuery(" ".join(text.split()), workflow, found, wanted, tuple(reading.problems))


class _Reading:
    """One reading of a text, word by word."""

    def __init__(self, now: int) -> None:
        self.parts: dict[str, Any] = {}
        self.statuses: list[Status] = []
        self.problems: list[str] = []
        self._now = now

    def word(self, key: str | None, value: str) -> None:
        if key is None:
            self._id(value)
        elif key.startswith("params."):
            self.parts["param"] = (key.removeprefix("params."), value)
        elif key in _PLAIN:
            self.parts[_PLAIN[key]] = value
        elif key in _READERS:
            _READERS[key](self, value)
        else:
            known = ", ".join(word.rstrip(":.") for word, _, _ in WORDS)
            self.problems.append(f'There is no filter "{key}:". The filters are {known}.')

    def _id(self, value: str) -> None:
        if "id_text" in self.parts:
            self.problems.append(
                f'"{value}" is left out: an id has no spaces. To search in values write text:"{value}".'
            )
            return
        self.parts["id_text"] = value

    def status(self, value: str) -> None:
        for name in value.split(","):
            found = next((status for status in Status if status.lower() == name.lower()), None)
            if found is None:
                self.problems.append(f'There is no status "{name}". The statuses are {", ".join(Status)}.')
            else:
                self.statuses.append(found)

    def trigger(self, value: str) -> None:
        if value in set(Trigger):
            self.parts["trigger"] = Trigger(value)
        else:
            self.problems.append(f'There is no trigger "{value}". The triggers are {", ".join(Trigger)}.')

    def age(self, value: str) -> None:
        span = self._span("age", value)
        if span is not None:
            less, ms = span
            self.parts["created_from" if less else "created_to"] = self._now - ms

    def ran(self, value: str) -> None:
        span = self._span("dur", value)
        if span is not None:
            less, ms = span
            self.parts["ran_to_ms" if less else "ran_from_ms"] = ms
            self.parts["now"] = self._now

    def _span(self, key: str, value: str) -> tuple[bool, int] | None:
        """(less than, ms) of "<1h"."""
        match = _SPAN.fullmatch(value)
        if match is None:
            examples = f"{key}:<1h or {key}:>5s (ms, s, m, h, d, w)"
            self.problems.append(f"{key}:{value} is not understood; write {examples}.")
            return None
        return not (match[1] or "<").startswith(">"), int(float(match[2]) * _UNIT_MS[match[3]])

    def attempts(self, value: str) -> None:
        match = re.fullmatch(r"(>=?)?(\d{1,9})", value)
        if match is None:
            self.problems.append(f"attempts:{value} is not understood; write attempts:>2.")
        else:
            self.parts["attempts_from"] = int(match[2]) + (match[1] == ">")


_PLAIN: Final = {
    "id": "id_text",
    "step": "step_text",
    "error": "error_text",
    "waiting": "waiting_for",
    "text": "value_text",
}
_READERS: Final = {
    "status": _Reading.status,
    "trigger": _Reading.trigger,
    "age": _Reading.age,
    "dur": _Reading.ran,
    "attempts": _Reading.attempts,
}
