"""The history, the events that were sent, and the lines that were printed, as the tabs show them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepwell.emulator.dashboard.parts.text import cut, duration
from stepwell.emulator.dashboard.parts.urls import RunAddress
from stepwell.emulator.dashboard.values.view import AMONG_OTHERS, Bounds, ValueView, value_view
from stepwell.emulator.storage.records import EventType, HistoryRow, LogRow
from stepwell.emulator.storage.view_records import EventBrief

#: Bytes of a payload that is shown among others, and the parts of all of them together.
LONGEST_SHOWN: Final = 16 * 1024
_PARTS_SHOWN: Final = 1_000
_FEWEST_PARTS: Final = 20
#: Characters of a line that was printed, and of all lines together.
_LONGEST_LINE: Final = 4_000
_SHORTEST_LINE: Final = 300
_CHARACTERS_SHOWN: Final = 200_000
#: A family of entry types, for the filter: its first word.
FAMILIES: Final = ("workflow", "step", "attempt", "sleep", "wait", "rollback")


@dataclass(frozen=True, slots=True)
class EntryView:
    event_id: int
    type: str
    tone: str
    at: int
    step: str
    step_url: str
    attempt: int | None
    text: str


@dataclass(frozen=True, slots=True)
class EventView:
    """An event that was sent to the instance; `claimed_by` is the public name of the wait that took it."""

    type: str
    received_at: int
    claimed_by: str
    claimed_url: str
    payload: ValueView


@dataclass(frozen=True, slots=True)
class LogView:
    key: int
    at: int
    level: str
    tone: str
    text: str
    rest_url: str
    step: str
    step_url: str
    attempt: int | None


def entry_views(
    rows: Sequence[HistoryRow], names: Mapping[int, str], urls: Mapping[int, str]
) -> tuple[EntryView, ...]:
    """`names` and `urls` are those of the steps by seq."""
    return tuple(
        EntryView(
            event_id=row.event_id,
            type=row.type,
            tone=_tone(row.type),
            at=row.at,
            step=names.get(row.step, f"step {row.step}") if row.step is not None else "",
            step_url=urls.get(row.step, "") if row.step is not None else "",
            attempt=row.attempt,
            text=_text(row),
        )
        for row in rows
    )


def _tone(kind: EventType) -> str:
    word = kind.rsplit("_", 1)[-1]
    if kind.startswith("rollback") and word != "errored":
        return "undo"
    return {"completed": "good", "errored": "bad", "out": "bad", "waiting": "wait", "paused": "hold"}.get(
        word, "calm"
    )


def _text(row: HistoryRow) -> str:
    detail: dict[str, Any] = json.loads(row.detail) if row.detail else {}
    parts = []
    if "error" in detail:
        parts.append(cut(f"{detail['error'].get('name')}: {detail['error'].get('message')}", 240))
    if detail.get("retryDelayMs") is not None:
        parts.append(f"next attempt after {duration(detail['retryDelayMs'])}")
    return "; ".join(parts)


def event_views(
    rows: Sequence[EventBrief], names: Mapping[int, str], urls: Mapping[int, str], address: RunAddress
) -> tuple[EventView, ...]:
    """`address` is that of the run, whose pages have the payloads in full."""
    bounds = Bounds(LONGEST_SHOWN, max(_FEWEST_PARTS, _PARTS_SHOWN // max(1, len(rows))), AMONG_OTHERS.characters)
    return tuple(
        EventView(
            type=row.type,
            received_at=row.received_at,
            claimed_by=names.get(row.claimed_by, "") if row.claimed_by is not None else "",
            claimed_url=urls.get(row.claimed_by, "") if row.claimed_by is not None else "",
            payload=value_view(
                f"event-{row.key}", row.payload, address.value(f"event-{row.key}"), row.payload_bytes, bounds
            ),
        )
        for row in rows
    )


def log_views(
    rows: Sequence[LogRow], names: Mapping[int, str], urls: Mapping[int, str], address: RunAddress
) -> tuple[LogView, ...]:
    """Of long lines the beginning, and where the rest is; of many long lines less."""
    most = max(_SHORTEST_LINE, min(_LONGEST_LINE, _CHARACTERS_SHOWN // max(1, len(rows))))
    return tuple(
        LogView(
            key=row.key,
            at=row.at,
            level=row.level,
            tone={"error": "bad", "warn": "hold", "warning": "hold"}.get(row.level, "calm"),
            text=row.text[:most],
            rest_url=address.value(f"log-{row.key}", "raw") if len(row.text) > most else "",
            step=names.get(row.step, "") if row.step is not None else "",
            step_url=urls.get(row.step, "") if row.step is not None else "",
            attempt=row.attempt,
        )
        for row in rows
    )
