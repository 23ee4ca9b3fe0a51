"""How long a caller waits."""

from __future__ import annotations

import asyncio

from benchmarks.client import Api
from benchmarks.figures import Figure
from benchmarks.processes import Server, seconds_since
from stepwell.emulator.clock import monotonic_ns


async def small_instance(server: Server, limits: dict[str, float], times: int = 100) -> list[Figure]:
    """Create to complete of 3 steps, one instance at a time, polled every millisecond."""
    api = server.api()
    took_ms = []
    for _ in range(times + 5):
        began = monotonic_ns()
        await api.until_complete(await api.create(kind="seq", n=3), every_ms=1)
        took_ms.append(seconds_since(began) * 1e3)
    p50 = sorted(took_ms[5:])[times // 2]
    limit = limits["http_ms"]
    return [Figure("create to complete, p50", p50, "ms", limit, "one call of a bare server", "at most", 6, 3)]


async def beside_a_hot_instance(server: Server, limits: dict[str, float]) -> list[Figure]:
    """The longest wait of another call while one instance runs 1,000 steps."""
    api, probe = server.api(), server.api()
    other = await api.create(kind="seq", n=1)
    await api.until_complete(other)
    idle = [await _probe(probe, other) for _ in range(100)]

    async def hot() -> None:
        await api.until_complete(await api.create(kind="seq", n=1_000), every_ms=50)

    running = asyncio.create_task(hot())
    waits = []
    while not running.done():
        waits.append(await _probe(probe, other))
        await asyncio.sleep(0.005)
    await running
    return [
        Figure(
            "longest wait beside 1,000 steps",
            max(waits),
            "ms",
            max(idle),
            "longest of 100 when idle",
            "at most",
            25,
            5,
        )
    ]


async def _probe(api: Api, instance_id: str) -> float:
    """Milliseconds of the slower of two calls: one to the Worker alone, one that asks the engine."""
    began = monotonic_ns()
    await api.health()
    health_ms = seconds_since(began) * 1e3
    began = monotonic_ns()
    await api.status(instance_id)
    return max(health_ms, seconds_since(began) * 1e3)


async def cold_start(server: Server, limits: dict[str, float], times: int = 3) -> list[Figure]:
    """Process start to Ready and to the first complete instance; idle memory. The best of a few starts."""
    server.close()
    starts = [await _fresh_start() for _ in range(times)]
    ready_s, first_s, idle_mb = (min(figures) for figures in zip(*starts, strict=True))
    start_s, start_mb = limits["process_start_s"], limits["process_start_mb"]
    bare = "importing server and SQLite"
    return [
        Figure("process start to Ready", ready_s, "s", start_s, bare, "at most", 0.45, 0.25),
        Figure("process start to first complete", first_s, "s", start_s, bare, "at most", 0.5, 0.3),
        Figure("idle memory", idle_mb, "MB", start_mb, bare, "at most", 52, 42),
    ]


async def _fresh_start() -> tuple[float, float, float]:
    """Seconds to Ready, seconds to the first complete instance, megabytes when idle; in a folder of its own."""
    fresh = Server()
    try:
        ready_s = await fresh.start()
        api = fresh.api()
        await api.until_complete(await api.create(kind="seq", n=1), every_ms=2)
        first_s = seconds_since(fresh.began_ns)
        await asyncio.sleep(2)
        return ready_s, first_s, fresh.memory_bytes() / 1e6
    finally:
        fresh.close()
