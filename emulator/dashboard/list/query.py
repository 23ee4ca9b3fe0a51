"""The search box of the list: `status:errored step:"charge card" dur:>5s order-42` and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from stepwell.emulator.storage.records import PageFilter, Status, Trigger

#: Ids have no colon, so text before a colon is a filter name.
_KEY: Final = r'[^\s":]+:'
#: An unclosed quote extends to the end.
_VALUE: Final = r'"[^"]*(?:"|\Z)|\S+'
_TOKEN: Final = re.compile(rf"({_KEY})(?:\s+(?!{_KEY}))?({_VALUE})?|({_VALUE})")
_SPAN: Final = re.compile(r"([<>]=?)?([0-9]+(?:\.[0-9]+)?)(ms|s|min|m|h|d|w)")
#: Longer than any instance runs, and within SQLite's 64 bits.
_LONGEST_MS: Final = 2**53
_UNIT_MS: Final = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}

#: The filters, for completion and the help page: (filter, example, help).
WORDS: Final = (
    ("status:", "status:errored", "status, or several separated by commas"),
    ("step:", "step:charge-card", "a step name contains this"),
    ("error:", "error:Timeout", "the error of the instance, or of a failed or retrying step, contains this"),
    ("waiting:", "waiting:approval", "waiting for an event of this type"),
    ("params.", "params.userId:42", "a value inside the params"),
    ("text:", 'text:"out of stock"', "params, output or error contain this"),
    ("age:", "age:<1h", "created less (with >: more) than this ago"),
    ("dur:", "dur:>5s", "ran longer (with <: shorter) than this"),
    ("attempts:", "attempts:>2", "a step took more attempts than this"),
    ("trigger:", "trigger:cron", "creator: api, binding, workflow, cron or event, or several separated by commas"),
    ("by:", "by:orders", "created by this Workflow, or by one instance of it: by:orders/order-42"),
    ("id:", "id:order-42", "the id contains this (same as a word without a colon)"),
)


class Word(NamedTuple):
    """A word of the search: `text` as typed; `key` is the filter, such as "step", or None for part of an id."""

    key: str | None
    value: str
    quoted: bool
    text: str


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The filter of the list, from the `text` of its `words` and the statuses of the `tiles`.

    `statuses` combines both. `problems` are messages about invalid words.
    """

    text: str = ""
    workflow: str | None = None
    statuses: tuple[Status, ...] = ()
    filter: PageFilter = field(default_factory=PageFilter)
    problems: tuple[str, ...] = ()
    words: tuple[Word, ...] = ()
    tiles: tuple[Status, ...] = ()


def parse_query(text: str, now: int, statuses: Iterable[str] = (), workflow: str | None = None) -> ListQuery:
    """Parse the search box and the status tiles. Invalid words are ignored and reported in `problems`."""
    reading, words = _Reading(now), tuple(_words(text))
    for status in statuses:
        reading.status(status)
    tiles = tuple(dict.fromkeys(reading.statuses))
    for word in words:
        reading.word(word)
    found = tuple(dict.fromkeys(reading.statuses))
    wanted = PageFilter(statuses=found, **reading.parts)
    typed = " ".join(word.text for word in words)
    return ListQuery(typed, workflow, found, wanted, tuple(reading.problems), words, tiles)


def _words(text: str) -> Iterator[Word]:
    for match in _TOKEN.finditer(text):
        value = match[2] or match[3] or ""
        quoted = value.startswith('"')
        value = value[1:].removesuffix('"') if quoted else value
        yield Word(match[1] and match[1][:-1], value, quoted, match[0].strip())


class _Reading:
    """Parses a text word by word. Two words of one kind must both match."""

    def __init__(self, now: int) -> None:
        self.parts: dict[str, Any] = {}
        self.statuses: list[Status] = []
        self.problems: list[str] = []
        self._has_id = False
        self._now = now

    def word(self, word: Word) -> None:
        key, value = word.key, word.value
        if key is None:
            self._id(value)
        elif not (key in _PLAIN or key in _READERS or key.startswith("params.")):
            known = ", ".join(word.rstrip(":.") for word, _, _ in WORDS)
            self.problems.append(f'Unknown filter "{key}:". Filters: {known}.')
        elif not value and not (word.quoted and key.startswith("params.")):
            self.problems.append(f"{key}: needs a value, for example {_example(key)}.")
        elif key.startswith("params."):
            self._and("params", (key.removeprefix("params."), value))
        elif key in _PLAIN:
            self._and(_PLAIN[key], value)
        else:
            _READERS[key](self, value)

    def _and(self, part: str, value: object) -> None:
        self.parts[part] = (*self.parts.get(part, ()), value)

    def _at_least(self, part: str, value: int) -> None:
        self.parts[part] = max(value, self.parts.get(part, value))

    def _at_most(self, part: str, value: int) -> None:
        self.parts[part] = min(value, self.parts.get(part, value))

    def _id(self, value: str) -> None:
        if self._has_id:
            self.problems.append(
                f'Ignored "{value}": ids can\'t contain spaces. To search values, use text:"{value}".'
            )
        elif value:
            self._has_id = True
            self._and("id_texts", value)

    def status(self, value: str) -> None:
        for name in value.split(","):
            found = next((status for status in Status if status.lower() == name.lower()), None)
            if found is None:
                self.problems.append(f'Unknown status "{name}". Statuses: {", ".join(Status)}.')
            else:
                self.statuses.append(found)

    def trigger(self, value: str) -> None:
        for name in value.split(","):
            if name in set(Trigger):
                self._and("triggers", Trigger(name))
            else:
                self.problems.append(f'Unknown trigger "{name}". Triggers: {", ".join(Trigger)}.')

    def age(self, value: str) -> None:
        span = self._span("age", value)
        if span is None:
            return
        less, ms = span
        if less:
            self._at_least("created_from", self._now - ms)
        else:
            self._at_most("created_to", self._now - ms)

    def ran(self, value: str) -> None:
        span = self._span("dur", value)
        if span is None:
            return
        less, ms = span
        if less:
            self._at_most("ran_to_ms", ms)
        else:
            self._at_least("ran_from_ms", ms)
        self.parts["now"] = self._now

    def _span(self, key: str, value: str) -> tuple[bool, int] | None:
        """(less than, ms) of "<1h"."""
        match = _SPAN.fullmatch(value)
        if match is None:
            examples = f"{key}:<1h or {key}:>5s. Units: ms, s, m, h, d, w"
            self.problems.append(f"Invalid filter {key}:{value}. Use, for example, {examples}.")
            return None
        ms = int(min(float(match[2]) * _UNIT_MS[match[3]], _LONGEST_MS))
        return not (match[1] or "<").startswith(">"), ms

    def attempts(self, value: str) -> None:
        match = re.fullmatch(r"(>=?)?([0-9]{1,9})", value)
        if match is None:
            self.problems.append(f"Invalid filter attempts:{value}. Use, for example, attempts:>2.")
        else:
            self._at_least("attempts_from", int(match[2]) + (match[1] == ">"))


def _example(key: str) -> str:
    return next(example for text, example, _ in WORDS if key.startswith(text.rstrip(":.")))


_PLAIN: Final = {
    "id": "id_texts",
    "step": "step_texts",
    "error": "error_texts",
    "waiting": "waiting_for",
    "text": "value_texts",
    "by": "created_by",
}
_READERS: Final = {
    "status": _Reading.status,
    "trigger": _Reading.trigger,
    "age": _Reading.age,
    "dur": _Reading.ran,
    "attempts": _Reading.attempts,
}
