"""The form of a duplicate: which results can be carried over, and what the editor of the last one begins with."""

from __future__ import annotations

from stepwell.emulator.dashboard.instance.steps import step_views
from stepwell.emulator.dashboard.workflows.view import carry_view
from stepwell.emulator.storage.records import StepKind, StepState
from tests.unit.dashboard.conftest import MakeStep


def test_every_step_can_be_chosen_and_none_is_at_first(step: MakeStep) -> None:
    view = carry_view([step("a"), step("b", seq=2, state=StepState.FAILED)], None, replace=False)

    assert view is not None
    assert [(choice.seq, choice.name, choice.chosen) for choice in view.choices] == [
        (1, "a-1", False),
        (2, "b-1", False),
    ]
    assert not view.open


def test_the_editor_is_empty_unless_the_result_is_to_be_replaced(step: MakeStep) -> None:
    kept, replaced = (carry_view([step("a")], 1, replace=replace) for replace in (False, True))

    assert kept is not None
    assert replaced is not None
    assert (kept.open, kept.result) == (True, "")
    assert replaced.result == '{\n  "ok": true\n}'


def test_a_wait_without_an_event_begins_with_the_shape_of_one(step: MakeStep) -> None:
    wait = step(
        "answer", kind=StepKind.WAIT_FOR_EVENT, config='{"type":"go"}', output=None, state=StepState.PENDING
    )
    view = carry_view([wait], 1, replace=True)

    assert view is not None
    assert '"type": "go"' in view.result


def test_a_sensitive_result_is_not_shown(step: MakeStep) -> None:
    view = carry_view([step("a", sensitive=True)], 1, replace=True)

    assert view is not None
    assert view.result == ""


def test_without_a_step_there_is_nothing_to_carry() -> None:
    assert carry_view([], None, replace=False) is None


def test_a_step_that_was_carried_over_says_so(step: MakeStep) -> None:
    (view,) = step_views([step("a", attempts=0)], {}, {}, {1: ""})

    assert view.summary == "carried over from another run"
