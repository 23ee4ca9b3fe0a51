"""The nodes of Cloudflare's version graph (reference: the official client's types)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

Node: TypeAlias = dict[str, Any]
Kind: TypeAlias = Literal["all", "any", "all_settled", "race"]

#: The default config of a step.
DEFAULT_CONFIG: Final[Mapping[str, Any]] = {
    "retries": {"limit": 5, "delay": 10_000, "backoff": "exponential"},
    "timeout": "10 minutes",
}
DEFAULT_WAIT: Final = "24 hours"
_GRAPH_VERSION: Final = 1


def step_do(name: str, config: object, nodes: list[Node]) -> Node:
    """`config` is the config in the source, as far as it can be parsed."""
    return {"type": "step_do", "name": name, "config": _config(config), "nodes": nodes}


def _config(given: object) -> Node:
    config = given if isinstance(given, Mapping) else {}
    own = config.get("retries")
    retries = {**DEFAULT_CONFIG["retries"], **(own if isinstance(own, Mapping) else {})}
    return {"retries": retries, "timeout": config.get("timeout", DEFAULT_CONFIG["timeout"])}


def sleep(name: str, duration: object) -> Node:
    return {"type": "step_sleep", "name": name, "duration": duration}


def sleep_until(name: str, timestamp: object) -> Node:
    return {"type": "step_sleep_until", "name": name, "timestamp": str(timestamp)}


def wait_for_event(name: str, event_type: object, timeout: object) -> Node:
    return {
        "type": "step_wait_for_event",
        "name": name,
        "options": {"event_type": str(event_type), "timeout": timeout},
    }


def loop(nodes: list[Node]) -> list[Node]:
    """Parts without anything of the Workflow in them are left out, here and below."""
    return [{"type": "loop", "nodes": nodes}] if nodes else []


def parallel(kind: Kind, nodes: list[Node]) -> list[Node]:
    return [{"type": "parallel", "kind": kind, "nodes": nodes}] if nodes else []


def block(nodes: list[Node]) -> Node | None:
    return {"type": "block", "nodes": nodes} if nodes else None


def try_(body: list[Node], handler: list[Node], final: list[Node]) -> list[Node]:
    if not (body or handler or final):
        return []
    return [{"type": "try", "try_block": block(body), "catch_block": block(handler), "finally_block": block(final)}]


def branch(condition: str | None, nodes: list[Node]) -> Node:
    return {"condition": condition, "nodes": nodes}


def if_(branches: list[Node]) -> list[Node]:
    return [{"type": "if", "branches": branches}] if any(one["nodes"] for one in branches) else []


def switch(discriminant: str, branches: list[Node]) -> list[Node]:
    if not any(one["nodes"] for one in branches):
        return []
    return [{"type": "switch", "discriminant": discriminant, "branches": branches}]


def function_call(name: str) -> Node:
    return {"type": "function_call", "name": name}


def function_def(name: str, nodes: list[Node]) -> Node:
    return {"type": "function_def", "name": name, "nodes": nodes}


def jump(kind: Literal["break", "return"]) -> Node:
    """The end of a loop, or of run() before its last line."""
    return {"type": "break", "kind": kind}


def graph(class_name: str, functions: Mapping[str, Node], nodes: list[Node]) -> Node:
    workflow = {"class_name": class_name, "functions": dict(functions), "nodes": nodes}
    return {"version": _GRAPH_VERSION, "workflow": workflow}


def walk(nodes: list[Node]) -> Iterator[Node]:
    """All nodes, outer ones first."""
    for node in nodes:
        yield node
        for key in ("nodes", "branches"):
            yield from walk(node.get(key, []))
        for key in ("try_block", "catch_block", "finally_block"):
            if node.get(key):
                yield from walk([node[key]])
