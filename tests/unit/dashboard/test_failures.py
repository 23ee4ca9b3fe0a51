"""Why an instance failed: told once, with its causes and the line that raised the first of them."""

from __future__ import annotations

import json

import pytest

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.instance.failure import failure_view
from stepwell.emulator.dashboard.instance.steps import step_views
from stepwell.emulator.dashboard.parts.errors import SourceFile, error_view, no_source, true_name
from stepwell.emulator.storage.records import StepState
from tests.unit.dashboard.conftest import MakeStep

SOURCE = [f"line {n}" for n in range(1, 200)]


def read(path: str) -> SourceFile:
    return SourceFile(path, SOURCE)


def raised(name: str, message: str, line: int, cause: ErrorInfo | None = None, file: str = "entry.py") -> ErrorInfo:
    stack = (
        f'Traceback (most recent call last):\n  File "{file}", line {line}, in parse\n    raise\n{name}: {message}'
    )
    return ErrorInfo(name, message, stack, cause=cause)


def chained() -> ErrorInfo:
    root = raised("KeyError", "'total'", 153)
    return raised("RuntimeError", "could not import\nfile: x", 157, raised("ValueError", "no total", 155, root))


def test_it_has_the_name_of_what_was_raised() -> None:
    assert true_name("Error", "KeyError: 'total'") == ("KeyError", "'total'")
    assert true_name("Error", "plain words") == ("Error", "plain words")


def test_causes_are_numbered_from_the_root_with_the_lines_that_raised_them() -> None:
    view = failure_view(error_view(chained(), read), [], read)

    assert [(cause.number, cause.name, cause.where) for cause in view.causes] == [
        (1, "KeyError", "root cause"),
        (2, "ValueError", "line 155"),
        (3, "RuntimeError", "line 157"),
    ]
    assert view.causes[2].message == "could not import"


def test_causes_in_one_function_share_an_excerpt_around_the_root_cause() -> None:
    excerpt = failure_view(error_view(chained(), read), [], read).excerpt

    assert excerpt is not None
    assert {line.number: line.mark for line in excerpt.lines if line.mark} == {153: 1, 155: 2, 157: 3}
    assert (excerpt.cause, excerpt.lines[0].number, excerpt.lines[-1].number) == (1, 149, 159)


def test_the_source_of_another_cause_is_shown_when_it_is_chosen() -> None:
    error = raised("ValueError", "bad", 20, raised("KeyError", "'x'", 150, file="rows.py"))
    first, second = (failure_view(error_view(error, read), [], read, number).excerpt for number in (1, 2))

    assert first is not None
    assert second is not None
    assert (first.place, second.place) == ("rows.py:150", "entry.py:20")
    assert failure_view(error_view(error, read), [], read).causes[1].where == "entry.py:20"


def test_an_error_without_causes_has_no_list_of_them() -> None:
    assert failure_view(error_view(ErrorInfo("KeyError", "x")), [], no_source).causes == ()


def test_an_error_without_source_has_no_excerpt() -> None:
    assert failure_view(error_view(chained(), no_source), [], no_source).excerpt is None


def test_it_names_the_step_that_failed_with_its_error(step: MakeStep) -> None:
    declined = ErrorInfo("Declined", "no funds", cause=ErrorInfo("IOError", "the bank is closed"))
    failed = step(state=StepState.FAILED, error=json.dumps(declined.to_json()))
    steps = step_views([failed], {}, {}, {1: ""}, over_at=5_000)

    assert failure_view(error_view(ErrorInfo("Error", "Declined: no funds")), steps, no_source).step == steps[0]


def test_a_step_whose_error_was_caught_is_not_blamed_for_a_later_one(step: MakeStep) -> None:
    failed = step(state=StepState.FAILED, error=json.dumps(ErrorInfo("Declined", "no funds").to_json()))
    steps = step_views([failed], {}, {}, {1: ""}, over_at=5_000)

    assert failure_view(error_view(ErrorInfo("KeyError", "x")), steps, no_source).step is None


@pytest.mark.parametrize(("attempts", "is_told"), [(1, True), (3, False)])
def test_skipped_retries_are_told_where_there_were_any(step: MakeStep, attempts: int, is_told: bool) -> None:
    info = ErrorInfo("NonRetryableError", "cannot")
    failed = step(state=StepState.FAILED, attempts=attempts, error=json.dumps(info.to_json()))
    steps = step_views([failed], {}, {}, {1: ""}, over_at=5_000)

    assert bool(failure_view(error_view(info), steps, no_source).note) is is_told
