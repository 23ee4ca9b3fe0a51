"""Verdicts on outcomes, and the report for machines. What people see is in `contract_view`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stepwell.bindings.values import Value
from stepwell.emulator.testing.contract.cases import Case, Recording
from stepwell.emulator.testing.contract.compare import Difference, Rules, compare
from stepwell.emulator.testing.contract.run import Outcome

Verdict: TypeAlias = Literal["passed", "failed", "skipped"]

_LONGEST_TEXT = 300
_DOCS = "https://developers.cloudflare.com/workflows/"

#: Where Cloudflare's documentation speaks of an area. The recording itself is the rule where it is silent.
_PAGES: Mapping[str, str] = {
    "batch": "build/trigger-workflows/",
    "config": "build/sleeping-and-retrying/",
    "create": "build/trigger-workflows/",
    "ctx": "build/workers-api/",
    "delete": "build/workers-api/",
    "errors": "build/sleeping-and-retrying/",
    "events": "build/events-and-parameters/",
    "get": "build/workers-api/",
    "ids": "reference/limits/",
    "limits": "reference/limits/",
    "naming": "build/rules-of-workflows/",
    "nested": "build/rules-of-workflows/",
    "outputs": "build/workers-api/",
    "parallel": "build/rules-of-workflows/",
    "params": "build/events-and-parameters/",
    "pause": "build/trigger-workflows/",
    "restart": "build/trigger-workflows/",
    "retention": "reference/limits/",
    "retries": "build/sleeping-and-retrying/",
    "rollback": "build/sleeping-and-retrying/",
    "run": "build/workers-api/",
    "sensitive": "build/workers-api/",
    "sleep": "build/sleeping-and-retrying/",
    "sleepUntil": "build/sleeping-and-retrying/",
    "status": "build/workers-api/",
    "streams": "build/workers-api/",
    "subscribe": "build/workers-api/",
    "terminate": "build/trigger-workflows/",
    "timeout": "build/sleeping-and-retrying/",
}


def written_at(case: Case) -> str:
    """Where the rule that a case tests is written."""
    return f'case "{case.id}" in {case.file}; {_DOCS}{_PAGES.get(case.area, "")}'


@dataclass(frozen=True, slots=True)
class CaseReport:
    """The verdict on one case, with everything that was not as expected."""

    case: Case
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    broken: tuple[str, ...] = ()
    skipped: str | None = None
    took_ms: int = 0

    def lines(self) -> list[str]:
        """One text for each thing that is wrong."""
        texts = [
            f"{difference.path}: expected {short(difference.expected)}, got {short(difference.got)}"
            for difference in self.differences
        ]
        return [*self.broken, *texts]


def judge(case: Case, outcome: Outcome, rules: Rules, recording: Recording = "workerd") -> CaseReport:
    if outcome.skipped is not None:
        return CaseReport(case, "skipped", skipped=outcome.skipped)
    if outcome.broken:
        return CaseReport(case, "failed", broken=outcome.broken, took_ms=outcome.took_ms)
    found = compare(case, case.expected_by(recording), outcome.seen, rules)
    return CaseReport(case, "failed" if found else "passed", tuple(found), took_ms=outcome.took_ms)


@dataclass(frozen=True, slots=True)
class Report:
    """All verdicts of one run."""

    cases: tuple[CaseReport, ...]

    def counts(self) -> Counter[Verdict]:
        return Counter(report.verdict for report in self.cases)

    def areas(self) -> dict[str, Counter[Verdict]]:
        """The counts by area, in order of the cases."""
        out: dict[str, Counter[Verdict]] = {}
        for report in self.cases:
            out.setdefault(report.case.area, Counter())[report.verdict] += 1
        return out

    def failed(self) -> list[CaseReport]:
        return [report for report in self.cases if report.verdict == "failed"]

    def to_json(self) -> dict[str, Value]:
        """The report for machines: the counts, the same by area, and each case with its differences."""
        return {
            "total": len(self.cases),
            **_all_three(self.counts()),
            "areas": {area: _all_three(counts) for area, counts in self.areas().items()},
            "cases": [_case_json(report) for report in self.cases],
        }


def report_on(
    cases: Iterable[Case], outcomes: Mapping[str, Outcome], rules: Rules, recording: Recording = "workerd"
) -> Report:
    return Report(tuple(judge(case, outcomes[case.id], rules, recording) for case in cases))


def _all_three(counts: Mapping[Verdict, int]) -> dict[str, int]:
    return {"passed": counts["passed"], "failed": counts["failed"], "skipped": counts["skipped"]}


def _case_json(report: CaseReport) -> dict[str, Value]:
    return {
        "id": report.case.id,
        "area": report.case.area,
        "verdict": report.verdict,
        "differences": report.lines(),
        "written_at": written_at(report.case),
        "took_ms": report.took_ms,
    }


def short(value: Value) -> str:
    """A value as one line of JSON, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."


def first_lines(report: CaseReport, most: int) -> Sequence[str]:
    """At most so many lines, the last of which says how many more there are."""
    lines = report.lines()
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most} more"]
