"""Addresses of the page of an instance: its tabs, its steps, what of it is folded."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.emulator.dashboard.instance.excerpt import UNFOLDED
from stepwell.emulator.dashboard.instance.inputs import TABS, InstanceInputs
from stepwell.emulator.storage.view_records import StepStretch


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    word: str
    url: str
    selected: bool
    count: int | None


@dataclass(frozen=True, slots=True)
class FoldView:
    """Steps that are folded; the addresses unfold the first of them, or the last (empty where that is the same)."""

    steps: StepStretch
    first_url: str
    last_url: str


class InstanceLinks:
    """Addresses of the page: the same with one thing changed."""

    def __init__(self, given: InstanceInputs) -> None:
        self._given = given

    def _url(self, **changed: str | int | None) -> str:
        given = self._given
        parts: dict[str, str | int | None] = {"tab": given.tab if given.tab != "steps" else None}
        if given.unfold is not None:
            parts["steps_from"] = given.unfold
        if given.find:
            parts["find"] = given.find
        if given.like:
            parts["like"] = given.like
        if given.show_real:
            parts["time"] = "real"
        if given.window is not None:
            parts["from"], parts["to"] = given.window
        return given.address.page(**{**parts, **changed})

    def here(self) -> str:
        return self._url(**{"from": None, "to": None})

    def other_time(self) -> str:
        """The timeline in real time, or back in the engine's; empty where the two are the same."""
        row = self._given.row
        end = row.ended_at if row.ended_at is not None else self._given.now
        if not self._given.real_time.moved_within(row.created_at, end):
            return ""
        return self._url(**{"from": None, "to": None, "time": None if self._given.show_real else "real"})

    def step(self, seq: int) -> str:
        return f"{self._url(step=seq)}#step-{seq}"

    def tabs(self, advice: int) -> tuple[Tab, ...]:
        given = self._given
        counts: dict[str, int | None] = {
            "steps": given.row.step_count,
            "events": given.event_count,
            "advice": advice,
        }
        return tuple(
            Tab(
                name,
                word,
                given.address.page(tab=None if name == "steps" else name),
                name == given.tab,
                counts.get(name) or None,
            )
            for name, word in TABS
            if not (given.read_only and name == "graph")
        )

    def unfound(self) -> str:
        """Every step again, whatever its name."""
        return self._url(find=None)

    def fold(self, steps: StepStretch) -> FoldView:
        last = max(steps.first, steps.last - UNFOLDED + 1)
        return FoldView(steps, self._unfold(steps.first), self._unfold(last) if last > steps.first else "")

    def _unfold(self, seq: int) -> str:
        return f"{self._url(steps_from=seq)}#step-{seq}"
