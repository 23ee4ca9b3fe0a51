"""Addresses of the page of a run: the same with one thing changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from stepwell.emulator.dashboard.instance.context import TABS, PageQuery, RunContext
from stepwell.emulator.dashboard.instance.outline import StepGroup
from stepwell.emulator.storage.view_records import EntryCounts

Part: TypeAlias = str | int | Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Tab:
    name: str
    word: str
    url: str
    selected: bool
    count: int | None


class RunLinks:
    """`RowLinks` of a timeline, and the others of the page."""

    def __init__(self, context: RunContext) -> None:
        self._address = context.address
        self._query = context.query
        self._read_only = context.read_only

    def page(self, **changed: Part) -> str:
        """The page as it is, with some parts changed; None leaves a part out."""
        return self._address.page(**{**_kept(self._query), **changed})

    def step(self, seq: int) -> str:
        return f"{self.page(step=seq)}#step-{seq}"

    def closed(self) -> str:
        """Without the step that is open beside it."""
        return self.page(step=None)

    def cause(self, number: int) -> str:
        return self.page(cause=number, step=self._query.selected)

    # -- the timeline
    def unfold(self, group: StepGroup, seq: int | None, only: str = "") -> str:
        members = {step.seq for step in group.steps}
        others = [str(one) for one in self._query.unfold if one not in members]
        place = f"#group-{group.key}"
        unfold = others if seq is None else [*others, str(seq)]
        return self.page(steps_from=unfold, only=only or None) + place

    def unfold_fold(self, seq: int) -> str:
        return self.page(steps_from=[*map(str, self._query.unfold), str(seq)]) + f"#step-{seq}"

    def whole(self) -> str:
        """The whole run."""
        return self.page(**{"from": None, "to": None})

    def zoomed(self, start: int, end: int) -> str:
        return self.page(**{"from": start, "to": end})

    def every_step(self) -> str:
        """Every step again, whatever its name."""
        return self.page(find=None)

    def other_time(self) -> str:
        """The timeline in real time, or back in the engine's."""
        time = None if self._query.show_real else "real"
        return self.page(**{"from": None, "to": None, "time": time})

    # -- tabs
    def tab(self, name: str, **more: Part) -> str:
        like = self._query.like or None
        return self._address.page(tab=None if name == "steps" else name, like=like, **more)

    def tabs(self, counts: EntryCounts) -> tuple[Tab, ...]:
        """Checks are behind a chip of the header, so that their tab is there only while it is open."""
        numbers = {"events": counts.events, "logs": counts.logs, "history": counts.history}
        return tuple(
            Tab(name, word, self.tab(name), name == self._query.tab, numbers.get(name) or None)
            for name, word in TABS
            if name == self._query.tab or not (name == "advice" or (name == "graph" and self._read_only))
        )


def _kept(query: PageQuery) -> dict[str, Part]:
    window = query.window or (None, None)
    return {
        "tab": query.tab if query.tab != "steps" else None,
        "steps_from": [str(seq) for seq in query.unfold],
        "only": query.only or None,
        "find": query.find or None,
        "like": query.like or None,
        "time": "real" if query.show_real else None,
        "from": window[0],
        "to": window[1],
    }
