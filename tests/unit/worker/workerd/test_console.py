from __future__ import annotations

import json
import logging

import pytest

from stepwell.emulator.worker.console import Console, ConsoleLine, log_line


def _read(*raw: str, instances: tuple[str, ...] = ("order-1",)) -> list[ConsoleLine]:
    lines: list[ConsoleLine] = []
    console = Console(instances, lambda text: text, lines.append)
    for line in raw:
        console.read(line)
    return lines


def _structured(level: str, message: str) -> str:
    return json.dumps({"timestamp": 1, "level": level, "message": message})


def test_structured_lines_keep_their_level_and_line_ends() -> None:
    assert _read(_structured("warn", "two\nlines")) == [ConsoleLine(logging.WARNING, "two\nlines")]


def test_a_plain_line_is_information() -> None:
    assert _read("hello") == [ConsoleLine(logging.INFO, "hello")]


def test_what_workerd_says_of_our_own_sockets_is_left_out() -> None:
    ours = 'Socket "http:shop" refers to service "shop" with a named entrypoint "__StepwellFront", but'

    assert _read("service shop: No such module", ours) == [
        ConsoleLine(logging.INFO, "service shop: No such module")
    ]


def test_json_that_user_code_printed_is_a_plain_line() -> None:
    assert _read('{"a": 1}') == [ConsoleLine(logging.INFO, '{"a": 1}')]


def test_the_marks_that_wrangler_puts_before_warnings_and_errors_are_levels() -> None:
    warning, error = _read("▲ [WARNING] [order-1 a-1] careful", "✘ [ERROR] broken")

    assert warning == ConsoleLine(logging.WARNING, "careful", "order-1", "a-1")
    assert error == ConsoleLine(logging.ERROR, "broken")


def test_a_line_of_a_pass_names_its_instance() -> None:
    assert _read("[order-1] started") == [ConsoleLine(logging.INFO, "started", "order-1")]


def test_a_line_of_a_step_names_its_step_whatever_its_name() -> None:
    assert _read("[order-1 charge the card-1] ok") == [
        ConsoleLine(logging.INFO, "ok", "order-1", "charge the card-1")
    ]


def test_brackets_around_anything_else_are_text() -> None:
    assert _read("[other] text") == [ConsoleLine(logging.INFO, "[other] text")]


def test_the_last_lines_are_kept_for_the_report() -> None:
    console = Console((), lambda text: text, lambda _: None)

    for n in range(100):
        console.read(f"line {n}")

    assert console.last_lines.startswith("line 60\n")
    assert console.last_lines.endswith("line 99")


def test_the_log_shows_instance_and_step_and_has_them_as_fields(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "stepwell.worker"):
        log_line(ConsoleLine(logging.INFO, "ok", "order-1", "charge-1"))

    record = caplog.records[0]
    assert record.getMessage() == "[order-1 charge-1] ok"
    assert (record.instance_id, record.step) == ("order-1", "charge-1")  # type: ignore[attr-defined]


def test_an_error_that_was_told_with_its_stack_is_not_told_again_by_the_runtime() -> None:
    told = _structured("error", "RangeError: no\n    at deep (src/index.ts:3:22)")
    again = _structured("error", "Uncaught exception: workerd/jsg/value.h:1: failed: remote.jsg.RangeError: no")
    other = _structured("error", "Uncaught exception: workerd/jsg/value.h:1: failed: remote.jsg.TypeError: other")

    assert [line.text[:10] for line in _read(told, again, other)] == ["RangeError", "Uncaught e"]
