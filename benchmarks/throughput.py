"""How much the engine gets done: steps one after another, side by side, at once; instances over HTTP; batches."""

from __future__ import annotations

import asyncio
import time

from benchmarks.client import Api
from benchmarks.figures import Figure
from benchmarks.processes import Server, seconds_since
from stepwell.emulator.clock import monotonic_ns

CONNECTIONS = 32
_ROUNDS_BEFORE = 10


async def one_instance(server: Server, limits: dict[str, float]) -> list[Figure]:
    """1,000 trivial steps one after another."""
    api = server.api()
    await api.until_complete(await api.create(kind="seq", n=20), every_ms=2)
    began = monotonic_ns()
    await api.until_complete(await api.create(kind="seq", n=1_000))
    rate, limit = 1_000 / seconds_since(began), limits["step_loop_per_s"]
    name = "one instance, 1,000 steps one after another"
    return [Figure(name, rate, "/s", limit, "bare step loop", "ratio at least", 0.20, 0.35)]


async def hundred_instances(server: Server, limits: dict[str, float], steps: int = 50) -> list[Figure]:
    """100 instances that are created together, their steps counted until the last one ends."""
    api = server.api()
    began_ms = time.time() * 1000
    ids = await api.batch(100, kind="seq", n=steps)
    ends = [(await api.until_complete(instance_id))["output"]["end"] for instance_id in ids]
    rate = 100 * steps / ((max(ends) - began_ms) / 1000)
    limit = limits["shared_loop_per_s"]
    return [
        Figure(
            "100 instances at once, steps", rate, "/s", limit, "shared-commit loop", "ratio at least", 0.22, 0.50
        )
    ]


async def fan_out(server: Server, limits: dict[str, float]) -> list[Figure]:
    """500 parallel steps of one instance."""
    api = server.api()
    await api.until_complete(await api.create(kind="fan", n=20), every_ms=2)
    began_ms = time.time() * 1000
    status = await api.until_complete(await api.create(kind="fan", n=500), every_ms=5)
    took_s = (status["output"]["end"] - began_ms) / 1000
    limit = limits["fan_out_s"]
    return [Figure("fan-out of 500 steps", took_s, "s", limit, "500 in the shared loop", "at most", 0.14, 0.07)]


async def over_http(server: Server, limits: dict[str, float], count: int = 1_000) -> list[Figure]:
    """Instances of 3 steps from 32 connections, until the last one ends; often before, to fill all caches.

    Memory still grows for some thousands of instances, until the collector's generations have their size.
    """
    apis = [server.api() for _ in range(CONNECTIONS)]
    for _ in range(_ROUNDS_BEFORE):
        await _create_and_finish(apis, count)
    before_bytes, began_ms = server.memory_bytes(), time.time() * 1000
    rate = count / ((await _create_and_finish(apis, count) - began_ms) / 1000)
    growth_kb = (server.memory_bytes() - before_bytes) / count / 1000
    for api in apis:
        api.close()
    return [
        Figure(
            "instances of 3 steps over HTTP",
            rate,
            "/s",
            limits["http_per_s"],
            "bare web server",
            "at least",
            440,
            900,
        ),
        Figure("memory growth per finished instance", growth_kb, "KB", 0, "none", "at most", 2, 0.05),
    ]


async def _create_and_finish(apis: list[Api], count: int) -> float:
    """When the last of so many instances ended, in ms since 1970."""
    left, ids = iter(range(count)), list[str]()

    async def worker(api: Api) -> None:
        for _ in left:
            ids.append(await api.create(kind="seq", n=3))

    await asyncio.gather(*(worker(api) for api in apis))
    return max([float((await apis[0].until_complete(instance_id))["output"]["end"]) for instance_id in ids])


async def batches(server: Server, limits: dict[str, float], count: int = 10_000) -> list[Figure]:
    """createBatch of instances that sleep for an hour."""
    rate = await make_sleepers(server, count)
    limit = limits["bulk_rows_per_s"]
    return [
        Figure(
            "createBatch of sleeping instances", rate, "/s", limit, "rows, 100 a commit", "at least", 5_000, 15_000
        )
    ]


async def make_sleepers(server: Server, count: int) -> float:
    """Creates instances that sleep, 100 a call; how many per second."""
    api = server.api()
    began = monotonic_ns()
    for _ in range(count // 100):
        await api.batch(100, kind="sleep", ms=3_600_000)
    rate = count / seconds_since(began)
    api.close()
    return rate
