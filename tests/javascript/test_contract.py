"""The cases that only JavaScript can show, on our engine: what the scripted Worker shows is what was recorded.

All other cases run on the Worker in Python (tests/contract); `stepwell contract --target javascript` runs them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from emulator.clock import SystemClock
from emulator.testing.contract_cases import Case, default_suite
from emulator.testing.contract_compare import Rules
from emulator.testing.contract_report import first_lines, judge, written_at
from emulator.testing.contract_run import Outcome, run_over_http
from emulator.testing.contract_targets import started
from tests.contract.suite import all_cases
from tests.javascript.conftest import needs_runtime

pytestmark = needs_runtime

CASES = [case for case in all_cases() if "js" in case.tags and not case.doubt]


@pytest.fixture(scope="module")
def outcomes(node_on_path: None) -> Mapping[str, Outcome]:
    """What every case showed, by id; what differs beside others is driven once more alone."""
    return asyncio.run(_drive())


async def _drive() -> dict[str, Outcome]:
    clock = SystemClock()
    async with started("javascript", default_suite(), clock) as urls:
        outcomes = await run_over_http(CASES, urls, clock)
        differing = [case for case in CASES if judge(case, outcomes[case.id], Rules()).verdict == "failed"]
        return outcomes | await run_over_http(differing, urls, clock, jobs=1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_javascript_worker_shows_what_was_recorded(case: Case, outcomes: Mapping[str, Outcome]) -> None:
    report = judge(case, outcomes[case.id], Rules())

    lines = [case.title, *first_lines(report, 12), written_at(case)]
    assert report.verdict == "passed", "\n".join(lines)
