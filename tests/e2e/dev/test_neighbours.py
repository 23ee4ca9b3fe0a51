"""Two runs of `stepwell dev` whose Workers call each other's Workflows by `script_name`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import workflow, write_project
from tests.javascript.conftest import NODE_MODULES, needs_runtime

Start = Callable[..., DevProcess]

BACK = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        approved = await step.wait_for_event("approval", "go", timeout="1 day")
        return {"payload": event["payload"], "approved": approved["payload"]}


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("back")
"""
FRONT = """
class Default(WorkerEntrypoint):
    async def fetch(self, request):
        try:
            instance = await self.env.FLOW.create(id="one", params={"total": 5, "at": [None, 2**60]})
        except Exception as error:
            return Response(str(error))
        status = await instance.status()
        await instance.send_event({"type": "go", "payload": "yes"})
        with await instance.subscribe({"filter": ["workflow_completed"]}) as events:
            last = await events.next()
        return Response(f"{status['status']} {last['value']['type']} {(await instance.status())['output']}")
"""


@pytest.fixture
def front(tmp_path: Path) -> Path:
    return write_project(tmp_path / "front", FRONT, name="front", workflows=[workflow(script_name="back")])


@pytest.fixture
def back(tmp_path: Path) -> Path:
    return write_project(tmp_path / "back", BACK, name="back")


@pytest.fixture
def registry(tmp_path: Path) -> tuple[str, str]:
    return "--registry", str(tmp_path / "registry")


def answer(server: DevProcess) -> str:
    return server.http.get("/").text


def test_a_call_says_who_is_missing_and_works_once_that_run_is_there(
    dev: Start, front: Path, back: Path, registry: tuple[str, str]
) -> None:
    caller = dev(front, *registry)

    missing = answer(caller)
    with DevProcess(back, "--port", "0", *registry) as other:
        assert other.url
        result = answer(caller)
    gone = answer(caller)

    assert 'The Workflow "flow" belongs to the Worker "back", which is not running.' in missing
    assert result.split(" ", 2)[1] == "workflow_completed"
    assert "'approved': 'yes'" in result
    assert "'total': 5" in result
    assert str(2**60) in result
    assert gone == missing


def test_an_error_of_the_other_run_arrives_as_its_own(
    dev: Start, front: Path, back: Path, registry: tuple[str, str]
) -> None:
    with DevProcess(back, "--port", "0", *registry) as other:
        assert other.url
        caller = dev(front, *registry)
        answer(caller)

        assert "instance.already_exists" in answer(caller)


JAVASCRIPT_FRONT = """
export default {
  async fetch(request, env) {
    try {
      const instance = await env.FLOW.create({ id: "one", params: { total: 5, at: new Date(7) } });
      await instance.sendEvent({ type: "go", payload: "yes" });
      using events = await instance.subscribe({ filter: ["workflow_completed"] });
      await events.next();
      return Response.json(await instance.status());
    } catch (error) {
      return new Response(error.message);
    }
  },
};
"""


@needs_runtime
def test_a_javascript_worker_calls_a_python_workflow_of_another_run(
    dev: Start, tmp_path: Path, back: Path, registry: tuple[str, str]
) -> None:
    front = write_project(
        tmp_path / "front",
        "",
        name="front",
        main="index.mjs",
        compatibility_flags=None,
        workflows=[workflow(script_name="back")],
    )
    (front / "index.mjs").write_text(JAVASCRIPT_FRONT)
    (front / "node_modules").symlink_to(NODE_MODULES)
    caller = dev(front, *registry)

    missing = answer(caller)
    with DevProcess(back, "--port", "0", *registry) as other:
        assert other.url
        status = caller.get("/")

    assert 'belongs to the Worker "back", which is not running' in missing
    assert status["status"] == "complete"
    assert status["output"]["payload"] == {"total": 5, "at": "1970-01-01T00:00:00.007Z"}
