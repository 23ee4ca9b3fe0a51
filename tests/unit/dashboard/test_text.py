from __future__ import annotations

import pytest

from stepwell.emulator.dashboard.parts import text


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "0 ms"),
        (2.5, "2.5 ms"),
        (3, "3 ms"),
        (999, "999 ms"),
        (4_200, "4.2 s"),
        (5_000, "5 s"),
        (75_000, "1 min 15 s"),
        (3_600_000, "1 h"),
        (90_000_000, "1 d 1 h"),
        (-500, "-500 ms"),
    ],
)
def test_a_duration_has_two_units_at_most(ms: float, shown: str) -> None:
    assert text.duration(ms) == shown


def test_an_age_has_one_unit() -> None:
    assert text.ago(0, 3_700_000) == "1 h ago"
    assert text.ago(5, 10) == "just now"


def test_what_is_due_says_how_long_is_left() -> None:
    assert text.until(9_900, 1_000) == "in 8 s"
    assert text.until(1_000, 5_000) == "now"


def test_a_year_beyond_pythons_is_shown_as_it_is_stored() -> None:
    assert text.exact(9_000_000_000_000_000) == "9000000000000000 ms"
    assert text.iso(9_000_000_000_000_000) == ""
    assert text.clock_time(9_000_000_000_000_000, 0) == "9000000000000000 ms"


def test_a_time_of_another_day_has_its_date() -> None:
    assert text.clock_time(1_000, 2_000) == "00:00:01"
    assert text.clock_time(365 * 86_400_000, 1_000) == "1 Jan 1971, 00:00"
    assert text.clock_time(86_400_000, 1_000) == "2 Jan, 00:00"


def test_an_id_is_cut_in_the_middle_to_exactly_the_length() -> None:
    assert text.cut_middle("abcdefghij", 7) == "abc…hij"
    assert text.cut_middle("short", 7) == "short"


def test_sizes_are_of_1024() -> None:
    assert [text.size(n) for n in (1_023, 1_536, 1_048_576, 3 * 1024**3)] == [
        "1023 B",
        "1.5 KB",
        "1.0 MB",
        "3.0 GB",
    ]


@pytest.mark.parametrize(
    ("given", "shown"),
    [("a\u202eb", "a‹U+202E›b"), ("\x00", "␀"), ("\x7f", "␡"), ("\ud800", "‹U+D800›"), ("a\n\tb", "a\n\tb")],
)
def test_what_cannot_be_seen_is_made_visible(given: str, shown: str) -> None:
    assert text.visible(given) == shown


def test_numbers_agree_with_their_word() -> None:
    assert text.plural(1, "step") == "1 step"
    assert text.plural(1_204, "step") == "1,204 steps"
