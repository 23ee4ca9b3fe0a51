"""SIGKILL right after the answer: what the REST API has confirmed is there when the process comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import ANSWERS, write_project

SOURCE = (
    """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("before")
        async def before():
            return "kept"

        await before()
        await step.sleep("nap", "1 day")
        received = await step.wait_for_event("approval", "go", timeout="1 day")
        return received["payload"]
"""
    + ANSWERS
)
FLOW = "/client/v4/accounts/any/workflows/flow/instances"
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Mutation:
    """What is asked for, of an instance `one` that sleeps, and what must be seen in the next life."""

    method: str
    path: str
    body: Any
    holds: Callable[[DevProcess], bool]
    #: The status that the instance is brought to first.
    after: str | None = None


def status(process: DevProcess, instance_id: str = "one") -> str | None:
    answer = process.http.get(f"{FLOW}/{instance_id}?simple=true")
    return None if answer.status_code == 404 else str(answer.json()["result"]["status"])


def nap(process: DevProcess) -> Any:
    return next(step for step in process.instance("flow", "one")["steps"] if step["name"] == "nap-1")


def has_ended_its_nap(process: DevProcess) -> bool:
    return nap(process)["finished"] is True and status(process) == "waiting"


def has_its_event(process: DevProcess) -> bool:
    """It came while the instance slept, and is what the wait takes a day later."""
    process.advance(DAY_MS)
    return process.until_status("flow", "one", "complete")["output"] == {"by": "me"}


MUTATIONS = {
    "create": Mutation("POST", "", {"instance_id": "new"}, lambda process: status(process, "new") is not None),
    "batch": Mutation(
        "POST",
        "/batch",
        [{"instance_id": f"b{n}"} for n in range(100)],
        lambda process: all(status(process, f"b{n}") is not None for n in range(100)),
    ),
    "event": Mutation("POST", "/one/events/go", {"by": "me"}, has_its_event),
    "pause": Mutation("PATCH", "/one/status", {"status": "pause"}, lambda process: status(process) == "paused"),
    "terminate": Mutation(
        "PATCH", "/one/status", {"status": "terminate"}, lambda process: status(process) == "terminated"
    ),
    "resume": Mutation(
        "PATCH", "/one/status", {"status": "resume"}, lambda process: status(process) == "waiting", after="pause"
    ),
    "restart": Mutation(
        "PATCH",
        "/one/status",
        {"status": "restart"},
        lambda process: bool(process.until_status("flow", "one", "waiting")),
        after="terminate",
    ),
    "skip": Mutation("PATCH", "/one/status", {"status": "skipSleep"}, has_ended_its_nap),
    "delete": Mutation("DELETE", "/one", None, lambda process: status(process) is None),
    "delete of several": Mutation(
        "POST", "/batch/delete", {"instances": ["one"]}, lambda process: status(process) is None
    ),
    "terminate all": Mutation("PUT", "/terminate", None, lambda process: status(process) == "terminated"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path, name: str) -> None:
    wanted = MUTATIONS[name]
    project = write_project(tmp_path / "project", SOURCE)
    state = ("--port", "0", "--no-reload", "--persist-to", tmp_path / "state")
    with DevProcess(project, *state) as first:
        first.create("flow", "one")
        first.until_status("flow", "one", "waiting")
        if wanted.after is not None:
            first.command("flow", "one", wanted.after)
        answer = first.http.request(wanted.method, f"{FLOW}{wanted.path}", json=wanted.body)
        first.kill()
    assert answer.is_success, answer.text

    with DevProcess(project, *state) as second:
        assert wanted.holds(second), second.last_words
