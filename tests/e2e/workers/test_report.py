"""fixtures/workers/py-report: a Workflow's schedule, and a Worker's cron trigger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.e2e.process import DevProcess, until

WEEK_MS = 7 * 86_400_000


INSTANCES = "/client/v4/accounts/local/workflows/weekly-report/instances"


def reports(dev: DevProcess, page: int = 1) -> list[dict[str, Any]]:
    """One page of the reports, newest first."""
    rows: list[dict[str, Any]] = dev.get(f"{INSTANCES}?per_page=100&page={page}")["result"]
    return rows


def test_a_report_by_hand_says_so(sample: Callable[..., DevProcess]) -> None:
    dev = sample("py-report")

    started = dev.post("/")

    report = dev.until_status("weekly-report", started["id"], "complete")
    assert report["output"] == {"text": "Report (by hand)\nnorth: 120.00\nsouth: 80.50"}


def test_a_week_makes_one_report_by_its_schedule(sample: Callable[..., DevProcess]) -> None:
    dev = sample("py-report")

    dev.advance(WEEK_MS)

    hours_and_one = [*reports(dev, 1), *reports(dev, 2)]  # the Worker's own cron trigger makes one an hour
    (row,) = [one for one in hours_and_one if one["trigger_source"] == "cron"]
    report = dev.get(f"/?id={row['id'].replace(' ', '%20').replace('*', '%2A')}")
    assert report["output"]["text"].startswith("Report (schedule 0 9 * * 1)")


def test_the_scheduled_handler_makes_the_report_of_its_hour(sample: Callable[..., DevProcess]) -> None:
    dev = sample("py-report")

    answer = dev.http.get("/cdn-cgi/handler/scheduled", params={"cron": "0 * * * *", "time": "1795946400000"})

    assert answer.is_success, answer.text
    made = until("the report", lambda: [one for one in reports(dev) if one["id"] == "hour-2026-11-29T10"])
    assert made[0]["trigger_source"] == "binding"
