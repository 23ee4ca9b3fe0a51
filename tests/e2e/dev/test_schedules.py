"""Schedules and cron triggers under `stepwell dev`: by the clock, by hand, switched off."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stepwell.emulator.cli.main import main
from tests.e2e.process import DevProcess
from tests.e2e.projects import workflow

Start = Callable[..., DevProcess]
Project = Callable[..., Path]

HOUR_MS = 3_600_000
SOURCE = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        return event["schedule"]["cron"]


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("hello")

    async def scheduled(self, controller, env, ctx):
        print("trigger", controller.cron)
        if controller.cron == "fail":
            raise ValueError("no")
"""


@pytest.fixture
def folder(project: Project) -> Path:
    return project(SOURCE, workflows=[workflow(schedules="0 * * * *")], triggers={"crons": ["*/20 * * * *"]})


def instances(server: DevProcess) -> list[Any]:
    rows: list[Any] = server.get("/client/v4/accounts/any/workflows/flow/instances")["result"]
    return rows


def test_moving_the_clock_fires_both_in_order(dev: Start, folder: Path) -> None:
    server = dev(folder)

    server.advance(HOUR_MS)

    server.until_output(r"trigger \*/20")
    assert len(instances(server)) == 1


def test_switched_off_nothing_fires_until_it_is_asked_for(dev: Start, folder: Path) -> None:
    server = dev(folder, "--no-schedules")
    server.advance(HOUR_MS)
    assert instances(server) == []
    assert "trigger" not in server.last_words

    port = server.url.rpartition(":")[2]
    result = CliRunner().invoke(main, ["workflows", "trigger", "flow", "--schedule", "--port", port])

    assert result.output.startswith('The schedule of flow created instance "0 * * * *-')
    (row,) = instances(server)
    assert server.until_status("flow", row["id"], "complete")["output"] == "0 * * * *"


def test_the_handler_of_a_worker_is_run_by_name_and_its_failure_is_told(dev: Start, folder: Path) -> None:
    server = dev(folder, "--no-schedules")

    answers = [
        server.http.get("/cdn-cgi/handler/scheduled", params={"cron": cron, "worker": worker})
        for cron, worker in (("0 1 * * *", "worker"), ("fail", ""), ("0 1 * * *", "other"))
    ]

    assert [(one.status_code, one.text) for one in answers[:2]] == [(200, "ok"), (500, "exception")]
    assert answers[2].text == "worker: unknown Worker 'other'; expected one of worker"
    server.until_output("Uncaught .in scheduled.")


def test_the_clock_page_lists_both(dev: Start, folder: Path) -> None:
    page = dev(folder).http.get("/__dashboard/clock").text

    rows = [re.sub("<[^>]*>", " ", row).split() for row in re.findall("<tr.*?</tr>", page, re.DOTALL)]
    due = [" ".join(row) for row in rows]
    assert any(row.startswith("Schedule New instance 0 * * * * flow ") for row in due)
    assert any(row.startswith("Trigger scheduled() */20 * * * * worker ") for row in due)


def test_the_dashboard_fires_a_schedule(dev: Start, folder: Path) -> None:
    server = dev(folder, "--no-schedules")
    assert "Run now" in server.http.get("/__dashboard/workflows/flow").text

    answer = server.http.post(
        "/__dashboard/workflows/flow/schedule", data={"cron": "0 * * * *"}, headers={"Origin": server.url}
    )

    assert answer.status_code == 303
    assert len(instances(server)) == 1


def test_the_clock_page_calls_a_scheduled_handler(dev: Start, folder: Path) -> None:
    server = dev(folder)
    assert (
        'aria-label="Call the scheduled handler with */20 * * * * now"'
        in server.http.get("/__dashboard/clock").text
    )

    answer = server.http.post(
        "/__dashboard/clock/scheduled",
        data={"worker": "worker", "cron": "*/20 * * * *"},
        headers={"Origin": server.url},
    )

    assert answer.status_code == 303
    server.until_output(r"trigger \*/20")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 0, 'Called the scheduled handler with cron "*/20 * * * *".'),
        (["0 9 * * *"], 0, 'Called the scheduled handler with cron "0 9 * * *".'),
        (["fail"], 1, 'The scheduled handler failed with cron "fail". The terminal of stepwell dev shows why.'),
        (["--worker", "other"], 1, 'There is no Worker "other". Workers: worker.'),
    ],
)
def test_the_command_line_calls_a_scheduled_handler(
    dev: Start, folder: Path, arguments: list[str], code: int, said: str
) -> None:
    port = dev(folder, "--no-schedules").url.rpartition(":")[2]

    result = CliRunner().invoke(main, ["workflows", "scheduled", *arguments, "--port", port])

    assert result.exit_code == code
    assert said in result.output
