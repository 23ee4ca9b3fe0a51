"""The suite's own JavaScript Worker on our engine: what it shows is what was recorded, in every case.

Those that only JavaScript can show are tests of their own; all others run on the Worker in Python, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from stepwell.emulator.clock import SystemClock
from stepwell.emulator.testing.contract.cases import Case, default_suite
from stepwell.emulator.testing.contract.compare import Rules
from stepwell.emulator.testing.contract.report import first_lines, judge, written_at
from stepwell.emulator.testing.contract.run import Outcome, run_over_http
from stepwell.emulator.testing.contract.targets import started
from stepwell.emulator.web.urls import CLOCK
from tests.contract.suite import all_cases
from tests.javascript.conftest import needs_runtime

pytestmark = needs_runtime

CASES = [case for case in all_cases() if "js" in case.tags and not case.doubt]
OTHERS = [case for case in all_cases() if "js" not in case.tags and not case.doubt]


@pytest.fixture(scope="module")
def outcomes(node_on_path: None) -> Mapping[str, Outcome]:
    """What every case showed, by id; what differs beside others is driven once more alone."""
    return asyncio.run(_drive(CASES))


async def _drive(cases: Sequence[Case]) -> dict[str, Outcome]:
    clock = SystemClock()
    async with started("javascript", default_suite(), clock) as urls:
        outcomes = await run_over_http(cases, urls, clock, clock_path=CLOCK)
        differing = [case for case in cases if judge(case, outcomes[case.id], Rules()).verdict == "failed"]
        return outcomes | await run_over_http(differing, urls, clock, jobs=1, clock_path=CLOCK)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_javascript_worker_shows_what_was_recorded(case: Case, outcomes: Mapping[str, Outcome]) -> None:
    report = judge(case, outcomes[case.id], Rules())

    lines = [case.title, *first_lines(report, 12), written_at(case)]
    assert report.verdict == "passed", "\n".join(lines)


@pytest.mark.timeout(600)
def test_the_javascript_worker_passes_all_other_cases(node_on_path: None) -> None:
    outcomes = asyncio.run(_drive(OTHERS))

    reports = [judge(case, outcomes[case.id], Rules()) for case in OTHERS]
    differing = [line for one in reports if one.verdict != "passed" for line in (one.case.id, *first_lines(one, 3))]
    assert differing == []
