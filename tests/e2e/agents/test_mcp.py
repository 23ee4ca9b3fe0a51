"""A coding agent's way in: the MCP server over HTTP and over standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.docs.markdown import ROOT, blocks, first_cells
from tests.e2e.process import DevProcess, stepwell

pytestmark = pytest.mark.anyio

PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
DESTRUCTIVE = {"restart_instance", "terminate_instance", "delete_instance"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter project."""
    folder = tmp_path_factory.mktemp("agents") / "shop"
    subprocess.run([stepwell(), "init", str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def server(project: Path) -> Iterator[DevProcess]:
    with DevProcess(project, "--port", "0", "--persist-to", project / "state") as running:
        yield running


@pytest.fixture
async def agent(server: DevProcess) -> AsyncIterator[Client]:
    async with Client(f"{server.url}/__dashboard/mcp") as client:
        yield client


async def ask(agent: Client, tool: str, **arguments: Any) -> str:
    """The answer of a tool that succeeds."""
    result = await agent.call_tool(tool, arguments)
    text = "\n".join(getattr(part, "text", "") for part in result.content)
    assert not result.is_error, text
    return text


async def refusal(agent: Client, tool: str, **arguments: Any) -> str:
    result = await agent.call_tool(tool, arguments)
    assert result.is_error
    return "\n".join(getattr(part, "text", "") for part in result.content)


async def test_every_tool_is_on_the_page_and_those_that_lose_data_are_marked(agent: Client) -> None:
    tools = (await agent.list_tools()).tools

    assert {tool.name for tool in tools} == {
        name.strip("`") for cell in first_cells(PAGE, "Tools") for name in cell.split(", ")
    }
    assert {tool.name for tool in tools if tool.annotations and tool.annotations.destructive_hint} == DESTRUCTIVE
    assert all(tool.description for tool in tools)


async def test_an_agent_repairs_an_instance_and_keeps_the_repair_as_a_test(
    project: Path, server: DevProcess, agent: Client
) -> None:
    transcripts = [block.text for block in blocks(PAGE) if block.text.startswith("> ")]
    entry = project / "src" / "entry.py"

    await follow(agent, transcripts[0])
    entry.write_text(entry.read_text().replace('order["cents"]', 'order.get("cents", 0)'))
    server.until_output("Reloaded")
    written = await follow(agent, transcripts[1])

    test = project / "tests" / "test_repair.py"
    test.write_text(written)
    tested = await anyio.run_process([sys.executable, "-m", "pytest", "-q", str(test)], cwd=project, check=False)
    assert tested.returncode == 0, tested.stdout.decode()


async def follow(agent: Client, transcript: str) -> str:
    """Makes the calls of a transcript; the indented lines must be in the answers. Gives the last answer."""
    answer = ""
    for line in transcript.split("\n"):
        if line.startswith("> "):
            tool, _, arguments = line[2:].partition(" ")
            answer = await ask(agent, tool, **json.loads(arguments))
        else:
            assert line.strip() in answer
    return answer


async def test_a_copy_continues_after_a_step_with_another_result(agent: Client) -> None:
    await ask(agent, "create_instance", workflow="orders", instance_id="first", params={"cents": 5})
    copy = json.loads(
        await ask(
            agent,
            "duplicate_instance",
            workflow="orders",
            instance_id="first",
            through_step="charge-1",
            result={"paid": 7},
        )
    )

    steps = json.loads(await ask(agent, "describe_instance", workflow="orders", instance_id=copy["id"]))["steps"]
    assert (steps[0]["output"], steps[0]["carried"]) == ({"paid": 7}, "copy")


async def test_an_agent_that_waits_hears_what_an_instance_is_waiting_for(agent: Client) -> None:
    await ask(agent, "create_instance", workflow="orders", instance_id="waits", params={"cents": 5})

    answer = json.loads(
        await ask(agent, "wait_for_instance", workflow="orders", instance_id="waits", timeout_s=0.3)
    )

    assert not answer["finished"]
    assert [step["event_type"] for step in answer["waiting_for"]] == ["approval"]


async def test_a_wait_can_be_skipped(agent: Client) -> None:
    await ask(agent, "create_instance", workflow="orders", instance_id="skipped", params={"cents": 5})
    await ask(agent, "wait_for_instance", workflow="orders", instance_id="skipped", timeout_s=0.3)

    await ask(agent, "skip_wait", workflow="orders", instance_id="skipped", step="approval-1")

    answer = json.loads(await ask(agent, "wait_for_instance", workflow="orders", instance_id="skipped"))
    assert answer["status"] == "errored"


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("describe_instance", {"workflow": "orders", "instance_id": "none"}, '"orders" has no instance "none"'),
        ("explain_instance", {"workflow": "nope", "instance_id": "none"}, 'Workflow "nope" not found'),
        ("advance_clock", {"duration": "soon"}, 'Invalid duration "soon"'),
        ("create_instance", {"workflow": "orders", "instance_id": "a b"}, "instance.invalid_id"),
    ],
)
async def test_a_refusal_reaches_the_agent(agent: Client, tool: str, arguments: dict[str, str], text: str) -> None:
    assert text in await refusal(agent, tool, **arguments)


async def test_the_command_serves_the_running_stepwell_on_standard_input_and_output(server: DevProcess) -> None:
    port = server.url.rpartition(":")[2]

    async with Client(StdioServerParameters(command=stepwell(), args=["mcp", "--port", port])) as agent:
        assert '"name": "orders"' in await ask(agent, "list_workflows")


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_other_sites_are_rejected(server: DevProcess, headers: dict[str, str]) -> None:
    answer = httpx.post(f"{server.url}/__dashboard/mcp", json={}, headers=headers)

    assert answer.status_code == 403
