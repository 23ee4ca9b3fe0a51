"""Measures `stepwell dev` beside what this machine can do.

\b
    python -m benchmarks                    # everything, once
    python -m benchmarks --only over_http --runs 5
    python -m benchmarks.limits             # the limits alone
    python -m benchmarks.api                # the APIs with 100,000 instances stored, under three loads
    python -m benchmarks.dashboard          # the dashboard in Chromium, with 100,000 instances stored
    python -m benchmarks.javascript         # JavaScript, beside wrangler and workerd

Linux only: memory and CPU are read from /proc. Exits 1 when a figure misses what must hold.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

import click
from rich.console import Console

from benchmarks import api, latency, recovery, storage, throughput
from benchmarks.client import BenchError
from benchmarks.figures import Figure, medians, table
from benchmarks.limits import all_limits
from benchmarks.processes import Server

Measure: TypeAlias = Callable[[Server, dict[str, float]], Awaitable[list[Figure]]]

MEASURES: dict[str, Measure] = {
    "one_instance": throughput.one_instance,
    "hundred_instances": throughput.hundred_instances,
    "fan_out": throughput.fan_out,
    "over_http": throughput.over_http,
    "small_instance": latency.small_instance,
    "beside_a_hot_instance": latency.beside_a_hot_instance,
    "reads": api.reads,
    "batches": throughput.batches,
    "sleepers": storage.sleepers,
    "wake": recovery.wake,
    "cold_start": latency.cold_start,
    "database_size": storage.database_size,
    "after_a_kill": recovery.after_a_kill,
}


@click.command(help=__doc__)
@click.option("--only", multiple=True, type=click.Choice(list(MEASURES)), help="measure only this (repeatable)")
@click.option("--runs", default=1, show_default=True, help="runs of which to show the medians")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="write the figures of all runs")
def main(only: Sequence[str], runs: int, json_file: Path | None) -> None:
    console = Console(width=max(Console().width, 150))
    taken = [asyncio.run(_one_run(only or list(MEASURES), console)) for _ in range(runs)]
    figures = medians(taken)
    console.print(table(figures, f"medians of {runs}; load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores"))
    if json_file is not None:
        json_file.write_text(json.dumps([[asdict(figure) for figure in run] for run in taken], indent=1))
    sys.exit(1 if any(figure.verdict == "misses" for figure in figures) else 0)


async def _one_run(names: Sequence[str], console: Console) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="stepwell-limits-") as folder:
        limits = await all_limits(Path(folder))
    figures: list[Figure] = []
    for name in names:
        figures += await _measured(name, limits, console)
    return figures


async def _measured(name: str, limits: dict[str, float], console: Console) -> list[Figure]:
    """One measure on a server of its own; a measure that cannot be taken is said and left out."""
    server = Server()
    try:
        await server.start()
        with console.status(name):
            return await MEASURES[name](server, limits)
    except (BenchError, OSError) as error:
        console.print(f"{name}: {error}", style="red", markup=False)
        return []
    finally:
        server.close()


if __name__ == "__main__":
    main()
