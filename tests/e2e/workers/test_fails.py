"""fixtures/workers/py-fails: each way to fail, as the status, the history and the terminal show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.process import DevProcess


@pytest.fixture
def worker(sample: Callable[..., DevProcess]) -> DevProcess:
    return sample("py-fails")


def failed(worker: DevProcess, how: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The status of an instance that failed, as the binding and as the REST API give it."""
    instance_id = worker.get(f"/start?how={how}")["id"]
    rest = worker.until_status("fails", instance_id, "errored")
    return worker.get(f"/status?id={instance_id}"), rest


def test_a_step_is_tried_as_often_as_its_config_says(worker: DevProcess) -> None:
    status, instance = failed(worker, "retries")

    assert status["error"] == {
        "name": "Error",
        "message": "ValueError: invalid literal for int() with base 10: 'not a number'",
    }
    assert [attempt["success"] for attempt in instance["steps"][0]["attempts"]] == [False, False, False]


def test_a_non_retryable_error_is_not_tried_again(worker: DevProcess) -> None:
    status, instance = failed(worker, "give-up")

    assert status["error"] == {"name": "NonRetryableError", "message": "there is no point in trying again"}
    assert len(instance["steps"][0]["attempts"]) == 1


def test_an_error_outside_of_steps_fails_the_instance(worker: DevProcess) -> None:
    status, instance = failed(worker, "outside")

    assert status["error"] == {"name": "Error", "message": "RuntimeError: outside of any step"}
    assert instance["steps"] == []


def test_a_step_that_takes_too_long_times_out(worker: DevProcess) -> None:
    status, instance = failed(worker, "timeout")

    assert "Execution timed out after 50ms" in status["error"]["message"]
    assert instance["steps"][0]["attempts"][0]["success"] is False


def test_a_tuple_does_not_leave_a_step(worker: DevProcess) -> None:
    status, _ = failed(worker, "value")

    assert "<class 'tuple'> cannot be sent over RPC." in status["error"]["message"]


def test_an_error_that_run_catches_keeps_its_type(worker: DevProcess) -> None:
    instance_id = worker.get("/start?how=caught")["id"]

    output = worker.until_status("fails", instance_id, "complete")["output"]

    assert output["caught"] == "ValueError"
    assert "invalid literal for int()" in output["text"]


def test_the_terminal_shows_the_user_s_frames_and_none_of_ours(worker: DevProcess) -> None:
    failed(worker, "retries")

    worker.until_output(r'entry\.py", line \d+, in parse')
    worker.until_output(r"    return int\(text\)")
    frames = [line for line in worker.output.splitlines() if line.strip().startswith('File "')]
    assert frames
    assert all("py-fails/src/entry.py" in line for line in frames), frames


def test_what_user_code_prints_names_its_instance_and_step(worker: DevProcess) -> None:
    instance_id = worker.get("/start?how=give-up")["id"]

    worker.until_output(rf"{instance_id}.*fails.*attempt 1 of give-up")
