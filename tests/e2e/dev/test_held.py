"""A process that is held, as by a debugger: the time in which nothing can go on does not count against attempts."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from tests.e2e.process import DevProcess, until

FLOW = """
import asyncio

class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("held", config={"timeout": "2 seconds", "retries": {"limit": 0, "delay": 1}})
        async def held(ctx):
            print("in the step")
            await asyncio.sleep(1)
            return ctx["attempt"]

        return await held()

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.method == "POST":
            return Response.from_json({"id": (await self.env.FLOW.create(id="one")).id})
        return Response.from_json(await (await self.env.FLOW.get("one")).status())
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGSTOP")
def test_a_held_process_does_not_time_its_steps_out(dev: Callable[..., DevProcess], project) -> None:
    server = dev(project(FLOW))
    server.http.post("/")
    until("the step", lambda: "in the step" in server.output)

    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(3.5)  # another process is held: no time of the product
    os.kill(server.pid, signal.SIGCONT)

    ended = until("the end", lambda: (status := server.get("/"))["status"] in ("complete", "errored") and status)
    assert ended["status"] == "complete", ended
    assert ended["output"] == 1
