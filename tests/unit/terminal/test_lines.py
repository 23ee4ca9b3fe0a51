"""The terminal lines of history entries."""

from __future__ import annotations

import pytest

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.storage.records import EventType, HistoryRow
from stepwell.emulator.terminal.lines import line_of


def hint(cause: ErrorInfo | None) -> str | None:
    row = HistoryRow(1, EventType.WORKFLOW_ERRORED, 0, None, None, None)
    line = line_of(row, "flow", "one", None, ErrorInfo("WorkflowFatalError", "not serialisable", cause=cause))
    assert line is not None
    return line.stack


@pytest.mark.parametrize("message", ["a socket at $.a[1].b", "a socket at $.a[1].b cannot be stored"])
def test_a_value_that_cannot_be_stored_is_named_with_its_place(message: str) -> None:
    assert hint(ErrorInfo("NotSerialisable", message)) == (
        "Can't store a socket at $.a[1].b ($ is the returned value). "
        "Return plain data: numbers, strings, lists, objects."
    )


def test_a_value_that_is_too_large_is_named_with_its_size() -> None:
    said = hint(ErrorInfo("NotSerialisable", "its size of 2000002 bytes; the maximum is 1048576"))

    assert said == "Can't store the value because of its size of 2000002 bytes; the maximum is 1048576"


def test_other_errors_need_no_hint() -> None:
    assert hint(None) is None
    assert hint(ErrorInfo("TypeError", "m")) == "Caused by: TypeError: m"
