"""The server under measurement: started in a fresh copy of the bench project, killed, started again; its memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.client import Api, BenchError
from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.testing.contract.processes import free_port

PROJECT = Path(__file__).resolve().parents[1] / "fixtures" / "workers" / "bench-python"
STEPWELL = [sys.executable, "-c", "from stepwell.emulator.cli.main import main; main()"]
#: As on a user's machine, where Python keeps the bytecode of what it has imported once. Where it may not, each
#: start compiles all modules anew, which takes 0.17 s of 0.4 s.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
_LOOK_AGAIN_S = 0.002
_GIVE_UP_S = 90


def seconds_since(began_ns: int) -> float:
    return (monotonic_ns() - began_ns) / 1e9


async def until(condition: Callable[[], bool], give_up_s: float = 60, every_s: float = 0.005) -> bool:
    """Looks again and again; False when it gave up."""
    began_ns = monotonic_ns()
    while not condition():
        if seconds_since(began_ns) > give_up_s:
            return False
        await asyncio.sleep(every_s)
    return True


class Server:
    """`stepwell dev` on a copy of the bench project."""

    def __init__(self, keep: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="stepwell-bench-"))
        self.project = self.folder / "project"
        self.port = free_port()
        self.began_ns = 0
        self._keep = keep
        self._process: subprocess.Popen[bytes] | None = None
        shutil.copytree(PROJECT, self.project, ignore=shutil.ignore_patterns(".stepwell"))

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def api(self) -> Api:
        return Api(self.port)

    async def start(self) -> float:
        """Seconds until the Ready line, with no call made."""
        self._log.write_bytes(b"")
        self.began_ns = monotonic_ns()
        self._process = self._spawn()
        while b"Ready on" not in self._log.read_bytes():
            if self._process.poll() is not None or seconds_since(self.began_ns) > _GIVE_UP_S:
                raise BenchError(f"stepwell dev did not get ready:\n{self._log.read_text()[-2000:]}")
            await asyncio.sleep(_LOOK_AGAIN_S)
        return seconds_since(self.began_ns)

    def _spawn(self) -> subprocess.Popen[bytes]:
        args = [*STEPWELL, "dev", str(self.project), "--port", str(self.port), "--no-reload"]
        with self._log.open("ab") as log:
            return subprocess.Popen(
                args, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=ENVIRONMENT
            )

    @property
    def _log(self) -> Path:
        return self.folder / "log.txt"

    def kill(self) -> None:
        """What `kill -9` does: no goodbye."""
        if self._process is not None:
            self._process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
            self._process.wait()
            self._process = None

    def close(self) -> None:
        self.kill()
        if not self._keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def memory_bytes(self) -> int:
        """The resident memory of the process; Linux only."""
        return resident_bytes(self.pid)

    def cpu_s(self) -> float:
        """CPU seconds of the process so far; Linux only."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def database_bytes(self) -> int:
        """The size of all databases after a checkpoint, taken on a copy."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "state"
            shutil.copytree(self.project / ".stepwell", copy)
            return sum(_pages_of(file) for file in copy.rglob("*") if _is_database(file))


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _is_database(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(15) == b"SQLite format 3"


def _pages_of(file: Path) -> int:
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages, size = db.execute("PRAGMA page_count").fetchone()[0], db.execute("PRAGMA page_size").fetchone()[0]
    return int(pages) * int(size)
