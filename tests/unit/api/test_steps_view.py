"""The views of steps, from records alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stepwell.emulator.api.steps_view import Steps, needs_history
from stepwell.emulator.storage.records import (
    EventType,
    HistoryRow,
    InstanceRow,
    Status,
    StepKind,
    StepRow,
    StepState,
    Trigger,
)

T = EventType
CONFIG = '{"retries":{"limit":5,"delay":10000,"backoff":"exponential"},"timeout":"10 minutes"}'


def step(kind: StepKind = StepKind.DO, **changes: Any) -> StepRow:
    usual: dict[str, Any] = {
        "seq": 1,
        "kind": kind,
        "name": "a",
        "count": 1,
        "parent": None,
        "state": StepState.COMPLETED,
        "attempts": 1,
        "started_at": 0,
        "ended_at": 5,
        "due_at": None,
        "has_rollback": False,
        "sensitive": False,
        "config": CONFIG,
        "error": None,
        "output": "1",
    }
    return StepRow(**{**usual, **changes})


def entry(
    event_id: int, kind: EventType, attempt: int | None = None, seq: int | None = 1, **detail: Any
) -> HistoryRow:
    return HistoryRow(event_id, kind, event_id, seq, attempt, json.dumps(detail) if detail else None)


def instance(**changes: Any) -> InstanceRow:
    usual = {name: None for name in InstanceRow._fields if name not in InstanceRow._field_defaults}
    values: dict[str, Any] = {**usual, "status": Status.RUNNING, "trigger": Trigger.API, **changes}
    return InstanceRow(**values)


def views(
    steps: list[StepRow], *history: HistoryRow, explorer: bool = False, row: InstanceRow | None = None
) -> Any:
    texts = Steps(history, lambda _: "<stream>", explorer=explorer, row=row).texts(steps)
    return [json.loads(text) for text in texts]


@pytest.mark.parametrize(
    ("row", "needed"),
    [
        (step(), False),
        (step(state=StepState.IN_FLIGHT, ended_at=None), False),
        (step(attempts=2), True),
        (step(state=StepState.FAILED), True),
        (step(state=StepState.RETRYING), True),
        (step(StepKind.SLEEP, attempts=0), False),
        (step(StepKind.WAIT_FOR_EVENT, attempts=0, state=StepState.FAILED), False),
    ],
)
def test_only_steps_that_did_not_go_well_at_once_need_the_history(row: StepRow, needed: bool) -> None:
    assert needs_history(row) is needed


def test_an_attempt_that_a_crash_ended_is_a_failed_one() -> None:
    crash = {
        "error": {"name": "WorkflowInternalError", "message": "Attempt failed due to internal workflows error"}
    }

    (view,) = views(
        [step(attempts=2)],
        entry(1, T.STEP_STARTED),
        entry(2, T.ATTEMPT_STARTED, 1),
        entry(3, T.ATTEMPT_ERRORED, 1, **crash),
        entry(4, T.ATTEMPT_STARTED, 2),
        entry(5, T.ATTEMPT_COMPLETED, 2),
        entry(6, T.STEP_COMPLETED),
    )

    assert [(one["success"], one["error"]) for one in view["attempts"]] == [(False, crash["error"]), (True, None)]


def test_the_stack_of_an_error_stays_inside() -> None:
    error = {
        "name": "ValueError",
        "message": "no",
        "stack": "Traceback ...",
        "cause": {"name": "E", "message": "c"},
    }

    (view,) = views(
        [step(state=StepState.FAILED, output=None)],
        entry(2, T.ATTEMPT_STARTED, 1),
        entry(3, T.ATTEMPT_ERRORED, 1, error=error),
    )

    assert view["attempts"][0]["error"] == {"name": "ValueError", "message": "no"}


def test_entries_of_other_steps_and_of_the_instance_are_left_alone() -> None:
    (view,) = views(
        [step(attempts=2)],
        entry(1, T.ATTEMPT_STARTED, 1, seq=2),
        entry(2, T.WORKFLOW_RUNNING, seq=None),
        entry(3, T.ATTEMPT_STARTED, 1),
    )

    assert len(view["attempts"]) == 1


def test_a_sleep_without_a_deadline_ends_after_its_length() -> None:
    row = step(StepKind.SLEEP, state=StepState.PENDING, ended_at=None, config='{"durationMs":1000}')

    (view,) = views([row])

    assert (view["end"], view["finished"]) == ("1970-01-01T00:00:01.000Z", False)


def test_a_stream_is_shown_by_its_preview() -> None:
    (view,) = views([step(stream="binary", output=None)])

    assert view["output"] == "<stream>"


def test_a_sensitive_stream_is_not_even_previewed() -> None:
    (view,) = views([step(stream="text", output=None, sensitive=True)])

    assert view["output"] == "[REDACTED]"


def test_a_rollback_whose_handler_is_missing_has_no_attempts() -> None:
    missing = {"name": "RollbackMissing", "message": "Rollback function not available in registry"}

    _, undone = views(
        [step()], entry(1, T.ROLLBACK_STARTED, seq=None), entry(2, T.ROLLBACK_STEP_ERRORED, error=missing)
    )

    assert (undone["type"], undone["success"], undone["attempts"]) == ("rollback", False, [])


def test_the_explorer_knows_no_rollbacks() -> None:
    made = views([step()], entry(2, T.ROLLBACK_STEP_STARTED), explorer=True)

    assert [view["type"] for view in made] == ["step"]


def test_a_running_rollback_is_open() -> None:
    _, undone = views([step()], entry(2, T.ROLLBACK_STEP_STARTED), entry(3, T.ROLLBACK_ATTEMPT_STARTED, 1))

    assert (undone["success"], undone["end"]) == (None, None)
    assert undone["attempts"][0]["success"] is None


@pytest.mark.parametrize("name", ["a", 'with "quotes" and \\', "line\nbreak", "Zürich \N{GRINNING FACE}", "\ud83d"])
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"output": "null"}, {"output": None}),
        ({"output": '{"text":"Zürich","n":[1,2.5,true]}'}, {"output": {"text": "Zürich", "n": [1, 2.5, True]}}),
        ({"output": '{"$":"date","v":1000}'}, {"output": "1970-01-01T00:00:01.000Z"}),
        ({"output": None}, {}),
        ({"sensitive": True, "output": None}, {"output": "[REDACTED]"}),
        ({"stream": "text"}, {"output": "<stream>"}),
        ({"state": StepState.IN_FLIGHT, "ended_at": None, "output": None}, {"end": None, "success": None}),
        ({"started_at": 1_700_000_000_001}, {"start": "2023-11-14T22:13:20.001Z", "output": 1}),
    ],
)
def test_a_step_tells_what_its_record_says(name: str, changes: dict[str, Any], expected: dict[str, Any]) -> None:
    (view,) = views([step(name=name, **changes)])

    times = {"start": "1970-01-01T00:00:00.000Z", "end": "1970-01-01T00:00:00.005Z", "success": True, **expected}
    attempt = {key: times[key] for key in ("start", "end", "success")}
    assert view == {
        "name": f"{name}-1",
        "type": "step",
        "config": json.loads(CONFIG),
        "attempts": [{**attempt, "error": None}],
        **times,
    }


def test_a_step_that_is_tried_again_says_which_attempt_comes_when() -> None:
    row = step(state=StepState.RETRYING, ended_at=None, due_at=60_000, output=None)

    (view,) = views([row], entry(1, T.ATTEMPT_STARTED, 1), entry(2, T.ATTEMPT_ERRORED, 1, error={"name": "E"}))
    (local,) = views([row], explorer=True)

    assert view["next_attempt"] == {"attempt": 2, "at": "1970-01-01T00:01:00.000Z"}
    assert "next_attempt" not in local


def test_a_result_that_was_copied_from_another_instance_is_marked() -> None:
    own, copied = views([step(), step(seq=2, attempts=0)], row=instance())

    assert "carried" not in own
    assert copied["carried"] == "copy"


def test_a_sleep_that_was_copied_from_another_instance_is_marked() -> None:
    row = instance(created_at=7, copied_from='["flow","one"]')
    nap = step(StepKind.SLEEP, started_at=7, ended_at=7, config='{"durationMs":5}')

    (view,) = views([nap], row=row)

    assert view["carried"] == "copy"


@pytest.mark.parametrize("kind", StepKind)
def test_results_that_a_restart_kept_are_marked(kind: StepKind) -> None:
    config = {StepKind.DO: CONFIG, StepKind.SLEEP: '{"durationMs":5}', StepKind.WAIT_FOR_EVENT: '{"type":"go"}'}
    row = instance(restarted_from=2, restarted_at=5)
    output = '{"payload":1}'
    steps = [
        step(kind, seq=seq, ended_at=end, config=config[kind], output=output)
        for seq, end in ((1, 5), (1, 6), (2, 5))
    ]

    kept, ended_since, run_again = views(steps, row=row)

    assert kept["carried"] == "restart"
    assert "carried" not in ended_since
    assert "carried" not in run_again


def test_the_local_explorer_marks_no_carried_steps() -> None:
    (view,) = views([step(attempts=0)], row=instance(restarted_from=2, restarted_at=5), explorer=True)

    assert "carried" not in view
