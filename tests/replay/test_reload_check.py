"""A reload under `stepwell dev`: instances that cannot follow the new code are paused and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import dev as dev  # the fixture
from tests.e2e.process import DevProcess, until
from tests.replay.projects import NODE_MODULES, copy_project, edit

INSTANCES = "/client/v4/accounts/local/workflows/orders/instances"
RENAME = {
    "python": ('@step.do("reserve")', '@step.do("reserve stock")'),
    "typescript": ('step.do("reserve"', 'step.do("reserve stock"'),
}


def status(server: DevProcess) -> str:
    return str(server.http.get(f"{INSTANCES}/one").json()["result"]["status"])


def waiting(server: DevProcess) -> None:
    server.http.post(INSTANCES, json={"instance_id": "one", "params": {"shape": "order", "cents": 5}})
    until("it waits", lambda: status(server) == "waiting")


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_an_instance_that_cannot_follow_is_paused_and_resumes_after_a_fix(
    language: str, dev: Callable[..., DevProcess], tmp_path: Path
) -> None:
    if language == "typescript" and not NODE_MODULES.is_dir():
        pytest.skip("wants Cloudflare's tools: npm ci --prefix fixtures/node")
    project = copy_project(language, tmp_path)
    server = dev(project)
    waiting(server)
    old, new = RENAME[language]
    edit(project, old, new)
    until("it is told", lambda: "1 instance can't follow the new code, and was paused:" in server.output)

    assert status(server) == "paused"
    assert 'the code calls step "reserve stock-1"' in server.output
    until("the dashboard says so", lambda: "can't follow the new code" in server.http.get("/__dashboard").text)
    edit(project, new, old)
    until("it waits again", lambda: status(server) == "waiting")
    assert "follow the new code" not in server.http.get("/__dashboard").text


def test_without_the_check_the_instance_meets_the_new_code(dev: Callable[..., DevProcess], tmp_path: Path) -> None:
    project = copy_project("python", tmp_path)
    server = dev(project, "--no-check-reload")
    waiting(server)
    edit(project, *RENAME["python"])
    until("it was reloaded", lambda: "Reloaded" in server.output)
    server.http.post(f"{INSTANCES}/one/events/approval", json={"approved": False})
    until("it ends", lambda: status(server) == "complete")

    assert "can't follow" not in server.output
