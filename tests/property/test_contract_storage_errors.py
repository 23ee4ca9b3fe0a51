"""Errors of SQLite while programs of the contract suite run: the same outcome, or the next start completes it.

Each program meets a few errors, chosen by its id. With `STEPWELL_FAULTS=all` in the environment each meets every
error at every statement, which takes hours; with a number, that many.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import AsyncIterator, Iterator

import pytest

from stepwell.bindings.values import encode
from stepwell.emulator.clock import in_next_turn
from stepwell.emulator.config import load_project
from stepwell.emulator.engine import durability
from stepwell.emulator.storage import turn
from stepwell.emulator.testing.contract.cases import Case, default_suite
from stepwell.emulator.worker.python.host import PythonHost
from tests.contract.suite import applicable_cases
from tests.property.trials import ERRORS, Faults, Trial, no_faults

pytestmark = pytest.mark.anyio

_AMOUNT = os.environ.get("STEPWELL_FAULTS", "2")
#: Ops that take real time, or whose real time shows in the outcome.
_REAL_TIME = ('"op": "delay"', '"op": "sleepUntil"', "timestamp")
#: In three of them time must pass while something executes; the last ends its step without ending the attempt.
_LEFT_OUT = ("nested-sleep-in-do", "nested-timeout", "retries-dynamic-slow", "outputs-function")
_SUITE = default_suite()


def cases() -> list[Case]:
    """Programs that end by themselves and do the same each time."""
    plain = [case for case in applicable_cases() if case.actions is Case.__dataclass_fields__["actions"].default]
    return [
        case
        for case in plain
        if (case.workflow, case.profile) == ("main", "default")
        and not any(word in json.dumps(case.program) for word in _REAL_TIME)
        and case.id not in _LEFT_OUT
    ]


class Programs:
    """Trials of the scripted Worker, which is loaded anew for each: it counts in memory what it did."""

    def __init__(self) -> None:
        project = load_project(_SUITE / "worker-python", environ={})
        self._host = PythonHost(
            project.config,
            variables={},
            workflows={},
            now_ms=lambda: 0,
            emit=lambda line: None,
            max_body_bytes=1_000,
        )

    async def run(self, case: Case, faults: Faults) -> tuple[dict[str, object], bool]:
        """What the instance came to, and whether it took more than one process."""
        generation = await self._host.load()
        trial = Trial(generation.runners["MainWorkflow"], encode({"program": case.program}))
        result = await trial.run(faults)
        return result, trial.processes > 1

    async def close(self) -> None:
        await self._host.stop()


@pytest.fixture
async def programs() -> AsyncIterator[Programs]:
    programs = Programs()
    yield programs
    await programs.close()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried at once."""
    monkeypatch.setattr(durability, "in_a_moment", in_next_turn)
    monkeypatch.setattr(turn, "_MOMENT_S", 0)


def injections(case: Case, statements: int) -> Iterator[tuple[str, int]]:
    """Errors, each with the statement at which it comes."""
    every = [(name, first) for first in range(1, statements + 1) for name in ERRORS]
    if _AMOUNT == "all":
        return iter(every)
    return iter(random.Random(case.id).sample(every, min(int(_AMOUNT), len(every))))


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
async def test_errors_of_storage_do_not_show_in_the_outcome(case: Case, programs: Programs) -> None:
    unharmed = no_faults()
    whole, _ = await programs.run(case, unharmed)

    for name, first in injections(case, unharmed.seen):
        where = f"{name} at statement {first}"
        try:
            result, was_restarted = await programs.run(case, Faults(ERRORS[name], first, 1))
        except BaseException as error:
            error.add_note(where)
            raise
        # An attempt that a stop cut off counts as failed, so after one the outcome may be that of another attempt.
        if was_restarted:
            assert result["status"] in ("complete", "errored"), where
        else:
            assert result == whole, where
