"""Another program that holds the write lock of the database, as a backup or a database browser does."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.process import DevProcess, until

WORKER = """
import asyncio


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("first")
        async def first():
            await asyncio.sleep(1)

        await first()
        await step.sleep("nap", "2 seconds")

        @step.do("last")
        async def last():
            return "done"

        return await last()
"""

HOLDS_THE_LOCK = """
import sqlite3, sys

database = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    (path,) = folder.rglob("stepwell.sqlite")
    command = [sys.executable, "-c", HOLDS_THE_LOCK, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        yield
        other.stdin.close()


def test_every_instance_completes_after_a_lock_of_seven_seconds(
    dev: Callable[..., DevProcess], project: Callable[..., Path], tmp_path: Path
) -> None:
    server = dev(project(WORKER))
    names = [f"i{n}" for n in range(5)]
    for name in names:
        server.create("flow", name)

    with locked(tmp_path / "state"):
        began = time.monotonic()
        server.until_output("Can't write to the database: another program has locked it")
        assert "Can't write to the database." in server.http.get("/__dashboard").text
        until("7 seconds", lambda: time.monotonic() - began > 7)

    for name in names:
        assert server.until_status("flow", name)["status"] == "complete"
    server.until_output(r"Writing to the database works again after \d+ s")
    assert "Can't write to the database." not in server.http.get("/__dashboard").text
    assert server.output.count("Can't write to the database:") == 1


def test_ctrl_c_while_the_database_is_locked_ends_with_one_line_that_says_so(
    dev: Callable[..., DevProcess], project: Callable[..., Path], tmp_path: Path
) -> None:
    server = dev(project(WORKER))
    server.create("flow", "one")

    with locked(tmp_path / "state"):
        server.until_output("Can't write to the database: another program has locked it")
        before, began = len(server.output), time.monotonic()
        server.stop()

    assert time.monotonic() - began < 10
    closing = server.output[before:].splitlines()
    assert sum("locked" in line for line in closing) == 1, closing
    assert "Traceback" not in server.output
