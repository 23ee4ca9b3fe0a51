"""What the dashboard copies of a run as a pytest; tests/plugin/test_copied_runs.py runs what was copied."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest
from workers import WorkflowEntrypoint

from stepwell.emulator.dashboard.runs.pytest_text import as_pytest
from stepwell.emulator.dashboard.runs.repeatable import CopiedRun
from stepwell.emulator.storage.records import (
    InstanceRow,
    InstanceValues,
    Status,
    StepKind,
    StepRow,
    StepState,
    WorkflowRow,
)
from tests.unit.dashboard.conftest import MakeInstance, MakeStep

Copied = Callable[..., str]


@pytest.fixture
def copied(workflow: WorkflowRow) -> Copied:
    def copy(row: InstanceRow, steps: list[StepRow], output: str | None = None, error: str | None = None) -> str:
        values = InstanceValues('{"n":4}', output, error, None, None)
        return as_pytest(CopiedRun(workflow, row, values, steps))

    return copy


class Orders(WorkflowEntrypoint):
    """Would fail if the step were run for real."""

    async def run(self, event, step):
        @step.do("pay")
        async def pay():
            raise AssertionError("the step is to be mocked")

        return await pay()


def run_text(text: str, workflows: Any) -> None:
    names: dict[str, Any] = {}
    exec(compile(text, "test_copied.py", "exec"), names)
    names["test_one"](workflows, None)


def test_a_copy_passes_against_the_same_code(
    workflows, auto_advance, copied: Copied, instance: MakeInstance, step: MakeStep
) -> None:
    workflows.define(Orders, name="orders")

    run_text(copied(instance(status=Status.COMPLETE), [step("pay", output="1")], output="1"), workflows)


def test_a_copy_fails_when_the_code_gives_something_else(
    workflows, auto_advance, copied: Copied, instance: MakeInstance, step: MakeStep
) -> None:
    workflows.define(Orders, name="orders")
    text = copied(instance(status=Status.COMPLETE), [step("pay", output="1")], output="2")

    with pytest.raises(AssertionError):
        run_text(text, workflows)


def test_a_copy_fails_when_the_code_fails_otherwise(
    workflows, auto_advance, copied: Copied, instance: MakeInstance, step: MakeStep
) -> None:
    workflows.define(Orders, name="orders")
    steps = [step("pay", state=StepState.FAILED, error='{"name":"Declined","message":"no"}', output=None)]
    text = copied(instance(status=Status.ERRORED), steps, error='{"name":"Error","message":"Declined: yes"}')

    with pytest.raises(AssertionError):
        run_text(text, workflows)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"sensitive": True, "output": None}, "its result is sensitive"),
        ({"stream": "stream", "output": None}, "its result is a stream"),
        ({"state": StepState.IN_FLIGHT, "output": None}, "it had not ended"),
        (
            {"state": StepState.FAILED, "error": '{"name":"WorkflowFatalError","message":"m"}', "output": None},
            "what it returns cannot be stored",
        ),
    ],
)
def test_a_step_without_a_result_to_give_is_left_to_run(
    fields: Any, why: str, copied: Copied, instance: MakeInstance, step: MakeStep
) -> None:
    text = copied(instance(status=Status.COMPLETE), [step("pay", **fields)])

    assert f'# "pay-1" is left to run: {why}' in text
    ast.parse(text)


def test_a_run_without_steps_needs_no_mocks(copied: Copied, instance: MakeInstance) -> None:
    text = copied(instance(status=Status.COMPLETE), [])

    assert "mocks" not in text
    assert "output() is None" in text


def test_what_gives_another_value_each_time_is_told(
    workflow: WorkflowRow, instance: MakeInstance, no_values: InstanceValues
) -> None:
    run = CopiedRun(workflow, instance(status=Status.COMPLETE), no_values, [], outside=[("time.time", 12)])

    assert "# run() calls time.time outside a step, in line 12" in as_pytest(run)


def test_only_what_is_used_is_imported(copied: Copied, instance: MakeInstance, step: MakeStep) -> None:
    steps = [step("pay", output='{"$":"date","v":0}')]

    assert "datetime" not in copied(instance(status=Status.COMPLETE), [step("pay")])
    assert "from datetime import datetime" in copied(instance(status=Status.COMPLETE), steps)


def test_the_moment_of_an_event_is_not_expected_again(
    copied: Copied, instance: MakeInstance, step: MakeStep
) -> None:
    event = '{"payload":1,"type":"go","timestamp":{"$":"date","v":5}}'
    wait = step("w", kind=StepKind.WAIT_FOR_EVENT, config='{"type":"go","timeoutMs":5}', output=event)

    text = copied(instance(status=Status.COMPLETE), [wait], output=event)

    assert '"timestamp": ANY' in text
    assert "from unittest.mock import ANY" in text
