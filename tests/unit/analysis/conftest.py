from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent, indent
from typing import Any

import pytest

from stepwell.emulator.analysis.javascript import javascript_graph
from stepwell.emulator.analysis.nodes import Node
from stepwell.emulator.analysis.python import python_graph


def short(nodes: list[Node]) -> list[Any]:
    """A graph to read at a glance: texts for leaves, tuples of a word and what is inside."""
    return [_short(node) for node in nodes]


def _short(node: Node) -> Any:
    match node["type"]:
        case "step_do":
            return ("do " + node["name"], *short(node["nodes"])) if node["nodes"] else "do " + node["name"]
        case "step_sleep":
            return f"sleep {node['name']} {node['duration']}"
        case "step_sleep_until":
            return f"until {node['name']} {node['timestamp']}"
        case "step_wait_for_event":
            return f"wait {node['name']} {node['options']['event_type']} {node['options']['timeout']}"
        case "loop":
            return ("loop", *short(node["nodes"]))
        case "parallel":
            return (node["kind"], *short(node["nodes"]))
        case "if":
            return ("if", *((branch["condition"], *short(branch["nodes"])) for branch in node["branches"]))
        case "switch":
            cases = ((branch["condition"], *short(branch["nodes"])) for branch in node["branches"])
            return (f"switch {node['discriminant']}", *cases)
        case "try":
            parts = (node[key] for key in ("try_block", "catch_block", "finally_block"))
            return ("try", *(short(part["nodes"]) if part else None for part in parts))
        case "function_call":
            return f"{node['name']}()"
        case "break":
            return str(node["kind"])
    raise AssertionError(node)


@pytest.fixture
def python() -> Callable[..., Any]:
    """The short graph of a run() of which only the body is given; `helpers` go into the module."""

    def read(body: str, helpers: str = "", functions: bool = False) -> Any:
        source = (
            f"import asyncio\n{dedent(helpers)}\nclass Flow(WorkflowEntrypoint):\n"
            f"    async def run(self, event, step):\n{indent(dedent(body), ' ' * 8)}"
        )
        graph = python_graph(source, "Flow")
        assert graph is not None
        found = graph["workflow"]
        if functions:
            return {name: short(one["nodes"]) for name, one in found["functions"].items()}
        return short(found["nodes"])

    return read


@pytest.fixture
def javascript() -> Callable[..., Any]:
    """The same for JavaScript and TypeScript."""

    def read(body: str, helpers: str = "", members: str = "", functions: bool = False) -> Any:
        source = (
            f"{helpers}\nexport class Flow extends WorkflowEntrypoint<Env, Params> {{\n"
            f"  async run(event: WorkflowEvent<Params>, step: WorkflowStep) {{\n{body}\n  }}\n{members}\n}}\n"
        )
        graph = javascript_graph(source, "Flow")
        assert graph is not None
        found = graph["workflow"]
        if functions:
            return {name: short(one["nodes"]) for name, one in found["functions"].items()}
        return short(found["nodes"])

    return read
