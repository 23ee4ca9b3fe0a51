"""Field cases of local development, configuration and performance, each against a process of its own."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import workflow

Project = Callable[..., Path]
Start = Callable[..., DevProcess]

API = "/client/v4/accounts/local/workflows"
TWO = [workflow(name="one", binding="ONE", class_name="One"), workflow(name="two", binding="TWO", class_name="Two")]


@pytest.fixture
def two(dev: Start, project: Project) -> DevProcess:
    """A Worker with two Workflows."""
    return dev(
        project(
            """
            class One(WorkflowEntrypoint):
                async def run(self, event, step):
                    return 1


            class Two(WorkflowEntrypoint):
                async def run(self, event, step):
                    return 2


            class Default(WorkerEntrypoint):
                async def fetch(self, request):
                    how = request.url.rpartition("/")[2]
                    instance = await self.env.ONE.create(id=how)
                    if how == "redirect":
                        return Response.redirect("http://example.com/next", 302)
                    if how == "error":
                        raise RuntimeError("after create")
                    return Response(instance.id)
            """,
            workflows=TWO,
        )
    )


def test_two_workflows_have_instances_of_the_same_id_and_lists_of_their_own(two: DevProcess) -> None:
    two.create("one", "same")
    two.create("two", "same")

    assert two.until_status("one", "same", "complete")["output"] == 1
    assert two.until_status("two", "same", "complete")["output"] == 2
    two.create("two", "more")
    assert [row["id"] for row in two.get(f"{API}/one/instances")["result"]] == ["same"]
    assert {row["id"] for row in two.get(f"{API}/two/instances")["result"]} == {"same", "more"}


@pytest.mark.parametrize(("how", "status"), [("redirect", 302), ("error", 500)])
def test_what_the_worker_answers_does_not_undo_create(two: DevProcess, how: str, status: int) -> None:
    answer = two.http.get(f"/{how}")

    assert answer.status_code == status
    assert two.until_status("one", how, "complete")["output"] == 1


def test_a_client_that_goes_away_does_not_undo_create(two: DevProcess) -> None:
    address = urlsplit(two.url)
    with socket.create_connection((str(address.hostname), int(address.port or 0))) as client:
        client.sendall(b"GET /gone HTTP/1.1\r\nHost: localhost\r\n\r\n")

    two.until_output("one/gone")
    assert two.until_status("one", "gone", "complete")["output"] == 1


def test_a_program_outside_of_the_worker_creates_and_polls_over_http(two: DevProcess) -> None:
    with httpx.Client(base_url=two.url, trust_env=False) as outside:
        created = outside.post(f"{API}/one/instances", json={"params": {"from": "outside"}}).json()["result"]
        two.until_status("one", created["id"], "complete")
        found = outside.get(f"{API}/one/instances/{created['id']}").json()["result"]

    assert found["output"] == 1
    assert found["params"] in ({"from": "outside"}, json.dumps({"from": "outside"}))


def test_lists_need_no_token_and_say_how_many_there_are(two: DevProcess) -> None:
    two.create("one", "a")

    workflows = two.get(API)
    instances = two.get(f"{API}/one/instances")

    assert {row["name"] for row in workflows["result"]} == {"one", "two"}
    assert workflows["result_info"]["total_count"] == 2
    assert instances["result"][0]["id"] == "a"
    assert instances["result_info"]["total_count"] == 1


# -- config

STEPS = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        for n in range(event.payload.steps):
            @step.do(f"s{n}")
            async def s():
                return n

            await s()
        for n in range(2):
            await step.sleep(f"z{n}", 0)
"""


def test_steps_over_the_configured_limit_fail_and_say_that_it_can_be_changed(dev: Start, project: Project) -> None:
    server = dev(project(STEPS, workflows=[workflow(limits={"steps": 3})]))

    server.create("flow", "four", {"steps": 4})

    error = server.until_status("flow", "four", "errored")["error"]
    assert "3" in error["message"]
    assert "limit" in error["message"].lower()


def test_sleeps_do_not_count_as_steps(dev: Start, project: Project) -> None:
    server = dev(project(STEPS, workflows=[workflow(limits={"steps": 3})]))

    server.create("flow", "three", {"steps": 3})

    server.until_status("flow", "three", "complete")


# -- performance


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_memory_stays_flat_over_thousands_of_waits(dev: Start, project: Project) -> None:
    server = dev(
        project("""
            class Flow(WorkflowEntrypoint):
                async def run(self, event, step):
                    for n in range(event.payload.waits):
                        await step.sleep(f"z{n}", 0)
        """)
    )

    def memory_kb_after(instance_id: str, waits: int) -> int:
        server.create("flow", instance_id, {"waits": waits})
        server.until_output(f"flow/{instance_id} complete")
        status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0])

    few = memory_kb_after("few", 1_000)
    many = memory_kb_after("many", 6_000)

    assert many - few < 8_000
