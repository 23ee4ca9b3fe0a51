"""The facts of an instance: when it was made, how long it was queued, how long it took."""

from __future__ import annotations

from stepwell.emulator.storage.records import HistoryRow, InstanceRow, StepKind, StepRow, StepState
from tests.unit.dashboard.conftest import MakeHistory, MakeInstance, MakeStep
from tests.unit.dashboard.drawing import page_of


def facts_of(row: InstanceRow, history: list[HistoryRow], *steps: StepRow) -> dict[str, object]:
    view = page_of(row, history=history, steps=steps)
    return {fact.name: fact.text or fact.span or fact.at for fact in view.facts}


def test_a_restarted_one_stood_in_the_queue_since_it_was_restarted(
    instance: MakeInstance, history: MakeHistory
) -> None:
    entries = history(("workflow_queued", 1_000), ("workflow_queued", 60_000), ("workflow_started", 60_900))

    facts = facts_of(instance(started_at=60_900), entries)

    assert facts["Queued"] == (60_000, 60_900)
    assert facts["Created"] == 1_000


def test_one_that_started_at_once_tells_one_time_and_no_queue(instance: MakeInstance, history: MakeHistory) -> None:
    entries = history(("workflow_queued", 1_000), ("workflow_started", 1_002))

    facts = facts_of(instance(started_at=1_002), entries)

    assert {"Created", "Queued"}.isdisjoint(facts)
    assert facts["Started"] == 1_002


def test_working_time_is_told_where_most_of_the_time_was_spent_waiting(
    instance: MakeInstance, step: MakeStep
) -> None:
    nap = step("nap", seq=2, kind=StepKind.SLEEP, started_at=1_100, ended_at=61_000, config='{"durationMs":1}')
    row = instance(started_at=1_000, ended_at=61_000)

    assert facts_of(row, [], step(started_at=1_000, ended_at=1_100), nap)["Working time"] == "100 ms"
    assert "Working time" not in facts_of(row, [], step(started_at=1_000, ended_at=50_000))


def test_steps_are_counted_with_those_that_are_done_while_some_are_not(
    instance: MakeInstance, step: MakeStep
) -> None:
    failed = step("pay", seq=2, state=StepState.FAILED, error='{"name":"E","message":"m"}')

    assert facts_of(instance(), [], step())["Steps"] == "1"
    assert facts_of(instance(), [], step(), failed)["Steps"] == "1 of 2 done"
