from __future__ import annotations

from typing import Any

import pytest

from stepwell.emulator.dashboard.parts.where import where
from stepwell.emulator.storage.records import Status, StepKind, StepState
from stepwell.emulator.storage.view_records import StepBrief
from tests.unit.dashboard.conftest import DO_CONFIG, MakeInstance


def brief(**fields: Any) -> StepBrief:
    plain: dict[str, Any] = {
        "instance": 1,
        "seq": 2,
        "kind": StepKind.DO,
        "name": "charge",
        "count": 1,
        "parent": None,
        "state": StepState.IN_FLIGHT,
        "attempts": 1,
        "started_at": 0,
        "ended_at": None,
        "due_at": None,
        "config": DO_CONFIG,
        "error": None,
    }
    return StepBrief(**{**plain, **fields})


@pytest.mark.parametrize(
    ("focus", "sentence"),
    [
        (brief(), "Running charge"),
        (brief(attempts=2), "Running charge, attempt 2 of 3"),
        (brief(state=StepState.RETRYING, due_at=9), "Retrying charge, attempt 2 of 3"),
        (
            brief(kind=StepKind.SLEEP, name="nap", state=StepState.PENDING, due_at=9, config='{"durationMs":5}'),
            "Sleeping until",
        ),
        (
            brief(
                kind=StepKind.WAIT_FOR_EVENT,
                state=StepState.PENDING,
                due_at=9,
                config='{"type":"go","timeoutMs":5}',
            ),
            "Waiting for event go, times out",
        ),
        (None, "Running code between steps"),
    ],
)
def test_an_open_step_says_what_the_instance_does(
    instance: MakeInstance, focus: StepBrief | None, sentence: str
) -> None:
    assert where(instance(), focus).plain == sentence


def test_more_open_steps_are_counted(instance: MakeInstance) -> None:
    assert where(instance(), brief(), others=2).plain == "Running charge and 2 more"


def test_an_errored_one_names_the_step_and_the_error(instance: MakeInstance) -> None:
    row = instance(status=Status.ERRORED, ended_at=5)

    focus = brief(state=StepState.FAILED, error='{"name":"Error","message":"no money\\nat all"}')

    found = where(row, focus, error=("Error", "no money\nat all"))

    assert found.plain == "charge Error: no money"


def test_a_step_whose_error_was_caught_is_not_where_it_failed(instance: MakeInstance) -> None:
    row = instance(status=Status.ERRORED, ended_at=5)
    focus = brief(state=StepState.FAILED, error='{"name":"Error","message":"no money"}')

    assert where(row, focus, error=("KeyError", "x")).plain == "After charge KeyError: x"


def test_an_error_of_run_itself_is_told_apart(instance: MakeInstance) -> None:
    row = instance(status=Status.ERRORED, ended_at=5)

    assert where(row, None, error=("TypeError", "")).plain == "TypeError"


def test_a_workflow_without_code_blocks_what_has_not_ended(instance: MakeInstance) -> None:
    assert where(instance(), None, defined=False).plain.startswith("Suspended")
    assert where(instance(status=Status.COMPLETE, ended_at=5), None, defined=False).plain == "Returned nothing"


def test_a_queued_one_says_its_place(instance: MakeInstance) -> None:
    queued = instance(status=Status.QUEUED)

    assert where(queued, None, queue_place=4).plain == "Queued: 4 ahead (concurrency limit)"
    assert where(queued, None, queue_place=0).plain == "Queued: next (concurrency limit)"


def test_a_complete_one_says_what_it_returned(instance: MakeInstance) -> None:
    row = instance(status=Status.COMPLETE, ended_at=5)

    assert where(row, None, output='{"n": 1}').plain == 'Returned {"n": 1}'
    assert where(row, None, output="").plain == "Returned nothing"


def test_a_step_is_numbered_only_where_its_name_is_used_again(instance: MakeInstance) -> None:
    assert where(instance(), brief(count=28)).plain == "Running charge #28"


def test_a_terminated_one_says_what_it_was_waiting_for(instance: MakeInstance) -> None:
    row = instance(status=Status.TERMINATED, ended_at=5)
    focus = brief(kind=StepKind.WAIT_FOR_EVENT, state=StepState.PENDING, config='{"type":"signed"}')

    assert where(row, focus).plain == "Terminated by request while waiting for signed"
