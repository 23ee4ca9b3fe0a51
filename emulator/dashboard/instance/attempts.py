"""The attempts of steps and of their rollbacks, put together from the history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.parts.errors import ErrorView, ReadSource, error_view, no_source
from stepwell.emulator.dashboard.parts.statuses import ABANDONED, Look
from stepwell.emulator.storage.records import EventType, HistoryRow

_T = EventType

_RUNNING: Final = Look("Running", "run", "run", "it is executing")
_GOOD: Final = Look("Succeeded", "good", "good", "the result is stored")
_BAD: Final = Look("Failed", "bad", "bad", "it raised an error")

_STARTS: Final = {_T.ATTEMPT_STARTED, _T.ROLLBACK_ATTEMPT_STARTED}
_SUCCEEDS: Final = {_T.ATTEMPT_COMPLETED, _T.ROLLBACK_ATTEMPT_COMPLETED}
_FAILS: Final = {_T.ATTEMPT_ERRORED, _T.ROLLBACK_ATTEMPT_ERRORED}


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One try. `delay_ms` is the wait that followed it, `event_id` the entry of the history that began it."""

    number: int
    started_at: int
    ended_at: int | None
    look: Look
    error: ErrorView | None
    delay_ms: int | None
    event_id: int

    @property
    def failed(self) -> bool:
        return self.look is _BAD


@dataclass(frozen=True, slots=True)
class StepAttempts:
    """What the history tells of one step."""

    attempts: tuple[AttemptView, ...] = ()
    rollback: tuple[AttemptView, ...] = ()
    rollback_error: ErrorView | None = None
    rolled_back: bool = False

    @property
    def is_undoing(self) -> bool:
        """Whether its rollback has begun and not ended."""
        return bool(self.rollback) and not self.rolled_back and self.rollback_error is None

    @property
    def rollback_word(self) -> str:
        """How far its rollback is; empty where none has begun."""
        if self.rollback_error is not None:
            return "rollback failed"
        return "rolled back" if self.rolled_back else "rolling back" if self.rollback else ""

    def over(self, at: int, *, failed: bool) -> StepAttempts:
        """As they are once the instance has ended: an attempt without an end was given up then, or failed with its
        step.

        The history leaves the failure out that ends the instance at once.
        """
        look = _BAD if failed else ABANDONED
        return replace(self, attempts=tuple(_over(one, at, look) for one in self.attempts))


def tries_by_step(history: Iterable[HistoryRow], read: ReadSource = no_source) -> dict[int, StepAttempts]:
    """By seq. `read` gives source lines; it is worth its time on the page of one step only."""
    by_step: dict[int, list[HistoryRow]] = {}
    for entry in history:
        if entry.step is not None:
            by_step.setdefault(entry.step, []).append(entry)
    return {seq: _tries(entries, read) for seq, entries in by_step.items()}


def _over(attempt: AttemptView, at: int, look: Look) -> AttemptView:
    return replace(attempt, ended_at=at, look=look) if attempt.look is _RUNNING else attempt


def _tries(entries: Sequence[HistoryRow], read: ReadSource) -> StepAttempts:
    own = [entry for entry in entries if not entry.type.startswith("rollback")]
    undoing = [entry for entry in entries if entry.type.startswith("rollback")]
    failed = next((entry for entry in undoing if entry.type is _T.ROLLBACK_STEP_ERRORED), None)
    return StepAttempts(
        attempts=_attempts(own, read),
        rollback=_attempts(undoing, read),
        rollback_error=_error(_detail(failed), read) if failed is not None else None,
        rolled_back=any(entry.type is _T.ROLLBACK_STEP_COMPLETED for entry in undoing),
    )


def _attempts(entries: Sequence[HistoryRow], read: ReadSource) -> tuple[AttemptView, ...]:
    views: list[AttemptView] = []
    for entry in entries:
        if entry.type in _STARTS:
            views.append(AttemptView(entry.attempt or 1, entry.at, None, _RUNNING, None, None, entry.event_id))
        elif entry.type in _SUCCEEDS and views:
            views[-1] = replace(views[-1], ended_at=entry.at, look=_GOOD)
        elif entry.type in _FAILS and views:
            detail = _detail(entry)
            error, delay = _error(detail, read), detail.get("retryDelayMs")
            views[-1] = replace(views[-1], ended_at=entry.at, look=_BAD, error=error, delay_ms=delay)
    return tuple(views)


def _detail(entry: HistoryRow) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(entry.detail) if entry.detail else {}
    return loaded


def _error(detail: dict[str, Any], read: ReadSource) -> ErrorView | None:
    return error_view(ErrorInfo.from_json(detail["error"]), read) if "error" in detail else None
