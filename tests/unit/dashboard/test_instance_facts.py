"""The header of an instance: when it was made, how long it stood in the queue, how long it took."""

from __future__ import annotations

from stepwell.emulator.dashboard.instance.inputs import InstanceInputs
from stepwell.emulator.dashboard.instance.view import build_instance
from stepwell.emulator.storage.records import HistoryRow, InstanceRow, InstanceValues, WorkflowRow
from tests.unit.dashboard.conftest import MakeHistory, MakeInstance


def spans(
    workflow: WorkflowRow, values: InstanceValues, row: InstanceRow, history: list[HistoryRow]
) -> dict[str, object]:
    given = InstanceInputs(workflow, row, values, [], {}, history, 99_000, {})
    return {fact.name: fact.span or fact.at for fact in build_instance(given).facts}


def test_a_restarted_one_stood_in_the_queue_since_it_was_restarted(
    instance: MakeInstance, history: MakeHistory, workflow: WorkflowRow, no_values: InstanceValues
) -> None:
    entries = history(("workflow_queued", 1_000), ("workflow_queued", 60_000), ("workflow_started", 60_900))

    facts = spans(workflow, no_values, instance(started_at=60_900), entries)

    assert facts["Queued"] == (60_000, 60_900)
    assert facts["Created"] == 1_000


def test_one_that_started_at_once_tells_one_time_and_no_queue(
    instance: MakeInstance, history: MakeHistory, workflow: WorkflowRow, no_values: InstanceValues
) -> None:
    entries = history(("workflow_queued", 1_000), ("workflow_started", 1_002))

    facts = spans(workflow, no_values, instance(started_at=1_002), entries)

    assert {"Created", "Queued"}.isdisjoint(facts)
    assert facts["Started"] == 1_002
