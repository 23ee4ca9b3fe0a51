"""The graph of a Workflow as its runs show it: steps by order, parallel ones side by side, this run on top.

No parser is needed, so it is the same for Python and JavaScript; what no run has taken is not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from emulator.dashboard.statuses import STEP_LOOKS
from emulator.dashboard.text import cut
from emulator.storage.records import StepKind
from emulator.storage.view_records import StepBrief

BOX: Final = (196, 46)
GAP: Final = (28, 34)
_WIDEST: Final = 5

Name = tuple[StepKind, str]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """`runs` is in how many runs the step was seen; `tone` "" when this run has not taken it."""

    name: str
    short: str
    kind: str
    x: int
    y: int
    tone: str
    word: str
    times: int
    runs: int
    url: str


@dataclass(frozen=True, slots=True)
class GraphEdge:
    path: str
    weight: float
    taken: bool


@dataclass(frozen=True, slots=True)
class GraphView:
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    width: int
    height: int
    runs: int
    box: tuple[int, int] = BOX


def build_graph(runs: Sequence[StepBrief], instance: int, urls: dict[int, str]) -> GraphView | None:
    """`runs` are steps of several instances by instance and seq; `instance` is the one on top."""
    by_run = {key: list(steps) for key, steps in groupby(runs, key=lambda step: step.instance)}
    if not by_run:
        return None
    order = _layers(by_run.values())
    places = _places(order)
    mine = by_run.get(instance, [])
    taken: dict[Name, list[StepBrief]] = {}
    for step in mine:
        taken.setdefault((step.kind, step.name), []).append(step)
    seen: dict[Name, int] = {}
    for steps in by_run.values():
        for name in {(step.kind, step.name) for step in steps}:
            seen[name] = seen.get(name, 0) + 1
    nodes = [_node(name, place, taken.get(name, []), seen[name], urls) for name, place in places.items()]
    edges = _edges(by_run, mine, places, len(by_run))
    width = max(x for x, _ in places.values()) + BOX[0] + 2
    height = max(y for _, y in places.values()) + BOX[1] + 2
    return GraphView(tuple(nodes), tuple(edges), width, height, len(by_run))


def _layers(runs: Iterable[Sequence[StepBrief]]) -> list[list[Name]]:
    """Names by depth: the longest chain of steps that ended before they began, over all runs."""
    depth: dict[Name, int] = {}
    for steps in runs:
        level: dict[Name, int] = {}
        ended: list[tuple[int, int, int]] = []  # (ended_at, seq, depth)
        for step in steps:
            name = (step.kind, step.name)
            if name in level:
                continue
            before = [d for at, seq, d in ended if at <= step.started_at and seq < step.seq]
            level[name] = max(before, default=-1) + 1
            if step.ended_at is not None:
                ended.append((step.ended_at, step.seq, level[name]))
        for name, at in level.items():
            depth[name] = max(depth.get(name, 0), at)
    layers: list[list[Name]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name, at in depth.items():
        layers[at].append(name)
    return [layer for layer in layers if layer]


def _places(layers: Sequence[Sequence[Name]]) -> dict[Name, tuple[int, int]]:
    rows = [layer[at : at + _WIDEST] for layer in layers for at in range(0, len(layer), _WIDEST)]
    widest = max(len(row) for row in rows)
    places = {}
    for y, row in enumerate(rows):
        indent = (widest - len(row)) * (BOX[0] + GAP[0]) // 2
        for x, name in enumerate(row):
            places[name] = (1 + indent + x * (BOX[0] + GAP[0]), 1 + y * (BOX[1] + GAP[1]))
    return places


def _node(
    name: Name, place: tuple[int, int], steps: Sequence[StepBrief], runs: int, urls: dict[int, str]
) -> GraphNode:
    kind, text = name
    worst = max(steps, key=lambda step: _GRAVITY[STEP_LOOKS[step.state].tone], default=None)
    look = STEP_LOOKS[worst.state] if worst is not None else None
    return GraphNode(
        name=text,
        short=cut(text, 24),
        kind={StepKind.DO: "step", StepKind.SLEEP: "sleep", StepKind.WAIT_FOR_EVENT: "event"}[kind],
        x=place[0],
        y=place[1],
        tone=look.tone if look is not None else "",
        word=look.word if look is not None else "Not taken",
        times=len(steps),
        runs=runs,
        url=urls.get(worst.seq, "") if worst is not None else "",
    )


_GRAVITY: Final = {"good": 0, "wait": 1, "hold": 2, "run": 3, "bad": 4}


def _edges(
    by_run: dict[int, list[StepBrief]], mine: Sequence[StepBrief], places: dict[Name, tuple[int, int]], runs: int
) -> list[GraphEdge]:
    counts: dict[tuple[Name, Name], int] = {}
    for steps in by_run.values():
        for pair in set(_pairs(steps)):
            counts[pair] = counts.get(pair, 0) + 1
    taken = set(_pairs(mine))
    return [
        GraphEdge(_path(places[a], places[b]), round(1 + 3 * count / runs, 2), (a, b) in taken)
        for (a, b), count in sorted(counts.items(), key=lambda one: one[0] in taken)
        if a != b
    ]


def _pairs(steps: Sequence[StepBrief]) -> list[tuple[Name, Name]]:
    """(step, next step): the last one that had ended when it began."""
    pairs: list[tuple[Name, Name]] = []
    for index, step in enumerate(steps):
        before = [one for one in steps[:index] if one.ended_at is not None and one.ended_at <= step.started_at]
        if before:
            last = max(before, key=lambda one: (one.ended_at or 0, one.seq))
            peers = [one for one in before if one.started_at == last.started_at] or [last]
            pairs.extend(((one.kind, one.name), (step.kind, step.name)) for one in peers)
    return pairs


def _path(a: tuple[int, int], b: tuple[int, int]) -> str:
    """From the bottom of one box to the top of another; back up along the side."""
    width, height = BOX
    x1, y1, x2, y2 = a[0] + width // 2, a[1] + height, b[0] + width // 2, b[1]
    if y2 > y1:
        bend = (y2 - y1) // 2
        return f"M{x1} {y1} C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
    side = max(a[0], b[0]) + width + 14
    return f"M{a[0] + width} {a[1] + height // 2} C{side} {a[1]} {side} {b[1]} {b[0] + width} {b[1] + height // 2}"
