"""Instances as text, for people whose test has failed: what happened, and what is waited for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from stepwell.bindings.durations import describe_ms
from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.tracebacks import error_report
from stepwell.bindings.values.times import iso
from stepwell.emulator.storage.records import FINITE, InstanceRow, Status, StepKind, StepRow, StepState
from stepwell.emulator.storage.store import Store
from stepwell.emulator.testing.views import entries_of

_MOST_ROWS: Final = 200
_MOST_CHARS: Final = 90
_HEADS: Final = ("after", "event", "step", "attempt", "")
_PENDING: Final = (StepState.IN_FLIGHT, StepState.RETRYING, StepState.PENDING)


def title_of(row: InstanceRow, workflow_name: str) -> str:
    return f'"{row.id}" of {workflow_name}: {row.status}'


def history_table(store: Store, key: int, workflow_name: str) -> str:
    """The log of an instance, one entry a line; times count from its creation."""
    row = store.instance(key)
    if row is None:
        return "(the instance is gone)"
    entries = entries_of(store, key, row.id)
    left_out = max(len(entries) - _MOST_ROWS, 0)
    lines = [_HEADS, *(_cells(entry, row.created_at) for entry in entries[left_out:])]
    heading = [title_of(row, workflow_name)]
    if left_out:
        heading.append(f"  ({left_out} earlier entries are left out)")
    return "\n".join([*heading, *_aligned(lines), *_last_error(store, row)])


def _last_error(store: Store, row: InstanceRow) -> Iterator[str]:
    """Where it was raised: the error of the instance, or that of a step which is tried again or has failed."""
    values = store.values(row.key)
    stored = values.error if values is not None else None
    if stored is None and row.status is not Status.COMPLETE:
        stored = next((one.error for one in reversed(store.steps(row.key, with_outputs=False)) if one.error), None)
    report = error_report(ErrorInfo.from_json(json.loads(stored))) if stored else None
    if report is not None:
        yield from ("", *(f"  {line}".rstrip() for line in report.split("\n")))


def _cells(entry: dict[str, Any], created_at: int) -> tuple[str, ...]:
    after = entry["timestamp"] - created_at
    attempt = entry.get("attempt")
    return (
        f"+{describe_ms(after)}" if after else "0",
        entry["type"],
        str(entry.get("stepName", "")),
        "" if attempt is None else str(attempt),
        _detail(entry),
    )


def _detail(entry: dict[str, Any]) -> str:
    parts: list[str] = []
    error = entry.get("error")
    if isinstance(error, dict):
        parts.append(f"{error.get('name')}: {error.get('message')}")
    if entry.get("retryDelayMs") is not None:
        parts.append(f"next attempt after {describe_ms(entry['retryDelayMs'])}")
    if "durationMs" in entry:
        parts.append(f"for {describe_ms(entry['durationMs'])}")
    if "eventType" in entry:
        parts.append(f'event "{entry["eventType"]}"')
    parts += [_shortened(repr(entry[name])) for name in ("params", "output") if name in entry]
    return _shortened("; ".join(parts))


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - 3] + "..."


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


# -- what is waited for ----------------------------------------------------------------------------------------


def waits_text(store: Store, row: InstanceRow, workflow_name: str, now: int) -> str:
    """What an instance waits for, one thing a line below its title."""
    return "\n".join([title_of(row, workflow_name), *(f"  {line}" for line in _waits(store, row, now))])


def _waits(store: Store, row: InstanceRow, now: int) -> list[str]:
    if row.status in FINITE:
        return []
    if row.status is Status.PAUSED:
        return ["paused until resume() is called"]
    if row.status is Status.QUEUED:
        return [f"queued behind {store.queued_before(row.key)} others, until a running instance ends"]
    pending = [step for step in store.steps(row.key, with_outputs=False) if step.state in _PENDING]
    return [_wait(step, now) for step in pending] or ["in run(), outside of any step"]


def _wait(step: StepRow, now: int) -> str:
    left = "" if step.due_at is None else f"{describe_ms(step.due_at - now)} (at {iso(step.due_at)})"
    if step.state is StepState.IN_FLIGHT:
        return f'step "{step.public_name}" is running, attempt {step.attempts}'
    if step.state is StepState.RETRYING:
        return f'step "{step.public_name}" is retried (attempt {step.attempts + 1}) in {left}'
    if step.kind is StepKind.SLEEP:
        return f'sleep "{step.public_name}" ends in {left}'
    event_type = json.loads(step.config)["type"]
    return f'event "{event_type}" in wait "{step.public_name}", which times out in {left}'
