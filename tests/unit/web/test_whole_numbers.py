from __future__ import annotations

import pytest

from stepwell.emulator.web.whole_numbers import MOST, whole_number


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), (str(MOST), MOST)])
def test_plain_digits_are_a_number(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    "text", [None, "", "-1", "+1", "1.0", "1_0", " 1", "²", "٣", "one", str(MOST + 1), "9" * 5_000, "0" * 5_000]
)
def test_anything_else_is_none(text: str | None) -> None:
    assert whole_number(text) is None


def test_a_number_above_the_most_is_none() -> None:
    assert (whole_number("9", most=9), whole_number("10", most=9)) == (9, None)
