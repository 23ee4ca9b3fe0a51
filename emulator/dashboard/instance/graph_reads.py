"""What the graph of an instance is drawn from: its own steps, and those of the newest runs beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.instance.graph import NAMES_DRAWN, GraphView, build_graph
from stepwell.emulator.dashboard.instance.links import RunLinks
from stepwell.emulator.storage.reader import SqliteReader

_RUNS: Final = 60
#: So many steps of the instance itself are looked at; reading and ordering them takes 50 ms.
_STEPS: Final = 1_500
_EVERY_NAME: Final = 2_000


def run_graph(reader: SqliteReader, context: RunContext) -> GraphView | None:
    """None where no step has started yet."""
    key = context.key
    mine = reader.run_steps(key, _STEPS)
    others = reader.recent_runs(context.workflow.key, _RUNS, without=key)
    most = _EVERY_NAME if context.query.names == "all" else NAMES_DRAWN
    graph = build_graph([*mine, *others], key, RunLinks(context).step, most)
    if graph is None or context.row.step_count <= _STEPS:
        return graph
    return replace(graph, part_of=_STEPS)
