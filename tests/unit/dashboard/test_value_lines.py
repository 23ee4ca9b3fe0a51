"""Values in one line: never in the wire format."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from stepwell.bindings import values
from stepwell.emulator.dashboard.values.line import value_line


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"state": "shipped", "n": 2}, '{"state": "shipped", "n": 2}'),
        ([1, True, None], "[1, true, null]"),
        (None, ""),
        (datetime(2026, 11, 30, 21, 10, 55, tzinfo=UTC), "2026-11-30 21:10:55.000 UTC"),
        ({"at": datetime(2026, 11, 30, tzinfo=UTC)}, '{"at": 2026-11-30 00:00:00.000 UTC}'),
        ({"raw": b"abc"}, '{"raw": Uint8Array(3)}'),
        ({1, 2}, "Set {1, 2}"),
    ],
)
def test_a_value_is_shown_in_plain_form(value: Any, line: str) -> None:
    assert value_line(values.encode(value), 100) == line


def test_a_long_value_ends_where_the_line_does() -> None:
    assert value_line(values.encode({"text": "x" * 1_000}), 20) == '{"text": "xxxxxxxxx…'


@pytest.mark.parametrize("length", range(1, 60))
def test_the_start_of_a_value_is_never_shown_as_it_is_stored(length: int) -> None:
    text = values.encode({"a": [1, {"at": datetime(2026, 11, 30, tzinfo=UTC)}], "b": "text", "c": b"bytes"})

    line = value_line(text[:length], 200)

    assert "$" not in line
    assert line.endswith("…")
