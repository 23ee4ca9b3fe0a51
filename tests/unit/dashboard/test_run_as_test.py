"""A run copied as a pytest is one: it passes against the code that it was made from."""

from __future__ import annotations

from typing import Any

import pytest
from workers import WorkflowEntrypoint

from emulator.dashboard.pytest_text import as_pytest
from emulator.storage.records import InstanceValues, Status, StepKind, StepState
from tests.unit.dashboard.conftest import MakeInstance, MakeStep


class Orders(WorkflowEntrypoint):
    """Would fail if the steps were run for real."""

    async def run(self, event, step):
        @step.do("pay")
        async def pay():
            raise AssertionError("the step is to be mocked")

        receipt = await pay()
        await step.sleep("cool down", "1 day")
        approval = await step.wait_for_event("approval", "go")
        return {"receipt": receipt, "by": approval["payload"]["by"], "n": event["payload"]["n"]}


def run_text(text: str, workflows: Any) -> None:
    names: dict[str, Any] = {}
    exec(compile(text, "test_copied.py", "exec"), names)
    names["test_one"](workflows, None)


def test_a_complete_run_passes_as_a_test(workflows, auto_advance, instance: MakeInstance, step: MakeStep) -> None:
    workflows.define(Orders, name="orders")
    steps = [
        step("pay", seq=1, output='"r-1"'),
        step("cool down", seq=2, kind=StepKind.SLEEP, config='{"durationMs":86400000}', output=None),
        step(
            "approval",
            seq=3,
            kind=StepKind.WAIT_FOR_EVENT,
            config='{"type":"go","timeoutMs":5000}',
            output='{"payload":{"by":"Meera"},"type":"go","timestamp":{"$":"date","v":5}}',
        ),
    ]
    values = InstanceValues('{"n":4}', '{"receipt":"r-1","by":"Meera","n":4}', None, None, None)

    run_text(as_pytest("orders", instance(status=Status.COMPLETE), values, steps), workflows)


def test_an_errored_run_passes_as_a_test(workflows, auto_advance, instance: MakeInstance, step: MakeStep) -> None:
    workflows.define(Orders, name="orders")
    steps = [step("pay", state=StepState.FAILED, error='{"name":"Declined","message":"no"}', output=None)]
    values = InstanceValues('{"n":4}', None, '{"name":"Error","message":"Declined: no"}', None, None)

    run_text(as_pytest("orders", instance(status=Status.ERRORED), values, steps), workflows)


def test_a_test_fails_when_the_code_gives_something_else(
    workflows, auto_advance, instance: MakeInstance, step: MakeStep
) -> None:
    workflows.define(Orders, name="orders")
    steps = [step("pay", state=StepState.FAILED, error='{"name":"Declined","message":"no"}', output=None)]
    values = InstanceValues('{"n":4}', None, '{"name":"Error","message":"Declined: yes"}', None, None)

    with pytest.raises(AssertionError):
        run_text(as_pytest("orders", instance(status=Status.ERRORED), values, steps), workflows)
