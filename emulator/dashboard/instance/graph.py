"""The graph of a Workflow as its runs show it: steps by order, parallel ones side by side, this run on top.

No parser is needed, so it is the same for Python and JavaScript; what no run has taken is not in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, TypeAlias

from stepwell.emulator.dashboard.instance.graph_names import Name, fewer_names, name_of
from stepwell.emulator.dashboard.parts.statuses import STEP_LOOKS
from stepwell.emulator.dashboard.parts.text import cut
from stepwell.emulator.storage.records import StepKind
from stepwell.emulator.storage.view_records import StepBrief

BOX: Final = (168, 46)
GAP: Final = (20, 40)
#: A row of more is cut in two, and its lines run behind boxes.
_WIDEST: Final = 8

#: So many names are drawn unless all are asked for.
NAMES_DRAWN: Final = 120


#: What came right before each step, by its seq.
Before: TypeAlias = dict[int, list[StepBrief]]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """`runs` is in how many runs the step was seen; `tone` "" when this run has not taken it.

    `names` is more than 1 for a node of steps whose names differ in their numbers alone. `inside` is the step that
    it was called inside of.
    """

    name: str
    short: str
    kind: str
    x: int
    y: int
    tone: str
    word: str
    times: int
    names: int
    runs: int
    url: str
    inside: str = ""


@dataclass(frozen=True, slots=True)
class GraphEdge:
    path: str
    weight: float
    taken: bool


@dataclass(frozen=True, slots=True)
class GraphView:
    """`left_out`: so many names are not drawn; `part_of`: only so many of the steps of this run were looked at."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    width: int
    height: int
    runs: int
    left_out: int = 0
    part_of: int | None = None
    box: tuple[int, int] = BOX


def build_graph(
    runs: Sequence[StepBrief], instance: int, url: Callable[[int], str], most_names: int = NAMES_DRAWN
) -> GraphView | None:
    """`runs` are steps of several instances by instance and seq; `instance` is the one on top."""
    fewer = fewer_names(runs, instance, most_names)
    runs = fewer.runs
    by_run = {key: list(steps) for key, steps in groupby(runs, key=lambda step: step.instance)}
    if not by_run:
        return None
    before = {key: predecessors(steps) for key, steps in by_run.items()}
    order = _layers(by_run, before)
    places = _places(order)
    mine = by_run.get(instance, [])
    taken: dict[Name, list[StepBrief]] = {}
    for step in mine:
        taken.setdefault(name_of(step), []).append(step)
    seen: dict[Name, int] = {}
    for steps in by_run.values():
        for name in {name_of(step) for step in steps}:
            seen[name] = seen.get(name, 0) + 1
    outer = _outer(by_run)
    nodes = [
        replace(
            _node(name, place, taken.get(name, []), (fewer.alike.get(name, 1), seen[name]), url),
            inside=outer.get(name, ""),
        )
        for name, place in places.items()
    ]
    edges = _edges(_pairs_by_run(by_run, before), instance, places)
    # A line around the last box of a row needs room.
    width = max(x for x, _ in places.values()) + BOX[0] + GAP[0]
    height = max(y for _, y in places.values()) + BOX[1] + 2
    return GraphView(tuple(nodes), tuple(edges), width, height, len(by_run), fewer.left_out)


