"""What instances cost while nothing happens: memory, disk, and the start with many of them stored."""

from __future__ import annotations

import asyncio

from benchmarks.figures import Figure
from benchmarks.processes import Server, seconds_since
from benchmarks.throughput import make_sleepers

#: More than any in-memory cap, so that the slope beyond it is what is measured.
BEYOND_THE_CAP = 10_000


async def sleepers(server: Server, limits: dict[str, float], count: int = 100_000) -> list[Figure]:
    """Memory per sleeping instance beyond the cap, then the start with all of them stored."""
    empty_s = await _best_restart(server)
    await make_sleepers(server, BEYOND_THE_CAP)
    before = server.memory_bytes()
    await make_sleepers(server, count - BEYOND_THE_CAP)
    await asyncio.sleep(1)
    per_sleeper_kb = (server.memory_bytes() - before) / (count - BEYOND_THE_CAP) / 1000
    full_s = await _best_restart(server)
    row_kb = limits["row_bytes"] / 1000
    return [
        Figure(
            "memory per sleeping instance", per_sleeper_kb, "KB", row_kb, "a bare row on disk", "at most", 4, 0.6
        ),
        Figure(
            f"start with {count:,} sleepers", full_s, "s", empty_s, "start without any", "ratio at most", 1.5, 1.15
        ),
    ]


async def _best_restart(server: Server, times: int = 3) -> float:
    """The shortest of a few restarts: on a shared machine the others say how busy it was."""
    return min([await _restart(server) for _ in range(times)])


async def _restart(server: Server) -> float:
    """Seconds from the start of the process until a status answers; the instance asked for is a fresh one's."""
    server.kill()
    await server.start()
    api = server.api()
    instance_id = await api.create(kind="sleep", ms=3_600_000)
    await api.status(instance_id)
    took_s = seconds_since(server.began_ns)
    api.close()
    return took_s


async def database_size(server: Server, limits: dict[str, float], steps: int = 1_000) -> list[Figure]:
    """Database bytes per trivial step, history included."""
    api = server.api()
    await api.until_complete(await api.create(kind="seq", n=1))
    before = server.database_bytes()
    await api.until_complete(await api.create(kind="seq", n=steps))
    await asyncio.sleep(0.5)
    per_step = (server.database_bytes() - before) / steps
    limit = limits["row_bytes"]
    return [
        Figure("database bytes per step", per_step, "bytes", limit, "the step's row alone", "at most", 550, 300)
    ]
