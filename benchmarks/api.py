"""How long the APIs take to answer with 100,000 instances stored, while the engine is idle and while it runs steps.

\b
    python -m benchmarks.api                # each read: idle, beside 1,000 steps/s, beside all that it can do

The main benchmark takes the figures of the second of them.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from rich.console import Console
from rich.table import Table

from benchmarks.client import BenchError, Connection
from benchmarks.figures import Figure
from benchmarks.processes import Server, seconds_since
from benchmarks.storage import make_sleepers
from stepwell.emulator.clock import monotonic_ns

STORED = 100_000
#: Of the large instance.
STEPS = 1_000
TIMES = 100

_REST = "/client/v4/accounts/any/workflows"
_FLOW = f"{_REST}/bench-wf/instances"
_EXPLORER = "/cdn-cgi/local/explorer/api/workflows/bench-wf/instances"
#: Milliseconds of each read, sorted.
Waits = dict[str, list[float]]


async def reads(server: Server, limits: dict[str, float], stored: int = STORED) -> list[Figure]:
    """The ninth of ten waits for each read beside 1,000 steps a second; its limit is that of an idle engine."""
    paths = await _filled(server, stored)
    idle = await _waits(server, paths)
    async with _running(server, steps_per_s=1_000):
        busy = await _waits(server, paths)
    return [
        Figure(
            f"{name}, p90 beside 1,000 steps/s", _p90(busy[name]), "ms", _p90(idle[name]), "idle", "at most", 30, 15
        )
        for name in paths
    ]


async def _filled(server: Server, stored: int) -> dict[str, str]:
    """Stores so many instances, a tenth of them complete; gives the paths to read, by what they show."""
    api = server.api()
    for _ in range(stored // 1_000):
        await api.batch(100, kind="seq", n=1)
    await make_sleepers(server, stored * 9 // 10)
    large = await api.create(kind="seq", n=STEPS)
    await api.until_complete(large)
    api.close()
    middle = stored // 200
    first, half = "date_start=2020-01-01", f"date_end={await _created(server, middle)}"
    return {
        "page of 25": _FLOW,
        "page of 100": f"{_FLOW}?per_page=100",
        "page by status": f"{_FLOW}?per_page=100&status=waiting",
        "page by date": f"{_FLOW}?per_page=100&{first}&{half}",
        "page by date and status": f"{_FLOW}?per_page=100&status=waiting&{first}&{half}",
        "page in the middle": f"{_FLOW}?per_page=100&page={middle}",
        "page by a deep cursor": f"{_FLOW}?per_page=100&cursor={await _cursor(server, pages=50)}",
        "explorer page": f"{_EXPLORER}?per_page=100",
        f"instance of {STEPS:,} steps": f"{_FLOW}/{large}",
        "its explorer view": f"{_EXPLORER}/{large}",
        "one of its steps": f"{_FLOW}/{large}/step?name=s{STEPS // 2}-1&type=step",
        "Workflows": _REST,
    }


async def _created(server: Server, page: int) -> str:
    """When the last instance of a page was created."""
    answer = await _json(server, f"{_FLOW}?per_page=100&page={page}")
    return str(answer["result"][-1]["created_on"])


async def _cursor(server: Server, pages: int) -> str:
    """The cursor after so many pages."""
    cursor = ""
    for _ in range(pages):
        answer = await _json(server, f"{_FLOW}?per_page=100&cursor={cursor}")
        cursor = answer["result_info"]["cursor"]
    return cursor


async def _json(server: Server, path: str) -> dict[str, dict]:
    connection = Connection(server.port)
    _, data = await connection.call("GET", path)
    connection.close()
    return json.loads(data)


async def _waits(server: Server, paths: dict[str, str]) -> Waits:
    """The paths take turns, so that they meet the same load; the first turn is for what is loaded once."""
    connection = Connection(server.port)
    waits: Waits = {name: [] for name in paths}
    for _ in range(TIMES + 1):
        for name, path in paths.items():
            began = monotonic_ns()
            status, data = await connection.call("GET", path)
            waits[name].append(seconds_since(began) * 1e3)
            if status != 200:
                raise BenchError(f"{path} answered {status}: {data[:300]!r}")
    connection.close()
    return {name: sorted(waited[1:]) for name, waited in waits.items()}


def _p90(waited: Sequence[float]) -> float:
    return waited[len(waited) * 9 // 10]


@asynccontextmanager
async def _running(server: Server, steps_per_s: float, each: int = 50) -> AsyncIterator[None]:
    """While it is open, instances are created so that so many steps run in a second, or as many as can."""
    api = server.api()

    async def create() -> None:
        began, count = monotonic_ns(), 0
        while True:
            instance_id = await api.create(kind="seq", n=each)
            count += each
            if steps_per_s == float("inf"):
                await api.until_complete(instance_id, every_ms=2)
            await asyncio.sleep(max(0.0, count / steps_per_s - seconds_since(began)))

    creating = asyncio.create_task(create())
    try:
        yield
    finally:
        creating.cancel()
        api.close()


async def _main() -> None:
    server = Server()
    try:
        await server.start()
        paths = await _filled(server, STORED)
        taken = {"idle": await _waits(server, paths)}
        for name, rate in (("1,000 steps/s", 1_000.0), ("all it can do", float("inf"))):
            async with _running(server, rate):
                taken[name] = await _waits(server, paths)
    finally:
        server.close()
    _print(list(paths), taken)


def _print(names: list[str], taken: dict[str, Waits]) -> None:
    table = Table("read", title=f"ms: p50 / p90 / max; load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    for engine in taken:
        table.add_column(engine, justify="right")
    for name in names:
        waited = [waits[name] for waits in taken.values()]
        table.add_row(name, *(f"{one[len(one) // 2]:.1f} / {_p90(one):.1f} / {one[-1]:.1f}" for one in waited))
    Console(width=max(Console().width, 120)).print(table)


if __name__ == "__main__":
    asyncio.run(_main())
