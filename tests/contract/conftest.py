"""Drives the whole suite once, side by side, before the first case is judged."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest

from stepwell.emulator.clock import SystemClock
from stepwell.emulator.testing.contract.cases import Case, default_suite
from stepwell.emulator.testing.contract.report import judge
from stepwell.emulator.testing.contract.run import Outcome, run_over_http
from stepwell.emulator.testing.contract.runner import PYTHON_RULES
from stepwell.emulator.testing.contract.targets import started
from tests.contract.suite import applicable_cases

JOBS = 16


@pytest.fixture(scope="session")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcome]:
    """What every case showed, by id. With pytest-xdist, the first worker drives and the others read."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return asyncio.run(drive(applicable_cases()))
    return driven_by_one_worker(tmp_path_factory.getbasetemp().parent)


async def drive(cases: list[Case]) -> dict[str, Outcome]:
    """Side by side; what differs is driven once more alone, since programs take real milliseconds and say so."""
    clock = SystemClock()
    async with started("python", default_suite(), clock) as urls:
        outcomes = await run_over_http(cases, urls, clock, jobs=JOBS)
        differing = [case for case in cases if judge(case, outcomes[case.id], PYTHON_RULES).verdict == "failed"]
        return outcomes | await run_over_http(differing, urls, clock, jobs=1)


def driven_by_one_worker(shared: Path) -> dict[str, Outcome]:
    file = shared / "contract-outcomes.json"
    try:
        (shared / "contract-lock").mkdir()
    except FileExistsError:
        return read_outcomes(file)
    outcomes = asyncio.run(drive(applicable_cases()))
    text = json.dumps({case_id: asdict(outcome) for case_id, outcome in outcomes.items()})
    (shared / "contract-outcomes.part").write_text(text, encoding="utf-8")
    (shared / "contract-outcomes.part").replace(file)
    return outcomes


def read_outcomes(file: Path) -> dict[str, Outcome]:
    for _ in range(1_200):
        if file.exists():
            break
        time.sleep(0.1)  # another process is at work: no time of the product
    data = json.loads(file.read_text(encoding="utf-8"))
    return {
        case_id: Outcome(fields["seen"], tuple(fields["broken"]), fields["skipped"], fields["took_ms"])
        for case_id, fields in data.items()
    }
