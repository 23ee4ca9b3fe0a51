"""Runs, steps, errors and comparisons as Markdown."""

from __future__ import annotations

import json

import pytest

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.parts.errors import SourceFile, error_view
from stepwell.emulator.dashboard.runs.diff import Run, compare
from stepwell.emulator.dashboard.runs.markdown import diff_markdown, error_markdown, instance_markdown
from stepwell.emulator.storage.records import InstanceValues, Status
from tests.unit.dashboard.conftest import MakeInstance, MakeStep
from tests.unit.dashboard.drawing import page_of

STACK = 'Traceback (most recent call last):\n  File "/p/shop.py", line 2, in pay\n    charge(card)\nDeclined: no\n'


def read(name: str) -> SourceFile:
    return SourceFile(name, ["def pay():", "    charge(card)", ""])


def test_an_error_comes_with_its_stack_its_source_lines_and_its_cause() -> None:
    cause = ErrorInfo("ConnectionError", "the bank did not answer", None, None)
    text = error_markdown(error_view(ErrorInfo("Declined", "no", STACK, cause), read))

    assert text.startswith("## Error: Declined\n")
    assert ">    2     charge(card)" in text
    assert text.index("## Caused by: ConnectionError") > text.index("shop.py")


def test_a_fence_in_a_message_does_not_end_the_block() -> None:
    text = error_markdown(error_view(ErrorInfo("E", "one\n```\n# two", None, None)))

    assert text == "## Error: E\n\n````\none\n```\n# two\n````\n"


def test_a_run_tells_what_caused_its_error(instance: MakeInstance) -> None:
    error = ErrorInfo("Declined", "no", None, ErrorInfo("ConnectionError", "the bank did not answer"))
    values = InstanceValues(None, None, json.dumps(error.to_json()), None, None)

    text = instance_markdown(page_of(instance(status=Status.ERRORED, ended_at=2), values), (), None, None, 9)

    assert text.index("## Error: Declined") < text.index("## Caused by: ConnectionError")
    assert "the bank did not answer" in text


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (Status.COMPLETE, "Workflow `orders`. **Complete**"),
        (Status.WAITING, "Workflow `orders`. **Waiting**. Running code between steps"),
    ],
)
def test_a_run_tells_its_status_once(status: Status, line: str, instance: MakeInstance) -> None:
    assert line in instance_markdown(page_of(instance(status=status)), (), None, None, 9).splitlines()


def test_a_comparison_tells_what_was_slower(
    instance: MakeInstance, step: MakeStep, no_values: InstanceValues
) -> None:
    sides = [Run("one", instance(), no_values, [step(ended_at=at)]) for at in (1_100, 3_100)]

    assert "| same: 2 s slower |" in diff_markdown(compare(*sides))
