"""What Cloudflare's REST API says of an instance, as a recorded instance."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stepwell.bindings.values import decode
from stepwell.emulator.histories.files import load
from stepwell.emulator.histories.production import run_of_detail
from stepwell.emulator.histories.saved import NotARun, SavedRun, run_of, save
from stepwell.emulator.storage.records import Status, StepKind, StepState

AT = "2026-11-30T10:00:00.000Z"
LATER = "2026-11-30T10:00:05.000Z"
AT_MS = 1_796_032_800_000


def run_with(*steps: dict[str, Any], **detail: Any) -> SavedRun:
    return run_of_detail("orders", "one", {"status": "running", "queued": AT, "steps": list(steps), **detail})


def step(**fields: Any) -> dict[str, Any]:
    return {
        "name": "charge-1",
        "type": "step",
        "start": AT,
        "end": LATER,
        "success": True,
        "attempts": [],
        **fields,
    }


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"success": True}, StepState.COMPLETED),
        ({"success": False, "attempts": [{"error": {"name": "E", "message": "m"}}]}, StepState.FAILED),
        ({"success": None, "end": None, "attempts": [{}]}, StepState.IN_FLIGHT),
        ({"success": None, "end": None, "attempts": [{"error": {"name": "E"}}]}, StepState.RETRYING),
        ({"type": "sleep", "finished": True}, StepState.COMPLETED),
        ({"type": "sleep", "finished": False}, StepState.PENDING),
        ({"type": "waitForEvent", "finished": False}, StepState.PENDING),
        ({"type": "waitForEvent", "finished": True, "output": 1}, StepState.COMPLETED),
        ({"type": "waitForEvent", "finished": True, "error": {"name": "E"}}, StepState.FAILED),
    ],
)
def test_the_state_of_a_step(fields: dict[str, Any], state: StepState) -> None:
    assert run_with(step(**fields)).steps[0].state is state


def test_a_name_is_split_at_its_count() -> None:
    [row] = run_with(step(name="send e-mail-12")).steps

    assert (row.name, row.count) == ("send e-mail", 12)


@pytest.mark.parametrize("name", ["charge", "-", "charge-x", ""])
def test_a_name_without_a_count_is_refused(name: str) -> None:
    with pytest.raises(NotARun, match='expected a name such as "charge-1"'):
        run_with(step(name=name))


def test_rollbacks_and_terminations_are_no_steps() -> None:
    entries = [step(), step(type="rollback"), {"type": "termination", "trigger": {"source": "api"}}]

    assert [row.kind for row in run_with(*entries).steps] == [StepKind.DO]


def test_a_redacted_result_is_unknown() -> None:
    run = run_with(step(output="[REDACTED]"))

    assert run.unknown_results() == {1: "Cloudflare redacted it, because the step is sensitive"}
    assert run.steps[0].output is None


def test_a_result_of_any_json_type_is_kept() -> None:
    values = [None, True, 0, 1.5, "text", [1, {"a": None}], {"$": "date"}]
    run = run_with(*(step(name=f"charge-{n}", output=value) for n, value in enumerate(values, 1)))

    assert [decode(row.output or "") for row in run.steps] == values


def test_an_event_has_the_payload_the_type_and_the_end_of_the_wait_as_its_time() -> None:
    [row] = run_with(
        step(name="approval-1", type="waitForEvent", finished=True, event_type="go", output={"ok": True})
    ).steps
    event = decode(row.output or "")

    assert (event["payload"], event["type"]) == ({"ok": True}, "go")
    assert event["timestamp"].isoformat() == "2026-11-30T10:00:05"


def test_the_error_of_a_failed_step_is_that_of_its_last_attempt() -> None:
    attempts = [{"error": {"name": "A", "message": "1"}}, {"error": {"name": "B", "message": "2"}}]
    [row] = run_with(step(success=False, attempts=attempts)).steps

    assert row.error == '{"name": "B", "message": "2"}'


def test_the_creation_of_the_instance_is_when_it_was_queued() -> None:
    assert run_with().row.created_at == AT_MS


def test_an_instance_without_anything_but_a_status_can_be_read() -> None:
    run = run_of_detail("orders", "one", {"status": "queued", "steps": []})

    assert (run.row.status, run.steps, run.values.params) == (Status.QUEUED, (), None)


def test_what_is_written_is_read_again() -> None:
    run = run_with(step(output="[REDACTED]"), params={"cents": 5})

    assert run_of(json.loads(save(run))) == run


@pytest.mark.parametrize("wrapped", [True, False])
def test_an_answer_of_the_api_is_a_history(wrapped: bool) -> None:

    detail = {"status": "running", "queued": AT, "steps": [step(output=1)]}
    run = load(json.dumps({"success": True, "result": detail} if wrapped else detail), instance_id="one")

    assert (run.row.id, run.steps[0].output) == ("one", "1")
