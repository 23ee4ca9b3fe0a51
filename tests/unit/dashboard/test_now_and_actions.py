from __future__ import annotations

import pytest

from stepwell.emulator.dashboard.actions.buttons import buttons
from stepwell.emulator.dashboard.instance.attempts import tries_by_step
from stepwell.emulator.dashboard.instance.now import now_view
from stepwell.emulator.dashboard.instance.steps import step_views
from stepwell.emulator.engine.lifecycle import allowed
from stepwell.emulator.storage.records import Status, StepKind, StepRow, StepState
from tests.unit.dashboard.conftest import MakeHistory, MakeInstance, MakeStep


def pending(step: MakeStep, kind: StepKind, config: str) -> StepRow:
    return step("nap", kind=kind, state=StepState.PENDING, ended_at=None, due_at=9_000, config=config)


def test_a_sleep_can_be_skipped_from_its_item(instance: MakeInstance, step: MakeStep) -> None:
    steps = step_views([pending(step, StepKind.SLEEP, '{"durationMs":8000}')], {}, {}, {1: ""})

    view = now_view(instance(status=Status.WAITING), steps, payloads={})

    assert view.sentence == "Sleeping"
    assert (view.items[0].kind, view.items[0].due_at) == ("sleeping", 9_000)


def test_l16_an_awaited_event_begins_with_the_last_payload_of_its_type(
    instance: MakeInstance, step: MakeStep
) -> None:
    """L16: the dashboard sends the events that are waited for."""
    steps = step_views([pending(step, StepKind.WAIT_FOR_EVENT, '{"type":"go","timeoutMs":8000}')], {}, {}, {1: ""})

    view = now_view(
        instance(status=Status.WAITING), steps, payloads={"go": '{"by":"x"}'}, address=("http://h:1", "orders")
    )

    (item,) = view.items
    assert (item.event_type, item.payload, item.payload_is_last) == ("go", '{\n  "by": "x"\n}', True)
    assert [snippet.name for snippet in item.snippets] == ["curl", "wrangler", "JavaScript", "Python"]


def test_a_retry_shows_the_last_error(instance: MakeInstance, step: MakeStep, history: MakeHistory) -> None:
    row = step(state=StepState.RETRYING, ended_at=None, due_at=9_000)
    detail = '{"error":{"name":"E","message":"m"},"retryDelayMs":1}'
    entries = history(("attempt_started", 1, 1, 1), ("attempt_errored", 2, 1, 1, detail))
    steps = step_views([row], tries_by_step(entries), {}, {1: ""})

    (item,) = now_view(instance(status=Status.WAITING), steps, payloads={}).items

    assert (item.kind, item.attempt, item.last_error) == ("retrying", 2, "E: m")


def test_deadlines_stand_still_while_it_is_paused(instance: MakeInstance, step: MakeStep) -> None:
    steps = step_views([pending(step, StepKind.SLEEP, '{"durationMs":8000}')], {}, {}, {1: ""})

    assert now_view(instance(status=Status.PAUSED, paused_at=5), steps, payloads={}).paused_at == 5


def test_a_running_step_tells_when_its_attempt_times_out(
    instance: MakeInstance, step: MakeStep, history: MakeHistory
) -> None:
    row = step(state=StepState.IN_FLIGHT, ended_at=None)
    steps = step_views([row], tries_by_step(history(("attempt_started", 2_000, 1, 1))), {}, {1: ""})

    (item,) = now_view(instance(), steps, payloads={}).items

    assert (item.kind, item.since_at, item.due_at) == ("running", 2_000, 602_000)


def test_while_it_rolls_back_the_handler_that_runs_is_told(
    instance: MakeInstance, step: MakeStep, history: MakeHistory
) -> None:
    entries = history(("rollback_step_started", 5_000, 2), ("rollback_attempt_started", 5_000, 2, 1))
    rows = [step("a", has_rollback=True), step("b", seq=2, has_rollback=True)]
    steps = step_views(rows, tries_by_step(entries), {}, {1: "", 2: ""})

    view = now_view(instance(status=Status.ROLLING_BACK), steps, payloads={})

    assert view.sentence == "Rolling back, newest step first: 0 of 2 steps done"
    assert [(item.kind, item.step.name, item.attempt) for item in view.items] == [("undoing", "b", 1)]


def test_a_rollback_that_is_tried_again_tells_when_and_why(
    instance: MakeInstance, step: MakeStep, history: MakeHistory
) -> None:
    detail = '{"error":{"name":"E","message":"m"},"retryDelayMs":10000}'
    entries = history(("rollback_attempt_started", 5_000, 1, 1), ("rollback_attempt_errored", 5_100, 1, 1, detail))
    steps = step_views([step(has_rollback=True)], tries_by_step(entries), {}, {1: ""})

    (item,) = now_view(instance(status=Status.ROLLING_BACK), steps, payloads={}).items

    assert (item.kind, item.due_at, item.attempt, item.last_error) == ("undoing again", 15_100, 2, "E: m")


def test_a_finished_one_has_nothing_under_way(instance: MakeInstance, step: MakeStep) -> None:
    row = instance(status=Status.TERMINATED, ended_at=5)
    steps = step_views([pending(step, StepKind.SLEEP, '{"durationMs":8000}')], {}, {}, {1: ""})

    view = now_view(row, steps, payloads={}, reason="ordered twice")

    assert view.is_over
    assert view.items == ()
    assert view.reason == "ordered twice"


@pytest.mark.parametrize("status", list(Status))
def test_l16_every_status_has_a_sentence_and_the_engines_buttons(instance: MakeInstance, status: Status) -> None:
    """L16: buttons are exactly what the engine's table allows."""
    reasons = {str(command): reason for command, reason in allowed(status).items()}

    made = buttons("orders", "one", reasons, has_rollback=False)

    assert now_view(instance(status=status), [], payloads={}).sentence
    assert all(button.reason == reasons[button.command] for button in made)
    assert {"terminate", "restart", "delete"} <= {button.command for button in made}


def test_what_cannot_be_undone_asks_by_name() -> None:
    made = buttons("orders", "one", {}, has_rollback=True)

    asking = {button.command: button.question.title for button in made if button.question is not None}
    assert asking == {
        "terminate": "Terminate one?",
        "restart": "Restart one from the top?",
        "delete": "Delete one?",
    }


def test_only_the_possible_one_of_pause_and_resume_is_offered() -> None:
    for status, expected in ((Status.PAUSED, "resume"), (Status.RUNNING, "pause"), (Status.COMPLETE, "pause")):
        reasons = {str(command): reason for command, reason in allowed(status).items()}
        shown = {button.command for button in buttons("w", "i", reasons, has_rollback=False)}
        assert shown & {"pause", "resume"} == {expected}


@pytest.mark.parametrize(
    ("place", "words"), [(0, "Queued: next to start"), (2, "Queued: 2 ahead (concurrency limit)")]
)
def test_a_queued_one_says_how_many_are_ahead(instance: MakeInstance, place: int, words: str) -> None:
    view = now_view(instance(status=Status.QUEUED), [], payloads={}, queue_place=place)

    assert view.sentence == words
