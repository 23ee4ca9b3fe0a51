"""The clock page: the current time and upcoming wakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, Look
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.storage.view_records import InstanceBrief


@dataclass(frozen=True, slots=True)
class UpcomingWake:
    """An instance that wakes, or a schedule (`cron`) that creates one, with `look` None."""

    id: str
    workflow: str
    url: str
    look: Look | None
    wake_at: int
    cron: str = ""


@dataclass(frozen=True, slots=True)
class ClockStep:
    """A button that moves the clock. `by` is the form value, `wakes` the minimum number of woken instances."""

    word: str
    by: str
    wakes: int


@dataclass(frozen=True, slots=True)
class ClockView:
    now: int
    skew_ms: int
    can_move: bool
    next_at: int | None
    is_busy: bool
    waking: tuple[UpcomingWake, ...]
    leaps: tuple[ClockStep, ...]


#: The buttons: (text, ms).
LEAPS = (("1 minute", 60_000), ("1 hour", 3_600_000), ("1 day", 86_400_000), ("1 week", 604_800_000))


def clock_view(
    now: int,
    skew_ms: int,
    *,
    can_move: bool,
    upcoming: Sequence[InstanceBrief],
    names: Mapping[int, str],
    wakes: Mapping[int, int],
    is_busy: bool = False,
    schedules: Sequence[tuple[str, str, int]] = (),
    triggers: Sequence[tuple[str, str, int]] = (),
) -> ClockView:
    """`wakes` counts the instances that wake within each of `LEAPS`. `is_busy`: code is running, whose
    deadlines are only in memory. `schedules` are (Workflow, cron, next), `triggers` (Worker, cron, next).
    """
    urls = Urls()
    waking = [
        UpcomingWake(
            one.id,
            names.get(one.workflow, "?"),
            urls.instance(names.get(one.workflow, "?"), one.id),
            STATUS_LOOKS[one.status],
            one.wake_at or now,
        )
        for one in upcoming
    ]
    waking += [UpcomingWake("", name, urls.workflow(name), None, at, cron) for name, cron, at in schedules]
    waking += [UpcomingWake("", worker, "", None, at, cron) for worker, cron, at in triggers]
    waking.sort(key=lambda one: one.wake_at)
    return ClockView(
        now=now,
        skew_ms=skew_ms,
        can_move=can_move,
        next_at=waking[0].wake_at if waking else None,
        is_busy=is_busy,
        waking=tuple(waking),
        leaps=tuple(ClockStep(word, word, wakes.get(ms, 0)) for word, ms in LEAPS),
    )
