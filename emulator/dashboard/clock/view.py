"""The clock page: the current time, and what wakes next, by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.dashboard.parts.where import event_type, most_attempts
from stepwell.emulator.storage.records import StepKind, StepState
from stepwell.emulator.storage.view_records import InstanceBrief, StepBrief

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS


@dataclass(frozen=True, slots=True)
class UpcomingWake:
    """What is due: a step, or a schedule (`cron`), which has no instance; a trigger has no `url` either."""

    word: str
    icon: str
    step: str
    detail: str
    id: str
    workflow: str
    url: str
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
    """`groups` are the wakes by how soon they are due."""

    now: int
    skew_ms: int
    can_move: bool
    next_at: int | None
    is_busy: bool
    waking: tuple[UpcomingWake, ...]
    groups: tuple[tuple[str, tuple[UpcomingWake, ...]], ...]
    leaps: tuple[ClockStep, ...]


#: The buttons: (text, form value, ms).
LEAPS = (
    ("1 min", "1 minute", 60_000),
    ("1 h", "1 hour", _HOUR_MS),
    ("1 d", "1 day", _DAY_MS),
    ("1 week", "1 week", 7 * _DAY_MS),
)


def clock_view(
    now: int,
    skew_ms: int,
    *,
    can_move: bool,
    upcoming: Sequence[InstanceBrief],
    steps: Sequence[StepBrief] = (),
    names: Mapping[int, str],
    wakes: Mapping[int, int],
    is_busy: bool = False,
    schedules: Sequence[tuple[str, str, int]] = (),
    triggers: Sequence[tuple[str, str, int]] = (),
) -> ClockView:
    """`steps` are the waiting steps of the `upcoming` instances; `wakes` counts those that wake within each of
    `LEAPS`. `is_busy`: code is running, whose deadlines are only in memory. `schedules` are (Workflow, cron,
    next), `triggers` (Worker, cron, next).
    """
    urls = Urls()
    waking = [wake for one in upcoming for wake in _wakes_of(one, names.get(one.workflow, "?"), now, steps)]
    waking += [
        UpcomingWake("Schedule", "clock", "New instance", cron, "", name, urls.workflow(name), at, cron)
        for name, cron, at in schedules
    ]
    waking += [
        UpcomingWake("Trigger", "clock", "scheduled()", cron, "", worker, "", at, cron)
        for worker, cron, at in triggers
    ]
    waking.sort(key=lambda wake: wake.wake_at)
    return ClockView(
        now=now,
        skew_ms=skew_ms,
        can_move=can_move,
        next_at=waking[0].wake_at if waking else None,
        is_busy=is_busy,
        waking=tuple(waking),
        groups=_groups(waking, now),
        leaps=tuple(ClockStep(word, by, wakes.get(ms, 0)) for word, by, ms in LEAPS),
    )


def _wakes_of(one: InstanceBrief, workflow: str, now: int, steps: Iterable[StepBrief]) -> list[UpcomingWake]:
    """A wake for each waiting step; an instance without any (a rollback that is tried again) has its own."""
    urls = Urls()
    own = [step for step in steps if step.instance == one.key and step.due_at is not None]
    if not own:
        url = urls.instance(workflow, one.id)
        return [UpcomingWake("Wake", "clock", "Continues", "", one.id, workflow, url, one.wake_at or now)]
    wakes = []
    for step in own:
        word, icon, detail = _what_is_due(step)
        name = step.name if step.count == 1 else f"{step.name} #{step.count}"
        url = urls.instance(workflow, one.id, step=step.seq)
        wakes.append(UpcomingWake(word, icon, name, detail, one.id, workflow, url, step.due_at or now))
    return wakes


def _what_is_due(step: StepBrief) -> tuple[str, str, str]:
    """(word, icon, detail) of the end of a wait."""
    if step.state is StepState.RETRYING:
        return "Retry", "restart", f"attempt {step.attempts + 1} of {most_attempts(step.config)}"
    if step.kind is StepKind.SLEEP:
        return "Sleep ends", "moon", ""
    if step.kind is StepKind.WAIT_FOR_EVENT:
        kind = event_type(step.config)
        return "Times out", "event", "" if kind == step.name else f"event {kind}"
    return "Times out", "clock", f"attempt {step.attempts}"


def _groups(waking: Sequence[UpcomingWake], now: int) -> tuple[tuple[str, tuple[UpcomingWake, ...]], ...]:
    groups: dict[str, list[UpcomingWake]] = {}
    for wake in waking:
        ahead = wake.wake_at - now
        title = "Within the hour" if ahead <= _HOUR_MS else "Within a day" if ahead <= _DAY_MS else "Later"
        groups.setdefault(title, []).append(wake)
    return tuple((title, tuple(wakes)) for title, wakes in groups.items())
