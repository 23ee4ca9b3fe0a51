"""The three servers whose dashboards are compared, each on its own copy of the same Worker."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.client import FINAL, BenchError, Connection
from benchmarks.javascript import COMMANDS, MODULES, ROOT, kill, spawn
from benchmarks.processes import seconds_since
from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.testing.contract.processes import free_port

#: What is in the id of each stored instance: where it is read on a page, the list is there.
STORED: Final = "stored-"
_PROJECT: Final = ROOT / "fixtures" / "workers" / "bench-rivals"
_BATCH: Final = 100
_GIVE_UP_S: Final = 60

_NUMBERS: Final = """
    WITH RECURSIVE numbers (n) AS (SELECT :from UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :until)"""
#: Of lopata's database: instances and their steps, each under its new number and later than the one before.
_COPIES: Final = (
    f"""INSERT INTO workflow_instances {_NUMBERS}
        SELECT printf('{STORED}%06d', n), workflow_name, class_name, params, status, output, error, error_name,
            created_at + n, updated_at + n
        FROM numbers JOIN workflow_instances ON id = printf('{STORED}%06d', n % :from)""",
    f"""INSERT INTO workflow_steps {_NUMBERS}
        SELECT printf('{STORED}%06d', n), step_name, output, completed_at
        FROM numbers JOIN workflow_steps ON instance_id = printf('{STORED}%06d', n % :from)""",
)

#: A request: method, path, body.
Read: TypeAlias = tuple[str, str, Any]


@dataclass(frozen=True)
class Rival:
    """Where one of them has what."""

    name: str
    command: Sequence[str]
    list_path: str
    instance_path: str
    #: Where an instance's page says its status, and what it says of one that is paused and one that sleeps.
    status_at: str
    paused: str
    asleep: str
    page: Read
    filtered: Read
    counts: Read


def _rpc(procedure: str, **given: str) -> Read:
    return "POST", "/__api/rpc", {"procedure": procedure, "input": given}


def rivals(lopata: Path, bun: Path) -> Sequence[Rival]:
    ours, explorer = "/__dashboard", "/cdn-cgi/local/explorer"
    listed = f"{explorer}/api/workflows/rivals-wf/instances?page=1&per_page=25"
    return (
        Rival(
            name="Stepwell",
            command=COMMANDS["stepwell"],
            list_path=ours,
            instance_path=f"{ours}/workflows/rivals-wf/instances/",
            status_at="#now",
            paused="Paused.",
            asleep="Sleeping in",
            page=("GET", ours, None),
            filtered=("GET", f"{ours}?status=errored", None),
            counts=("GET", f"{ours}/workflows", None),
        ),
        Rival(
            name="local explorer",
            command=COMMANDS["wrangler"],
            list_path=f"{explorer}/workflows/rivals-wf",
            instance_path=f"{explorer}/workflows/rivals-wf/",
            status_at="main",
            paused="Paused",
            asleep="Running",
            page=("GET", listed, None),
            filtered=("GET", f"{listed}&status=errored", None),
            counts=("GET", f"{explorer}/api/workflows/rivals-wf", None),
        ),
        Rival(
            name="lopata",
            command=(str(bun), str(lopata / "src" / "cli.ts"), "dev", "--listen", "127.0.0.1", "--port", "{port}"),
            list_path=f"{ours}#/workflows/WF",
            instance_path=f"{ours}#/workflows/WF/",
            status_at="main",
            paused="paused",
            asleep="running",
            page=_rpc("workflows.listInstances", name="WF"),
            filtered=_rpc("workflows.listInstances", name="WF", status="errored"),
            counts=_rpc("workflows.list"),
        ),
    )


class Server:
    """One of them, running."""

    def __init__(self, rival: Rival, folder: Path) -> None:
        self.rival = rival
        self.stored = 0
        self._folder = folder
        self._port = free_port()
        self._connection = Connection(self._port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        shutil.copytree(_PROJECT, self._folder, ignore=shutil.ignore_patterns(".*"))
        (self._folder / "node_modules").symlink_to(MODULES)
        command = [part.replace("{port}", str(self._port)) for part in self.rival.command]
        self._process: subprocess.Popen[bytes] = spawn(command, self._folder)
        began = monotonic_ns()
        while True:
            try:
                await self.read(("GET", "/", None))
                return
            except (OSError, asyncio.IncompleteReadError):
                if self._process.poll() is not None or seconds_since(began) > _GIVE_UP_S:
                    log = (self._folder / "log.txt").read_text()
                    raise BenchError(f"{self.rival.name} does not answer:\n{log[-2000:]}") from None
            await asyncio.sleep(0.05)

    async def read(self, what: Read) -> bytes:
        status, data = await self._connection.call(*what)
        if status != 200:
            raise BenchError(f"{self.rival.name}: {what} answered {status}: {data[:300]!r}")
        return data

    async def read_ms(self, what: Read) -> float:
        began = monotonic_ns()
        await self.read(what)
        return seconds_since(began) * 1e3

    async def create(self, instance_id: str, kind: str) -> None:
        await self._batch([{"id": instance_id, "params": {"kind": kind}}])

    async def fill(self, count: int) -> None:
        """Creates finished instances until so many are stored, one in ten of them failed."""
        while self.stored < count:
            numbers = range(self.stored, min(self.stored + _BATCH, count))
            batch = [{"id": f"{STORED}{n:06}", "params": {"kind": "three" if n % 10 else "fail"}} for n in numbers]
            await self._batch(batch)
            self.stored = numbers.stop
            await self._until_final(batch[-1]["id"])

    async def fill_more(self, count: int) -> None:
        """As `fill`. In lopata the stored ones are copied: each that ends there looks through all others."""
        if self.rival.name != "lopata":
            await self.fill(count)
            return
        with contextlib.closing(sqlite3.connect(self._folder / ".lopata" / "data.sqlite")) as db, db:
            for copy in _COPIES:
                db.execute(copy, {"from": self.stored, "until": count})
        self.stored = count

    async def _batch(self, batch: Sequence[Mapping[str, Any]]) -> None:
        await self.read(("POST", "/batch", list(batch)))

    async def _until_final(self, instance_id: str) -> None:
        while True:
            answer = json.loads(await self.read(("GET", f"/status?id={instance_id}", None)))
            if answer["status"] in FINAL:
                return
            await asyncio.sleep(0.005)

    def memory_bytes(self) -> int:
        """What its processes hold, with what they share counted once; Linux only."""
        return sum(_proportional_bytes(pid) for pid in _family(self._process.pid))

    def close(self) -> None:
        self._connection.close()
        kill(self._process)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _family(int(child))


def _proportional_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
