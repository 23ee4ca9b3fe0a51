"""The search box of the list: `status:errored step:"charge card" dur:>5s order-42` and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from stepwell.emulator.storage.records import PageFilter, Status, Trigger

#: No id has a colon: what stands before one is meant as a filter.
_KEY: Final = r'[^\s":]+:'
#: A quote that nobody closes goes on to the end.
_VALUE: Final = r'"[^"]*(?:"|\Z)|\S+'
_TOKEN: Final = re.compile(rf"({_KEY})(?:\s+(?!{_KEY}))?({_VALUE})?|({_VALUE})")
_SPAN: Final = re.compile(r"([<>]=?)?([0-9]+(?:\.[0-9]+)?)(ms|s|min|m|h|d|w)")
#: Longer than any emulator runs, and within the 64 bits of SQLite.
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

#: What one may write, for completion and for the help page.
WORDS: Final = (
    ("status:", "status:errored", "one of Cloudflare's statuses; several are alternatives"),
    ("step:", "step:charge-card", "has a step whose name contains this"),
    ("error:", "error:Timeout", "its error contains this, or that of a step that failed or is tried again"),
    ("waiting:", "waiting:approval", "waits for an event of this type"),
    ("params.", "params.userId:42", "a value inside the params"),
    ("text:", 'text:"out of stock"', "params, output or error contain this"),
    ("age:", "age:<1h", "created less (or, with >, more) than this ago"),
    ("dur:", "dur:>5s", "has run longer (or, with <, shorter) than this"),
    ("attempts:", "attempts:>2", "has a step with more attempts than this"),
    ("trigger:", "trigger:cron", "what made it: api, binding, cron, event; several are alternatives"),
    ("id:", "id:order-42", "its id contains this, as a word without a colon says it too"),
)


class Word(NamedTuple):
    """A word of the search: `text` as it was typed, `key` as "step", or None for a part of an id."""

    key: str | None
    value: str
    quoted: bool
    text: str


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What the list is narrowed to: by the `text` of its `words`, and by the statuses of the `tiles`.

    `statuses` are those of both. `problems` are sentences about words that were not understood.
    """

    text: str = ""
    workflow: str | None = None
    statuses: tuple[Status, ...] = ()
    filter: PageFilter = field(default_factory=PageFilter)
    problems: tuple[str, ...] = ()
    words: tuple[Word, ...] = ()
    tiles: tuple[Status, ...] = ()


def parse_query(text: str, now: int, statuses: Iterable[str] = (), workflow: str | None = None) -> ListQuery:
    """Reads the search box and the status tiles; what it cannot read it names, and goes on without."""
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
    """One reading of a text, word by word. Words of a kind that come twice must both hold."""

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
            self.problems.append(f'There is no filter "{key}:". The filters are {known}.')
        elif not value and not (word.quoted and key.startswith("params.")):
            self.problems.append(f"{key}: is empty; write it like {_example(key)}.")
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
                f'"{value}" is left out: an id has no spaces. To search in values write text:"{value}".'
            )
        elif value:
            self._has_id = True
            self._and("id_texts", value)

    def status(self, value: str) -> None:
        for name in value.split(","):
            found = next((status for status in Status if status.lower() == name.lower()), None)
            if found is None:
                self.problems.append(f'There is no status "{name}". The statuses are {", ".join(Status)}.')
            else:
                self.statuses.append(found)

    def trigger(self, value: str) -> None:
        for name in value.split(","):
            if name in set(Trigger):
                self._and("triggers", Trigger(name))
            else:
                self.problems.append(f'There is no trigger "{name}". The triggers are {", ".join(Trigger)}.')

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
            examples = f"{key}:<1h or {key}:>5s (ms, s, m, h, d, w)"
            self.problems.append(f"{key}:{value} is not understood; write {examples}.")
            return None
        ms = int(min(float(match[2]) * _UNIT_MS[match[3]], _LONGEST_MS))
        return not (match[1] or "<").startswith(">"), ms

    def attempts(self, value: str) -> None:
        match = re.fullmatch(r"(>=?)?([0-9]{1,9})", value)
        if match is None:
            self.problems.append(f"attempts:{value} is not understood; write attempts:>2.")
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
}
_READERS: Final = {
    "status": _Reading.status,
    "trigger": _Reading.trigger,
    "age": _Reading.age,
    "dur": _Reading.ran,
    "attempts": _Reading.attempts,
}
