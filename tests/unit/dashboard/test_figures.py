"""The figures of a run: each has one meaning on every page."""

from __future__ import annotations

from stepwell.emulator.dashboard.instance.attempts import tries_by_step
from stepwell.emulator.dashboard.parts.figures import instance_span, queue_span, step_span, working_ms
from tests.unit.dashboard.conftest import MakeHistory, MakeInstance


def test_the_duration_of_an_instance_leaves_out_its_time_in_the_queue(
    instance: MakeInstance, history: MakeHistory
) -> None:
    row = instance(created_at=1_000, started_at=9_000, ended_at=9_500)

    assert instance_span(row) == (9_000, 9_500)
    assert queue_span(row, history(("workflow_queued", 1_000))) == (1_000, 9_000)


def test_an_instance_that_has_not_started_has_no_duration(instance: MakeInstance) -> None:
    assert instance_span(instance(started_at=None)) is None


def test_a_step_is_never_shorter_than_its_attempts(history: MakeHistory) -> None:
    attempts = tries_by_step(history(("attempt_started", 998, 1, 1), ("attempt_completed", 1_010, 1, 1)))[
        1
    ].attempts

    assert step_span(1_000, 1_002, attempts) == (998, 1_010)


def test_working_time_counts_parallel_attempts_once() -> None:
    assert working_ms([(0, 10), (5, 20), (100, 130)]) == 50