def _layers(by_run: dict[int, list[StepBrief]], before: dict[int, Before]) -> list[list[Name]]:
    """Names by depth: the longest chain of steps that came one after another, over all runs.

    What comes after a step lies below all that was called inside of it.
    """
    depth: dict[Name, int] = {}
    for key, steps in by_run.items():
        parents = {step.seq: step.parent for step in steps}
        level: dict[int, int] = {}
        lowest: dict[int, int] = {}
        first: dict[Name, int] = {}
        for step in steps:
            earlier = (
                (level if one.seq == step.parent else lowest)[one.seq]
                for one in before[key][step.seq]
                if one.seq in level
            )
            at = max(earlier, default=-1) + 1
            level[step.seq] = at
            for seq in _outwards(step.seq, parents):
                lowest[seq] = max(lowest.get(seq, 0), at)
            first.setdefault(name_of(step), at)
        for name, at in first.items():
            depth[name] = max(depth.get(name, 0), at)
    layers: list[list[Name]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name, at in depth.items():
        layers[at].append(name)
    return [layer for layer in layers if layer]


def _outwards(seq: int | None, parents: Mapping[int, int | None]) -> Iterable[int]:
    """A step and those that it was called inside of."""
    while seq is not None:
        yield seq
        seq = parents.get(seq)


def predecessors(steps: Sequence[StepBrief]) -> Before:
    """What came right before each step: those that had ended when it began, but for what came before these.

    The first of the steps inside of another comes after that one. Steps are in the order of their starts; what can
    come right before no later one is forgotten, so the time goes by the steps side by side and not by all of them.
    """
    found: Before = {}
    by_seq = {step.seq: step for step in steps}
    candidates: dict[int | None, list[StepBrief]] = {}
    for step in steps:
        beside = candidates.setdefault(step.parent, [])
        ended = [one for one in beside if one.ended_at is not None and one.ended_at <= step.started_at]
        if ended:
            last = ended[-1]  # which also began last
            beside[:] = [
                one for one in beside if one is last or one.ended_at is None or one.ended_at > last.started_at
            ]
            found[step.seq] = [one for one in ended if one is last or (one.ended_at or 0) > last.started_at]
        else:
            found[step.seq] = [by_seq[step.parent]] if step.parent in by_seq else []
        beside.append(step)
    return found


def _outer(by_run: dict[int, list[StepBrief]]) -> dict[Name, str]:
    """The names of the steps that others were called inside of."""
    found: dict[Name, str] = {}
    for steps in by_run.values():
        names = {step.seq: step.name for step in steps}
        found.update({name_of(step): names[step.parent] for step in steps if step.parent in names})
    return found


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
    name: Name,
    place: tuple[int, int],
    steps: Sequence[StepBrief],
    seen: tuple[int, int],
    url: Callable[[int], str],
) -> GraphNode:
    """`seen`: how many names the node stands for, and in how many runs they were."""
    (kind, text), (names, runs) = name, seen
    worst = max(steps, key=lambda step: _GRAVITY[STEP_LOOKS[step.state].tone], default=None)
    look = STEP_LOOKS[worst.state] if worst is not None else None
    return GraphNode(
        name=text,
        short=cut(text, 20),
        kind={StepKind.DO: "step", StepKind.SLEEP: "sleep", StepKind.WAIT_FOR_EVENT: "event"}[kind],
        x=place[0],
        y=place[1],
        tone=look.tone if look is not None else "",
        word=look.word if look is not None else "Not taken",
        times=len(steps),
        names=names,
        runs=runs,
        url=url(worst.seq) if worst is not None else "",
    )


_GRAVITY: Final = {"good": 0, "wait": 1, "hold": 2, "run": 3, "bad": 4}


def _edges(
    by_run: dict[int, set[tuple[Name, Name]]], mine: int, places: dict[Name, tuple[int, int]]
) -> list[GraphEdge]:
    counts = Counter(pair for pairs in by_run.values() for pair in pairs)
    taken, runs = by_run.get(mine, set()), len(by_run)
    lines: list[tuple[str, int, bool]] = []
    for sources, targets in _bundles(counts):
        pairs = [(a, b) for a in sources for b in targets]
        weight, is_taken = max(counts[pair] for pair in pairs), any(pair in taken for pair in pairs)
        if len(pairs) == 1:
            lines.append((_path(places[sources[0]], places[targets[0]], places.values()), weight, is_taken))
            continue
        join = _between([places[one] for one in sources], [places[one] for one in targets])
        lines += [(_into(places[one], join), weight, is_taken) for one in sources]
        lines += [(_out_of(join, places[one]), weight, is_taken) for one in targets]
    return [
        GraphEdge(path, round(1 + 3 * weight / runs, 2), is_taken)
        for path, weight, is_taken in sorted(lines, key=lambda line: line[2])
    ]


