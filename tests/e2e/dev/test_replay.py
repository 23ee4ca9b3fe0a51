"""`stepwell dev --replay always`: run() is replayed at every wait, and code that does not repeat is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.e2e.process import DevProcess, until

FLOW = """
import random, time

class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        started = time.time()

        @step.do("once")
        async def once():
            return random.random()

        await once()
        await step.sleep(f"nap {random.random()}", "10 milliseconds")

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        instance = await self.env.FLOW.create()
        return Response(instance.id)
"""


def line_of(text: str) -> int:
    """Where it stands in the entry file, below the line of imports."""
    return FLOW.splitlines().index(text) + 2


def test_replays_name_what_differs_with_file_and_line(dev: Callable[..., DevProcess], project) -> None:
    folder: Path = project(FLOW)
    server = dev(folder, "--replay", "always")

    server.http.get("/")
    until("the warnings", lambda: "randomness" in server.output and "replay called" in server.output)

    entry = folder / "src" / "entry.py"
    nap = line_of('        await step.sleep(f"nap {random.random()}", "10 milliseconds")')
    server.until_output(re.escape(f"{entry}:{line_of('        started = time.time()')}: run() reads the clock"))
    server.until_output(re.escape(f"{entry}:{nap}: run() reads randomness"))
    server.until_output(re.escape(f'{entry}:{nap}: replay called sleep "nap 0.'))


def test_what_is_read_in_a_step_is_none_of_its_business(dev: Callable[..., DevProcess], project) -> None:
    folder: Path = project(FLOW)
    server = dev(folder, "--replay", "always")

    server.http.get("/")
    until("the warnings", lambda: "replay called" in server.output)

    inside = line_of("            return random.random()")
    assert f"entry.py:{inside}" not in server.output
