"""How far the rollback of an instance had come when its process or its runtime ended, read from the history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.storage.records import EventType, HistoryRow
from stepwell.emulator.storage.store import Store

_T = EventType


@dataclass(slots=True)
class HandlerProgress:
    """The attempts of one handler so far.

    `in_flight`: the last attempt was cut off. `error` and `retry_at` are those of the last failed attempt;
    `retry_at` is None when no retry was to follow.
    """

    attempts: int = 0
    in_flight: bool = False
    completed: bool = False
    error: ErrorInfo | None = None
    retry_at: int | None = None


@dataclass(slots=True)
class RollbackProgress:
    """The handlers that have begun, by the seq of their step. `started`: the rollback is in the history."""

    started: bool = False
    handlers: dict[int, HandlerProgress] = field(default_factory=dict)


def rollback_progress(store: Store, key: int) -> RollbackProgress:
    """What the history says of the rollback that runs now; an earlier one, before a restart, does not count."""
    progress = RollbackProgress()
    for entry in _entries(store, key):
        if entry.type is _T.ROLLBACK_STARTED:
            progress = RollbackProgress(started=True)
        elif progress.started and entry.step is not None:
            _note(progress.handlers, entry)
    return progress


def _entries(store: Store, key: int) -> Iterator[HistoryRow]:
    after = 0
    while page := store.history(key, after):
        yield from page
        after = page[-1].event_id


def _note(handlers: dict[int, HandlerProgress], entry: HistoryRow) -> None:
    assert entry.step is not None
    if entry.type is _T.ROLLBACK_STEP_STARTED:
        handlers[entry.step] = HandlerProgress()
        return
    handler = handlers.get(entry.step)
    if handler is None:
        return
    match entry.type:
        case _T.ROLLBACK_ATTEMPT_STARTED:
            handler.attempts, handler.in_flight = entry.attempt or 0, True
        case _T.ROLLBACK_ATTEMPT_ERRORED:
            detail = json.loads(entry.detail or "{}")
            handler.in_flight = False
            handler.error = ErrorInfo.from_json(detail.get("error", {}))
            delay_ms = detail.get("retryDelayMs")
            handler.retry_at = None if delay_ms is None else entry.at + int(delay_ms)
        case _T.ROLLBACK_STEP_COMPLETED:
            handler.in_flight, handler.completed = False, True
