"""Calls of run() that give another value at each replay."""

from __future__ import annotations

import pytest

from stepwell.emulator.analysis.outside import calls_outside_of_steps

PYTHON = """
import datetime, random, time
from uuid import uuid4

class Other(WorkflowEntrypoint):
    async def run(self, event, step):
        time.time()

class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        order = uuid4()

        @step.do("inside")
        async def inside():
            return time.time()

        await inside()
        if random.choice([1, 2]) == random.choice([1, 2]):
            await step.sleep("nap", f"{datetime.datetime.now().second} seconds")
"""

JAVASCRIPT = """
export class Other extends WorkflowEntrypoint { async run() { return Math.random(); } }
export class Flow extends WorkflowEntrypoint<Env> {
  async run(event, step) {
    const started = new Date();
    const fixed = new Date(2026, 1, 1);
    const id = crypto.randomUUID();
    await step.do("inside", async () => Date.now());
    if (Math.random() < 0.5) await step.sleep("nap", Date.now());
  }
}
"""


def test_python_code_is_looked_at_outside_of_the_functions_that_steps_run() -> None:
    found = calls_outside_of_steps("python", PYTHON, "Flow")

    assert {(call.name, call.line) for call in found} == {
        ("uuid4", 11),
        ("random.choice", 18),
        ("datetime.now", 19),
    }


def test_javascript_code_is_looked_at_outside_of_the_functions_that_steps_run() -> None:
    found = calls_outside_of_steps("typescript", JAVASCRIPT, "Flow")

    assert {(call.name, call.line) for call in found} == {
        ("new Date", 5),
        ("crypto.randomUUID", 7),
        ("Math.random", 9),
        ("Date.now", 9),
    }


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_what_cannot_be_read_calls_nothing(language: str) -> None:
    assert calls_outside_of_steps(language, "class Flow { def run(:", "Flow") == ()
