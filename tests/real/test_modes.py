"""One Workflow that shows each part of the Python SDK by a mode, as the SDK's own tests exercise it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import write_project

SOURCE = """
import asyncio
import datetime

from workers.workflows import NonRetryableError

ONCE_MORE = {"retries": {"limit": 1, "delay": 0, "backoff": "constant"}}
NOT_AGAIN = {"retries": {"limit": 0, "delay": 0, "backoff": "constant"}}


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        mode = getattr(self, event["payload"].get("mode", "echo"), None)
        if mode is None:
            raise ValueError("there is no such mode")
        return await mode(event, step)

    async def echo(self, event, step):
        @step.do("echo")
        async def echo():
            return {"heard": event["payload"]}

        return await echo()

    async def implicit(self, event, step):
        @step.do()
        async def base():
            return 10

        @step.do()
        async def sum(base):
            return base + 5

        return await sum()

    async def concurrent(self, event, step):
        @step.do()
        async def left():
            return 2

        @step.do()
        async def right():
            return 3

        @step.do(concurrent=True)
        async def product(left, right):
            return left * right

        return await product()

    async def no_sleep(self, event, step):
        return await step.sleep("nap", 0)

    async def soon(self, event, step):
        await step.sleep_until("soon", datetime.datetime.now() + datetime.timedelta(milliseconds=20))
        return "awake"

    async def metadata(self, event, step):
        return {
            "timestamp": isinstance(event["timestamp"], datetime.datetime),
            "id": event.get("instanceId"),
            "workflow": event.get("workflowName"),
            "schedule": "schedule" in event,
        }

    async def context(self, event, step):
        @step.do("named")
        async def named(ctx):
            return [ctx["step"]["name"], ctx["step"]["count"], int(ctx["attempt"]), "config" in ctx]

        return await named()

    async def retry(self, event, step):
        @step.do("unsteady", config=ONCE_MORE)
        async def unsteady(ctx):
            if ctx["attempt"] < 2:
                raise ValueError("for now")
            return ctx["attempt"]

        return await unsteady()

    async def give_up(self, event, step):
        @step.do("hopeless", config=ONCE_MORE)
        async def hopeless():
            raise NonRetryableError("never")

        return await hopeless()

    async def catch(self, event, step):
        @step.do("failing", config=NOT_AGAIN)
        async def failing():
            raise TypeError("on purpose")

        try:
            await failing()
        except Exception as error:
            return [type(error).__name__, str(error)]

    async def twice(self, event, step):
        @step.do("same")
        async def first():
            return 1

        @step.do("same")
        async def second():
            return 2

        @step.do()
        async def uses(same):
            return same * 10

        return [*await asyncio.gather(first(), second()), await uses()]

    async def converts(self, event, step):
        @step.do("makes")
        async def makes():
            return {"when": datetime.datetime(2026, 1, 2, 3, 4, 5), "nothing": None, "deep": {"nothing": None}}

        @step.do()
        async def reads(makes):
            when = makes["when"]
            return [isinstance(when, datetime.datetime), when.year, makes["nothing"], makes["deep"]["nothing"]]

        return await reads()

    async def event(self, event, step):
        received = await step.wait_for_event("approval", "approval")
        return received["payload"]
"""
COMPLETE: dict[str, Any] = {
    "echo": {"heard": {"mode": "echo", "nested": {"n": 42}}},
    "implicit": 15,
    "concurrent": 6,
    "no_sleep": None,
    "soon": "awake",
    "metadata": {"timestamp": True, "id": "metadata", "workflow": "flow", "schedule": False},
    "context": ["named", 1, 1, True],
    "retry": 2,
    "catch": ["TypeError", "TypeError: on purpose"],
    "twice": [1, 2, 20],
    "converts": [True, 2026, None, None],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevProcess]:
    folder: Path = tmp_path_factory.mktemp("modes")
    flags = ["python_workers", "python_workflows", "python_workflows_implicit_dependencies"]
    project = write_project(folder / "project", SOURCE, compatibility_date="2026-01-28", compatibility_flags=flags)
    with DevProcess(project, "--port", "0", "--persist-to", folder / "state") as running:
        yield running


@pytest.mark.parametrize("mode", COMPLETE)
def test_a_mode_completes_with_its_output(server: DevProcess, mode: str) -> None:
    server.create("flow", mode, {"mode": mode, "nested": {"n": 42}} if mode == "echo" else {"mode": mode})

    assert server.until_status("flow", mode, "complete")["output"] == COMPLETE[mode]


def test_a_non_retryable_error_ends_the_instance_after_one_attempt(server: DevProcess) -> None:
    server.create("flow", "give_up", {"mode": "give_up"})

    instance = server.until_status("flow", "give_up", "errored")
    assert len(instance["steps"][0]["attempts"]) == 1


def test_an_error_in_run_ends_the_instance(server: DevProcess) -> None:
    server.create("flow", "unknown", {"mode": "unknown"})

    assert "there is no such mode" in server.until_status("flow", "unknown", "errored")["error"]["message"]


def test_an_event_over_the_rest_api_is_what_the_wait_returns(server: DevProcess) -> None:
    server.create("flow", "event", {"mode": "event"})
    server.until_status("flow", "event", "waiting")

    server.post("/client/v4/accounts/local/workflows/flow/instances/event/events/approval", {"approved": True})

    assert server.until_status("flow", "event", "complete")["output"] == {"approved": True}
