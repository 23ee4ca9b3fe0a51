"""Durations in Cloudflare's grammars."""

from __future__ import annotations

import contextlib
import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepwell.bindings.durations import InvalidDuration, describe_ms, duration_ms
from stepwell.bindings.values import jsnull

UNITS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
    "month": 2_592_000_000,
    "year": 31_536_000_000,
}


@pytest.mark.parametrize(("unit", "size"), UNITS.items())
def test_units_are_understood_with_and_without_an_s(unit: str, size: int) -> None:
    assert duration_ms(f"1 {unit}") == size
    assert duration_ms(f"3 {unit}s") == 3 * size


@pytest.mark.parametrize(
    ("text", "ms"),
    [("10seconds", 10_000), ("  2 hours ", 7_200_000), ("1.5 seconds", 1_500), ("0.0001 seconds", 0)],
)
def test_blanks_are_optional_and_decimals_fine(text: str, ms: int) -> None:
    assert duration_ms(text) == ms


@pytest.mark.parametrize(("value", "ms"), [(0, 0), (250, 250), (-5, -5), (1.9, 1)])
def test_numbers_are_milliseconds(value: float, ms: int) -> None:
    assert duration_ms(value) == ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10",
        "5s",
        "1 Second",
        "1 hour 30 minutes",
        "-5 seconds",
        "a while",
        "1 e3 seconds",
        "٣ seconds",
        "1 secondss",
    ],
)
def test_other_texts_are_invalid(text: str) -> None:
    with pytest.raises(InvalidDuration) as refused:
        duration_ms(text)

    assert str(refused.value) == f'Invalid duration "{text}"'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "undefined"),
        (jsnull, "null"),
        ([None, jsnull], ","),
        (True, "true"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        ({"a": 1}, "[object Object]"),
        ([1, None], "1,"),
        (timedelta(seconds=10), "0:00:10"),
    ],
)
def test_other_values_are_named_as_javascript_names_them(value: Any, shown: str) -> None:
    with pytest.raises(InvalidDuration) as refused:
        duration_ms(value)

    assert str(refused.value) == f'Invalid duration "{shown}"'


@pytest.mark.parametrize("text", ["9" * 5_000, "9" * 5_000 + " seconds", " " * 5_000 + "1 second"])
def test_a_text_too_long_to_be_meant_is_invalid(text: str) -> None:
    with pytest.raises(InvalidDuration):
        duration_ms(text)
    with pytest.raises(InvalidDuration):
        duration_ms(text, lenient=True)


@pytest.mark.parametrize(
    ("text", "ms"), [("5", 5), ("1 SECOND", 1_000), ("1 minuteZ", 60_000), ("2 secondss", 2_000)]
)
def test_miniflares_grammar_is_laxer(text: str, ms: int) -> None:
    assert duration_ms(text, lenient=True) == ms


@pytest.mark.parametrize("text", ["10seconds", "1  second", " 1 second"])
def test_miniflares_grammar_wants_exactly_one_blank(text: str) -> None:
    with pytest.raises(InvalidDuration):
        duration_ms(text, lenient=True)


@given(st.integers(0, 10**9), st.sampled_from(sorted(UNITS)), st.sampled_from(["", " ", "   "]), st.booleans())
def test_a_whole_number_of_units_is_exact(number: int, unit: str, blank: str, plural: bool) -> None:
    assert duration_ms(f"{number}{blank}{unit}{'s' if plural else ''}") == number * UNITS[unit]


@example("0\x1f")
@example("\uff11")
@given(st.text())
def test_any_text_is_a_duration_or_invalid(text: str) -> None:
    for lenient in (False, True):
        with contextlib.suppress(InvalidDuration):
            assert isinstance(duration_ms(text, lenient=lenient), int)


@given(st.none() | st.floats() | st.binary() | st.lists(st.integers()) | st.dictionaries(st.text(), st.integers()))
def test_any_value_is_a_duration_or_invalid(value: Any) -> None:
    try:
        assert duration_ms(value) == int(value)
    except InvalidDuration:
        assert not isinstance(value, float) or not math.isfinite(value)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (-20, "-20 ms"),
        (1_000, "1 second"),
        (90_000, "1 minute 30 seconds"),
        (86_400_000 + 2 * 3_600_000 + 5_000, "1 day 2 hours"),
        (-60_000, "-1 minute"),
    ],
)
def test_a_duration_for_people_names_its_two_largest_units(ms: int, text: str) -> None:
    assert describe_ms(ms) == text
