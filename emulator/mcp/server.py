"""The tools as an MCP server, which `stepwell mcp` and `/__dashboard/mcp` serve."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from stepwell.emulator.client import Client, ClientError
from stepwell.emulator.mcp.tools import Tools

_INSTRUCTIONS: Final = """\
Stepwell runs Cloudflare Workflows on this machine. A Workflow is a class with run(event, step); an instance is one
execution of it; a step is a call of step.do, step.sleep or step.waitForEvent. The result of a step is stored: a
completed step never runs again.

To repair a failing instance: call explain_instance and edit the code (Stepwell reloads it). Then call
restart_instance from the failed step, or duplicate_instance with the results of the steps before it. Then call
wait_for_instance.
write_test turns an instance into a pytest test.

Never wait for a sleep or a timeout in real time: call advance_clock.
"""
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_CHANGES: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
_DESTROYS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


def build_server(client: Client) -> MCPServer[Any]:
    """The server; `client` leads to the running Stepwell and stays open as long as the server is used."""
    tools = Tools(client)
    server = _quiet_server()
    for function in _reads(tools):
        _add(server, function, _READS)
    for function in _changes(tools):
        _add(server, function, _CHANGES)
    for function in _losses(tools):
        _add(server, function, _DESTROYS)
    return server


def _reads(tools: Tools) -> list[Callable[..., Any]]:
    return [
        tools.list_workflows,
        tools.describe_workflow,
        tools.list_instances,
        tools.describe_instance,
        tools.explain_instance,
        tools.wait_for_instance,
        tools.get_history,
        tools.get_clock,
        tools.get_limits,
        tools.check_replay,
        tools.write_test,
    ]


def _changes(tools: Tools) -> list[Callable[..., Any]]:
    return [
        tools.create_instance,
        tools.duplicate_instance,
        tools.send_event,
        tools.pause_instance,
        tools.resume_instance,
        tools.skip_wait,
        tools.advance_clock,
    ]


def _losses(tools: Tools) -> list[Callable[..., Any]]:
    """Those that lose data or end something."""
    return [tools.restart_instance, tools.terminate_instance, tools.delete_instance]


def _add(server: MCPServer[Any], function: Callable[..., Any], annotations: ToolAnnotations) -> None:
    server.add_tool(_answering(function), annotations=annotations, structured_output=False)


def _answering(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turns the error of a request into the error of the tool: its text says what to do."""

    @wraps(function)
    def answer(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except ClientError as error:
            raise ToolError(str(error)) from None

    return answer


def _quiet_server() -> MCPServer[Any]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    server: MCPServer[Any] = MCPServer("stepwell", version=version("stepwell"), instructions=_INSTRUCTIONS)
    # MCPServer adds a handler to the root logger, which belongs to user code.
    root.handlers[:] = handlers
    root.setLevel(level)
    return server
