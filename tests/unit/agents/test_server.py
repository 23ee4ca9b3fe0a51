"""The MCP server beside user code, and without its package."""

from __future__ import annotations

import logging
import sys

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from stepwell.emulator.client import Client, Server
from stepwell.emulator.mcp import endpoint
from stepwell.emulator.mcp.server import build_server


def test_the_root_logger_stays_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    level = root.level

    with Client(Server("http://localhost:1", "a test")) as client:
        build_server(client)

    assert (root.handlers, root.level) == ([], level)


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "stepwell.emulator.mcp.server", raising=False)
    for name in [name for name in sys.modules if name == "mcp" or name.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_the_answer_says_how_to_install_it() -> None:
    client = TestClient(Starlette(routes=[endpoint.route(None)]))

    answer = client.post("/__dashboard/mcp", json={})

    assert (answer.status_code, 'pip install "stepwell[mcp]"' in answer.text) == (501, True)
