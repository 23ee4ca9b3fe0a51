"""One measured figure beside what it is compared with: the limit of the same run, what must hold, what to reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

from rich.table import Table

#: Whether the goals are for the figure itself or for its ratio to the limit, and which way is better.
Goal: TypeAlias = Literal["at least", "at most", "ratio at least", "ratio at most"]
Verdict: TypeAlias = Literal["reached", "holds", "misses"]

_STYLE = {"reached": "bold green", "holds": "green", "misses": "bold red"}


@dataclass(frozen=True, slots=True)
class Figure:
    """`limit` is what the machine can do at most (or an empty start), in the unit of `value`."""

    name: str
    value: float
    unit: str
    limit: float
    limit_name: str
    goal: Goal
    must: float
    reach: float

    @property
    def ratio(self) -> float:
        return self.value / self.limit if self.limit else float("inf")

    @property
    def judged(self) -> float:
        """What the goals are compared with."""
        return self.ratio if self.goal.startswith("ratio") else self.value

    @property
    def verdict(self) -> Verdict:
        if self._meets(self.reach):
            return "reached"
        return "holds" if self._meets(self.must) else "misses"

    def _meets(self, goal: float) -> bool:
        return self.judged >= goal if self.goal.endswith("least") else self.judged <= goal

    def goal_text(self, goal: float) -> str:
        """A goal as the table shows it: `≥ 0.2 ×` or `≤ 25 ms`."""
        sign = "≥" if self.goal.endswith("least") else "≤"
        return f"{sign} {goal:g} {'×' if self.goal.startswith('ratio') else self.unit}"


def medians(runs: Sequence[Sequence[Figure]]) -> list[Figure]:
    """The figures of several runs as one: each value and limit the median of its own."""
    by_name: dict[str, list[Figure]] = {}
    for run in runs:
        for figure in run:
            by_name.setdefault(figure.name, []).append(figure)
    return [_median(figures) for figures in by_name.values()]


def _median(figures: Sequence[Figure]) -> Figure:
    one = figures[0]
    value, limit = median(f.value for f in figures), median(f.limit for f in figures)
    return Figure(one.name, value, one.unit, limit, one.limit_name, one.goal, one.must, one.reach)


def table(figures: Sequence[Figure], title: str) -> Table:
    out = Table("measure", title=title, title_justify="left")
    for name in ("measured", "limit in this run", "ratio", "must", "reach", "verdict"):
        out.add_column(name, justify="left" if name == "limit in this run" else "right")
    for figure in figures:
        out.add_row(
            figure.name,
            f"{figure.value:,.4g} {figure.unit}",
            f"{figure.limit:,.4g} {figure.unit}: {figure.limit_name}",
            f"{figure.ratio:.3g}",
            figure.goal_text(figure.must),
            figure.goal_text(figure.reach),
            f"[{_STYLE[figure.verdict]}]{figure.verdict}[/]",
        )
    return out
