"""The names in cases: `$id`, `$pad100`, `$program`; put in on the way out and found again in answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from stepwell.bindings.values import Value
from stepwell.emulator.clock import Clock
from stepwell.emulator.testing.contract.compare import UNDEFINED

#: Fields of events that differ from run to run; checked by `broken_rules`, then dropped.
VOLATILE = frozenset({"timestamp", "eventId", "instanceId"})

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_PADDED = (100, 101, 271, 272)
_MINUTE_MS = 60_000
#: How far a case that moves the clock may be ahead of ours.
_AHEAD_MS = 3 * 366 * 86_400_000


@dataclass(frozen=True, slots=True)
class Names:
    """Of one run of one case: its id, its program, and what counts as now."""

    instance_id: str
    program: Sequence[Value]
    started_at: int
    clock: Clock
    moves_clock: bool = False

    def fill(self, value: Value) -> Value:
        """`value` with this run's names put in."""
        if isinstance(value, str):
            return self._fill_text(value)
        if isinstance(value, list | tuple):
            return [self.fill(item) for item in value]
        if isinstance(value, Mapping):
            return {key: self.fill(item) for key, item in value.items()}
        return value

    def _fill_text(self, text: str) -> Value:
        if text == "$program":
            return {"$": "lit", "v": self.program}
        for length in _PADDED:
            text = text.replace(f"$pad{length}", self._padded(length))
        return text.replace("$id", self.instance_id)

    def _padded(self, length: int) -> str:
        return self.instance_id[:length].ljust(length, "x")

    def tidy(self, value: Value) -> Value:
        """`value` without what differs from run to run, the names back in place."""
        if self.program and value == self.program:
            return "$program"
        if isinstance(value, str):
            return self._tidy_text(value)
        if isinstance(value, list):
            return [self.tidy(item) for item in value]
        if isinstance(value, dict):
            return self._tidy_object(value)
        return value

    def _tidy_text(self, text: str) -> str:
        for length in (271, 101, 100):
            text = text.replace(self._padded(length), f"$pad{length}")
        if _ISO.fullmatch(text) and self._is_about_now(text):
            return "$now"
        return _UUID.sub("$uuid", text.replace(self.instance_id, "$id"))

    def _tidy_object(self, value: dict[str, Value]) -> Value:
        if value.get("$") == "date" and self._is_about_now(value["v"]):
            return {"$": "date", "v": "$now"}
        return {
            key: self.tidy(item)
            for key, item in value.items()
            if item != UNDEFINED and not key.startswith("__LOCAL_DEV")
        }

    def _is_about_now(self, iso: str) -> bool:
        try:
            at = datetime.fromisoformat(iso).timestamp() * 1000
        except ValueError:
            return False
        ahead = _AHEAD_MS if self.moves_clock else _MINUTE_MS
        return self.started_at - _MINUTE_MS <= at <= self.clock.now() + ahead

    def tidy_events(self, events: Iterable[Mapping[str, Value]], keep: Sequence[str] = ()) -> list[Value]:
        """Events without their times and numbers, except the fields in `keep`."""
        dropped = VOLATILE - set(keep)
        return [self.tidy({key: item for key, item in event.items() if key not in dropped}) for event in events]


def broken_rules(events: Sequence[Mapping[str, Value]]) -> list[str]:
    """What every trace must keep, whatever the case: ids that increase, and timestamps."""
    out: list[str] = []
    numbers = [event.get("eventId") for event in events]
    if any(not isinstance(n, int) for n in numbers) or numbers != sorted({n for n in numbers if n is not None}):
        out.append(f"event ids do not increase: {numbers}")
    for event in events:
        if not isinstance(event.get("timestamp"), int | float):
            out.append(f"event without a timestamp: {event.get('type')}")
    return out
