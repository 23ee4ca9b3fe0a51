from __future__ import annotations

import pytest

from emulator.dashboard.query import WORDS, parse_query
from emulator.storage.records import PageFilter, Status, Trigger

NOW = 10_000_000


def test_a_word_alone_is_a_part_of_an_id() -> None:
    assert parse_query("order-42", NOW).filter == PageFilter(id_text="order-42")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('step:"charge card"', PageFilter(step_text="charge card")),
        ("error:Timeout", PageFilter(error_text="Timeout")),
        ("waiting:approval", PageFilter(waiting_for="approval")),
        ("params.user.id:7", PageFilter(param=("user.id", "7"))),
        ("age:<1h", PageFilter(created_from=NOW - 3_600_000)),
        ("age:>30m", PageFilter(created_to=NOW - 1_800_000)),
        ("dur:>5s", PageFilter(ran_from_ms=5_000, now=NOW)),
        ("dur:<500ms", PageFilter(ran_to_ms=500, now=NOW)),
        ("attempts:>2", PageFilter(attempts_from=3)),
        ("attempts:2", PageFilter(attempts_from=2)),
        ("trigger:cron", PageFilter(trigger=Trigger.CRON)),
        ("status:errored,Complete", PageFilter(statuses=(Status.ERRORED, Status.COMPLETE))),
    ],
)
def test_a_word_with_a_colon_narrows(text: str, wanted: PageFilter) -> None:
    query = parse_query(text, NOW)

    assert query.filter == wanted
    assert query.problems == ()


def test_statuses_of_the_tiles_and_of_the_text_are_alternatives() -> None:
    query = parse_query("status:waiting", NOW, ["errored", "waiting"])

    assert query.statuses == (Status.ERRORED, Status.WAITING)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("colour:red", 'There is no filter "colour:"'),
        ("status:broken", 'There is no status "broken"'),
        ("trigger:moon", 'There is no trigger "moon"'),
        ("age:soon", "age:<1h"),
        ("attempts:many", "attempts:>2"),
        ("two words", "an id has no spaces"),
    ],
)
def test_what_is_not_understood_is_named_with_the_way_out(text: str, part: str) -> None:
    (problem,) = parse_query(text, NOW).problems

    assert part in problem


def test_every_example_of_the_help_is_understood() -> None:
    for _, example, _ in WORDS:
        assert parse_query(example, NOW).problems == (), example
