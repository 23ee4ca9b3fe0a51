from __future__ import annotations

import io
import json
from collections.abc import Callable

from rich.console import Console

from stepwell.emulator.testing.contract.cases import Case
from stepwell.emulator.testing.contract.compare import Rules
from stepwell.emulator.testing.contract.report import Report, judge, report_on, short, written_at
from stepwell.emulator.testing.contract.run import Outcome
from stepwell.emulator.testing.contract.view import MOST, show_report

CaseOf = Callable[..., Case]
COMPLETE = {"ok": {"status": "complete"}}


def test_a_case_that_shows_what_it_expects_has_passed(case_of: CaseOf) -> None:
    report = judge(case_of(expect={"status": COMPLETE}), Outcome({"status": COMPLETE}), Rules())

    assert report.verdict == "passed"
    assert report.lines() == []


def test_a_failed_case_says_what_was_expected_and_what_came(case_of: CaseOf) -> None:
    seen = Outcome({"status": {"ok": {"status": "errored"}}})

    report = judge(case_of(expect={"status": COMPLETE}), seen, Rules())

    assert report.verdict == "failed"
    assert report.lines() == ['status.ok.status: expected "complete", got "errored"']


def test_a_broken_trace_fails_whatever_was_seen(case_of: CaseOf) -> None:
    outcome = Outcome({"status": COMPLETE}, broken=("event ids do not increase: [2, 1]",))

    report = judge(case_of(expect={"status": COMPLETE}), outcome, Rules())

    assert (report.verdict, report.lines()) == ("failed", ["event ids do not increase: [2, 1]"])


def test_a_skipped_case_is_neither_passed_nor_failed(case_of: CaseOf) -> None:
    assert judge(case_of(), Outcome(skipped="no clock"), Rules()).verdict == "skipped"


def test_the_recording_of_miniflare_can_be_the_measure(case_of: CaseOf) -> None:
    case = case_of(expect={"status": COMPLETE}, miniflare={"status": 1})

    assert judge(case, Outcome({"status": 1}), Rules(), "miniflare").verdict == "passed"
    assert judge(case, Outcome({"status": 1}), Rules(), "workerd").verdict == "failed"


def test_a_rule_is_written_in_the_case_and_in_the_documentation(case_of: CaseOf) -> None:
    assert written_at(case_of(id="sleep-zero")) == (
        'case "sleep-zero" in cases/sleep.json; '
        "https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/"
    )


def test_a_long_value_is_cut() -> None:
    assert short("x" * 400).endswith("...")
    assert len(short("x" * 400)) == 300


def one_of_each(case_of: CaseOf) -> Report:
    cases = [
        case_of(id=name, area=area, expect={"status": 1}) for name, area in (("a", "x"), ("b", "x"), ("c", "y"))
    ]
    outcomes = {"a": Outcome({"status": 1}), "b": Outcome({"status": 2}), "c": Outcome(skipped="no clock")}
    return report_on(cases, outcomes, Rules())


def test_the_report_counts_in_all_and_by_area(case_of: CaseOf) -> None:
    data = one_of_each(case_of).to_json()

    assert {key: data[key] for key in ("total", "passed", "failed", "skipped")} == {
        "total": 3,
        "passed": 1,
        "failed": 1,
        "skipped": 1,
    }
    assert data["areas"]["x"] == {"passed": 1, "failed": 1, "skipped": 0}
    assert json.loads(json.dumps(data)) == data


def test_the_report_for_machines_has_every_difference(case_of: CaseOf) -> None:
    data = one_of_each(case_of).to_json()

    assert [entry["differences"] for entry in data["cases"]] == [[], ["status: expected 1, got 2"], []]


# -- for people ----------------------------------------------------------------------------------------------


def shown(report: Report) -> str:
    console = Console(record=True, width=120, file=io.StringIO())
    show_report(console, report, "http://here", 1500)
    return console.export_text()


def test_people_see_each_difference_and_where_its_rule_is_written(case_of: CaseOf) -> None:
    text = shown(one_of_each(case_of))

    assert "b  a title\n  status\n    expected  1\n    came      2\n  written: case " in text


def test_people_see_the_counts_and_why_cases_were_skipped(case_of: CaseOf) -> None:
    text = shown(one_of_each(case_of))

    assert "1 skipped: no clock" in text
    assert "http://here: 1 passed, 1 failed, 1 skipped of 3 in 1.5 s" in text


def test_of_very_many_differences_people_see_the_first(case_of: CaseOf) -> None:
    case = case_of(expect={"journal": list(range(MOST + 5))})

    text = shown(report_on([case], {"c": Outcome({"journal": []})}, Rules()))

    assert text.count("expected") == MOST
    assert "and 5 more" in text


def test_a_title_in_brackets_is_shown_as_it_is(case_of: CaseOf) -> None:
    case = case_of(title="batch[0] [red]", expect={"status": 1})

    assert "batch[0] [red]" in shown(report_on([case], {"c": Outcome()}, Rules()))
