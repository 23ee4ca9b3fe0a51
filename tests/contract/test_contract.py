"""Each case of the suite as a test: what the Python Worker shows on our engine is what Cloudflare's recorded.

The ids of the tests are those of the cases; `fixtures/contract/README.md` says how to read one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from stepwell.emulator.testing.contract.cases import Case, default_suite
from stepwell.emulator.testing.contract.report import first_lines, judge, written_at
from stepwell.emulator.testing.contract.run import Outcome
from stepwell.emulator.testing.contract.runner import PYTHON_RULES
from tests.contract.suite import all_cases, applicable_cases, left_out

MOST_LINES = 12


@pytest.mark.parametrize("case", applicable_cases(), ids=lambda case: case.id)
def test_the_python_worker_shows_what_was_recorded(case: Case, outcomes: Mapping[str, Outcome]) -> None:
    report = judge(case, outcomes[case.id], PYTHON_RULES)

    lines = [case.title, *first_lines(report, MOST_LINES), written_at(case)]
    assert report.verdict == "passed", "\n".join(lines)


def test_only_cases_that_exist_are_left_out() -> None:
    assert set(left_out()) <= {case.id for case in all_cases()}


def test_only_cases_tagged_for_it_are_left_to_javascript() -> None:
    data = json.loads((default_suite() / "not-applicable-python.json").read_text(encoding="utf-8"))
    tagged = {case.id for case in all_cases() if "js" in case.tags}

    for ids in data["javascript_only"].values():
        assert set(ids) <= tagged


def test_a_case_that_can_apply_to_python_is_left_out_with_a_reason_only() -> None:
    data = json.loads((default_suite() / "not-applicable-python.json").read_text(encoding="utf-8"))

    assert all(len(reason) > 20 for reason in data["not_applicable"].values())
    assert len(data["not_applicable"]) <= 3
