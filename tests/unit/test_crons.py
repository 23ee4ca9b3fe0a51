"""Cron expressions as Cloudflare reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.emulator.crons import InvalidCron, check_cron, plain_cron


def is_cron(text: str) -> bool:
    try:
        check_cron(text)
    except InvalidCron:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "*/5 * * * *",
        "0 9 * * 1",
        "0 15 1 * *",
        "0 0 1 jan,JUL *",
        "10 7 * * mon-fri",
        "10 7 * * 2-6",
        "0 18 * * 6L",
        "0 18 * * friL",
        "59 23 LW * *",
        "0 0 * * 2#1",
        "0 0 * * MON#2",
        "0 0 * * */2",
        "  0   0 * * 7 ",
    ],
)
def test_expressions_of_the_documentation_are_accepted(text: str) -> None:
    assert is_cron(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("61 * * * *", "Bad minute"),
        ("* 24 * * *", "Bad hour"),
        ("* * 0 * *", "Bad day-of-month"),
        ("* * * 13 *", "Bad month"),
        ("* * * * 0", "the day of the week is 0; expected 1"),
        ("* * * * 8", "the day of the week is 8; expected 1"),
        ("* * * * 12", "the day of the week is 12; expected 1"),
        ("* * * * XYZ", "the day of the week is XYZ; expected 1"),
        ("* * * * x", "Bad day-of-week"),
        ("* * * *", "expected five fields .*, got 4"),
        ("0 * * * * *", "expected five fields .*, got 6"),
        ("", "expected five fields .*, got 0"),
        ("@daily", "expected five fields .*, got 1"),
        ("a b c d e", "Bad minute"),
        ("-1 * * * *", "Bad minute"),
        ("*/0 * * * *", "Bad minute"),
        ("٣ * * * *", "Bad minute"),
    ],
)
def test_anything_else_is_refused_with_the_part_that_is_wrong(text: str, what: str) -> None:
    with pytest.raises(InvalidCron, match=what):
        check_cron(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("0 17 * * 1", "0 17 * * 0"),
        ("0 17 * * SUN", "0 17 * * 0"),
        ("10 7 * * 2-6", "10 7 * * 1-5"),
        ("10 7 * * mon-fri", "10 7 * * 1-5"),
        ("0 18 * * 6L", "0 18 * * 5L"),
        ("0 0 * * 2#1", "0 0 * * 1#1"),
        ("0 0 * * 2-6/2", "0 0 * * 1-5/2"),
        ("0 0 * * 1,7", "0 0 * * 0,6"),
        ("0 0 1 1 *", "0 0 1 1 *"),
    ],
)
def test_days_of_the_week_are_counted_from_sunday_as_one(text: str, plain: str) -> None:
    assert plain_cron(text) == plain


@given(st.text() | st.lists(st.text(alphabet="*/-,#LW0123456789MONTUE"), min_size=5, max_size=5).map(" ".join))
def test_any_text_is_either_accepted_or_refused(text: str) -> None:
    assert is_cron(text) in (True, False)
