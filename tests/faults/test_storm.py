"""Many clients that change the same few instances at once, by both APIs: nothing breaks, and everything settles."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx

from tests.e2e.process import FINISHED, DevProcess, until
from tests.e2e.projects import ANSWERS, write_project

SOURCE = (
    """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        async def undo(given):
            pass

        for n in range(4):
            @step.do(f"step {n}", rollback=undo, config={"retries": {"limit": 2, "delay": 5}})
            async def work(ctx):
                if (ctx["attempt"] + n) % 3 == 0:
                    raise ValueError("try again")
                return n

            await work()
            await step.sleep(f"nap {n}", 20)
        return (await step.wait_for_event("wait", "go", timeout="1 second"))["payload"]
"""
    + ANSWERS
)
REST: Final = "/client/v4/accounts/any/workflows/flow/instances"
EXPLORER: Final = "/cdn-cgi/local/explorer/api/workflows/flow/instances"
CLIENTS, REQUESTS, INSTANCES = 10, 60, 5
SEED: Final = int(os.environ.get("STEPWELL_SEED", "20261"))

Request = tuple[str, str, Any]


def status(word: str, **more: object) -> Callable[[str, random.Random], Request]:
    return lambda one, _: ("PATCH", f"/{one}/status", {"status": word, **more})


ASKED: Final[tuple[Callable[[str, random.Random], Request], ...]] = (
    lambda one, _: ("POST", "", {"instance_id": one, "id": one}),
    lambda one, _: ("POST", "/batch/delete", {"instances": [one]}),
    lambda one, _: ("POST", f"/{one}/events/go", {"from": one}),
    lambda one, _: ("DELETE", f"/{one}", None),
    lambda one, _: ("GET", f"/{one}", None),
    lambda one, _: ("GET", "", None),
    status("pause"),
    status("resume"),
    status("terminate"),
    status("terminate", rollback=True),
    status("restart"),
    lambda one, chance: status("restart", **{"from": {"name": f"step {chance.randrange(4)}"}})(one, chance),
    status("skipSleep"),
    status("timeOut"),
)


def client(url: str, seed: int) -> list[str]:
    """Sends its requests; gives the answers that no request should have."""
    chance, broken = random.Random(seed), []
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
        for _ in range(REQUESTS):
            prefix = chance.choice([REST, EXPLORER])
            method, path, body = chance.choice(ASKED)(f"i{chance.randrange(INSTANCES)}", chance)
            answer = http.request(method, prefix + path, json=body)
            if answer.status_code >= 500 and (prefix is REST or "Internal error" in answer.text):
                broken.append(f"{method} {path}: {answer.text}")
    return broken


def test_a_storm_of_requests_breaks_nothing_and_everything_settles(tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", SOURCE)
    with DevProcess(project, "--port", "0", "--no-reload", "--persist-to", tmp_path / "state") as process:
        process.http.post(f"{REST}/batch", json=[{"instance_id": f"i{n}"} for n in range(INSTANCES)])
        with ThreadPoolExecutor(CLIENTS) as pool:
            outcomes = list(pool.map(lambda n: client(process.url, SEED + n), range(CLIENTS)))
        assert [broken for one in outcomes for broken in one] == []

        def settled() -> bool:
            rows = process.get(REST)["result"]
            return all(row["status"] in {*FINISHED, "paused"} for row in rows)

        until("all ended or paused", settled, explain=lambda: process.last_words)
