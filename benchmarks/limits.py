"""What one Python process can do at most on this machine: the limits that the measurements are compared with.

python -m benchmarks.limits
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import apsw

from benchmarks.client import Api
from benchmarks.processes import ENVIRONMENT, seconds_since
from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.testing.contract.processes import free_port

_TABLE = (
    "CREATE TABLE step(instance INTEGER, n INTEGER, name TEXT, output TEXT, at INTEGER, "
    "PRIMARY KEY(instance, n)) WITHOUT ROWID"
)
_INSERT = "INSERT INTO step VALUES(?,?,?,?,?)"
_SELECT = "SELECT output FROM step WHERE instance=? AND n=?"


def _database(folder: Path, synchronous: str = "NORMAL") -> apsw.Connection:
    for file in folder.glob("limits.db*"):
        file.unlink()
    db = apsw.Connection(str(folder / "limits.db"))
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"PRAGMA synchronous={synchronous}")
    db.execute(_TABLE)
    return db


async def _trivial(index: int) -> dict[str, int]:
    return {"i": index}


class StepLoop:
    """The least that a durable step needs: look the record up, run the callback, write the record.

    Alone, each step commits. Shared, the steps of all instances that end in one turn of the loop have one commit,
    made before any of them goes on.
    """

    def __init__(self, db: apsw.Connection, *, shared: bool) -> None:
        self._db = db
        self._shared = shared
        self._waiting: list[tuple[tuple[Any, ...], asyncio.Future[None]]] = []

    async def steps_per_s(self, steps: int, instances: int) -> float:
        async def instance(number: int) -> None:
            for index in range(steps // instances):
                await self._do(number, index)

        began = monotonic_ns()
        await asyncio.gather(*(instance(number) for number in range(instances)))
        return steps / seconds_since(began)

    async def _do(self, instance: int, index: int) -> None:
        self._db.execute(_SELECT, (instance, index)).fetchone()
        async with asyncio.timeout(600):
            value = await _trivial(index)
        row = (instance, index, f"step-{index}", json.dumps(value), monotonic_ns())
        if self._shared:
            await self._written(row)
        else:
            self._db.execute(_INSERT, row)

    def _written(self, row: tuple[Any, ...]) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._flush)
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append((row, future))
        return future

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        with self._db:
            self._db.executemany(_INSERT, [row for row, _ in batch])
        for _, future in batch:
            future.set_result(None)


async def bare_step_loop(folder: Path) -> float:
    """Steps per second of one instance, each step a commit of its own."""
    return await _loop(folder, steps=5_000, instances=1, shared=False)


async def shared_commit_loop(folder: Path) -> float:
    """Steps per second of 100 instances whose steps share commits."""
    return await _loop(folder, steps=20_000, instances=100, shared=True)


async def fan_out_s(folder: Path) -> float:
    """Seconds for 500 parallel steps that share commits."""
    return 500 / await _loop(folder, steps=500, instances=500, shared=True)


async def _loop(folder: Path, *, steps: int, instances: int, shared: bool) -> float:
    db = _database(folder)
    try:
        return await StepLoop(db, shared=shared).steps_per_s(steps, instances)
    finally:
        db.close()


def bulk_rows_per_s(folder: Path, rows: int = 50_000) -> float:
    """Rows written per second, 100 to a commit."""
    db = _database(folder)
    began = monotonic_ns()
    for first in range(0, rows, 100):
        with db:
            db.executemany(_INSERT, [(1, n, "step", '{"ok":true}', n) for n in range(first, first + 100)])
    took_s = seconds_since(began)
    db.close()
    return rows / took_s


def read_rows_ms(folder: Path, rows: int = 2_000) -> float:
    """Milliseconds to read the step records of one instance in one query."""
    db = _database(folder)
    with db:
        db.executemany(_INSERT, [(1, n, "step", '{"ok":true}', n) for n in range(rows)])
    began = monotonic_ns()
    assert len(db.execute("SELECT * FROM step WHERE instance=1").fetchall()) == rows
    took_s = seconds_since(began)
    db.close()
    return took_s * 1e3


def row_bytes(folder: Path, rows: int = 5_000) -> float:
    """Database bytes of one step's row."""
    db = _database(folder)
    with db:
        db.executemany(_INSERT, [(1, n, f"s{n}", str(n), 1_700_000_000_000 + n) for n in range(rows)])
    pages, size = int(db.pragma("page_count")), int(db.pragma("page_size"))
    db.close()
    return pages * size / rows


_IMPORTS = "import asyncio, apsw, starlette.applications, starlette.routing, uvicorn"
_SHOW_MEMORY = "print(open('/proc/self/statm').read().split()[1])"


def process_start() -> tuple[float, float]:
    """Seconds and resident bytes of a process that only imports a web server and SQLite; Linux only."""
    began = monotonic_ns()
    code = f"{_IMPORTS}\n{_SHOW_MEMORY}"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT
    )
    return seconds_since(began), float(result.stdout) * os.sysconf("SC_PAGE_SIZE")


_HTTP = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

async def create(request):
    return JSONResponse({"id": (await request.json())["id"]})

async def health(request):
    return PlainTextResponse("ok")

routes = [Route("/create", create, methods=["POST"]), Route("/health", health)]
uvicorn.run(Starlette(routes=routes), port=int(sys.argv[1]), log_level="error", access_log=False)
"""


async def bare_http(requests: int = 3_000, connections: int = 32) -> tuple[float, float]:
    """Requests per second of a bare web server from 32 connections, and the median of one alone in ms."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _HTTP, str(port))
    try:
        await _until_it_answers(Api(port))
        alone_ms = await _median_ms(Api(port))
        apis = [Api(port) for _ in range(connections)]
        left = iter(range(requests))

        async def worker(api: Api) -> None:
            for _ in left:
                await api.create(kind="seq")

        began = monotonic_ns()
        await asyncio.gather(*(worker(api) for api in apis))
        return requests / seconds_since(began), alone_ms
    finally:
        process.kill()
        await process.wait()


async def _until_it_answers(api: Api) -> None:
    while True:
        try:
            return await api.health()
        except OSError:
            await asyncio.sleep(0.005)


async def _median_ms(api: Api, times: int = 200) -> float:
    took = []
    for _ in range(times):
        began = monotonic_ns()
        await api.create(kind="seq")
        took.append(seconds_since(began) * 1e3)
    return sorted(took)[times // 2]


async def all_limits(folder: Path) -> dict[str, float]:
    """Every limit by name; the name ends in its unit."""
    http_per_s, http_ms = await bare_http()
    start_s, start_bytes = process_start()
    return {
        "step_loop_per_s": await bare_step_loop(folder),
        "shared_loop_per_s": await shared_commit_loop(folder),
        "fan_out_s": await fan_out_s(folder),
        "bulk_rows_per_s": bulk_rows_per_s(folder),
        "read_2000_rows_ms": read_rows_ms(folder),
        "row_bytes": row_bytes(folder),
        "http_per_s": http_per_s,
        "http_ms": http_ms,
        "process_start_s": start_s,
        "process_start_mb": start_bytes / 1e6,
    }


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="stepwell-limits-") as folder:
        for name, value in asyncio.run(all_limits(Path(folder))).items():
            print(f"{name:24} {value:12.4g}")


if __name__ == "__main__":
    main()