def _bundles(pairs: Iterable[tuple[Name, Name]]) -> list[tuple[list[Name], list[Name]]]:
    """Pairs as (sources, targets): where several steps wait for the same several ones, all meet in one point."""
    sources: dict[Name, list[Name]] = {}
    for a, b in pairs:
        if a != b:
            sources.setdefault(b, []).append(a)
    together: dict[frozenset[Name], list[Name]] = {}
    for target, found in sources.items():
        together.setdefault(frozenset(found), []).append(target)
    bundles: list[tuple[list[Name], list[Name]]] = []
    for targets in together.values():
        first = sources[targets[0]]
        if len(first) > 1 and len(targets) > 1:
            bundles.append((first, targets))
        else:
            bundles.extend(([a], [b]) for b in targets for a in first)
    return bundles


def _pairs_by_run(
    by_run: dict[int, list[StepBrief]], before: dict[int, Before]
) -> dict[int, set[tuple[Name, Name]]]:
    """(step, next step)."""
    return {
        key: {(name_of(one), name_of(step)) for step in steps for one in before[key][step.seq]}
        for key, steps in by_run.items()
    }


def _between(sources: Sequence[tuple[int, int]], targets: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Where the lines of a bundle meet: in the gap above the targets."""
    middle = sum(x for x, _ in targets) // len(targets) + BOX[0] // 2
    return middle, min(y for _, y in targets) - GAP[1] // 2


def _into(a: tuple[int, int], join: tuple[int, int]) -> str:
    x, y = a[0] + BOX[0] // 2, a[1] + BOX[1]
    return f"M{x} {y} C{x} {join[1]} {x} {join[1]} {join[0]} {join[1]}"


def _out_of(join: tuple[int, int], b: tuple[int, int]) -> str:
    x, y = b[0] + BOX[0] // 2, b[1]
    return f"M{join[0]} {join[1]} C{x} {join[1]} {x} {join[1]} {x} {y}"


def _path(a: tuple[int, int], b: tuple[int, int], boxes: Iterable[tuple[int, int]]) -> str:
    """From the bottom of one box to the top of another, around the boxes between; back up along the side."""
    width, height = BOX
    x1, y1, x2, y2 = a[0] + width // 2, a[1] + height, b[0] + width // 2, b[1]
    if y2 > y1:
        between = [box for box in boxes if y1 <= box[1] < y2 - height]
        if any(_reaches(box, min(x1, x2), max(x1, x2)) for box in between):
            side, half = _free_column(between, (x1 + x2) // 2), GAP[1] // 2
            return f"M{x1} {y1} V{y1 + half} H{side} V{y2 - half} H{x2} V{y2}"
        bend = (y2 - y1) // 2
        return f"M{x1} {y1} C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
    side = max(a[0], b[0]) + width + 14
    return f"M{a[0] + width} {a[1] + height // 2} C{side} {a[1]} {side} {b[1]} {b[0] + width} {b[1] + height // 2}"


def _reaches(box: tuple[int, int], left: int, right: int) -> bool:
    return box[0] - 4 <= right and box[0] + BOX[0] + 4 >= left


def _free_column(boxes: Sequence[tuple[int, int]], near: int) -> int:
    """The place nearest to `near` where a line passes all boxes: in a gap beside one of them."""
    columns = [box[0] + BOX[0] + GAP[0] // 2 for box in boxes] + [box[0] - GAP[0] // 2 for box in boxes]
    free = [x for x in columns if x > 0 and not any(_reaches(box, x, x) for box in boxes)]
    return min(free, key=lambda x: abs(x - near), default=max(columns))
