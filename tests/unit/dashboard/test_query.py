from __future__ import annotations

import pytest

from stepwell.emulator.dashboard.list.query import WORDS, parse_query
from stepwell.emulator.storage.records import PageFilter, Status, Trigger

NOW = 10_000_000


def test_a_word_alone_is_a_part_of_an_id() -> None:
    assert parse_query("order-42", NOW).filter == PageFilter(id_texts=("order-42",))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('step:"charge card"', PageFilter(step_texts=("charge card",))),
        ("error:Timeout", PageFilter(error_texts=("Timeout",))),
        ("waiting:approval", PageFilter(waiting_for=("approval",))),
        ("params.user.id:7", PageFilter(params=(("user.id", "7"),))),
        ("age:<1h", PageFilter(created_from=NOW - 3_600_000)),
        ("age:>30m", PageFilter(created_to=NOW - 1_800_000)),
        ("dur:>5s", PageFilter(ran_from_ms=5_000, now=NOW)),
        ("dur:<500ms", PageFilter(ran_to_ms=500, now=NOW)),
        ("attempts:>2", PageFilter(attempts_from=3)),
        ("attempts:2", PageFilter(attempts_from=2)),
        ("trigger:cron", PageFilter(triggers=(Trigger.CRON,))),
        ("trigger:cron,api", PageFilter(triggers=(Trigger.CRON, Trigger.API))),
        ("status:errored,Complete", PageFilter(statuses=(Status.ERRORED, Status.COMPLETE))),
    ],
)
def test_a_word_with_a_colon_narrows(text: str, wanted: PageFilter) -> None:
    query = parse_query(text, NOW)

    assert query.filter == wanted
    assert query.problems == ()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("params.userId:42 params.city:Oslo", PageFilter(params=(("userId", "42"), ("city", "Oslo")))),
        ("step:charge step:upload", PageFilter(step_texts=("charge", "upload"))),
        ("error:Timeout error:bank", PageFilter(error_texts=("Timeout", "bank"))),
        ("waiting:a waiting:b", PageFilter(waiting_for=("a", "b"))),
        ("text:a text:b", PageFilter(value_texts=("a", "b"))),
        ("id:a id:b", PageFilter(id_texts=("a", "b"))),
        ("dur:>5s dur:<1m", PageFilter(ran_from_ms=5_000, ran_to_ms=60_000, now=NOW)),
        ("dur:>5s dur:>1m dur:>1s", PageFilter(ran_from_ms=60_000, now=NOW)),
        ("age:<1h age:>30m", PageFilter(created_from=NOW - 3_600_000, created_to=NOW - 1_800_000)),
        ("age:<1h age:<30m", PageFilter(created_from=NOW - 1_800_000)),
        ("age:>1h age:>30m", PageFilter(created_to=NOW - 3_600_000)),
        ("attempts:>5 attempts:>2", PageFilter(attempts_from=6)),
    ],
)
def test_words_of_a_kind_must_all_hold(text: str, wanted: PageFilter) -> None:
    query = parse_query(text, NOW)

    assert query.filter == wanted
    assert query.problems == ()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("status:errored status:waiting", PageFilter(statuses=(Status.ERRORED, Status.WAITING))),
        ("trigger:cron trigger:api", PageFilter(triggers=(Trigger.CRON, Trigger.API))),
    ],
)
def test_what_an_instance_has_one_of_is_a_choice(text: str, wanted: PageFilter) -> None:
    assert parse_query(text, NOW).filter == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("step: charge", PageFilter(step_texts=("charge",))),
        ('step: "charge card"', PageFilter(step_texts=("charge card",))),
        ('step:"charge card', PageFilter(step_texts=("charge card",))),
        ("params.user-name:Asha", PageFilter(params=(("user-name", "Asha"),))),
        ('params.note:""', PageFilter(params=(("note", ""),))),
    ],
)
def test_what_can_only_be_meant_in_one_way_is_read_so(text: str, wanted: PageFilter) -> None:
    query = parse_query(text, NOW)

    assert query.filter == wanted
    assert query.problems == ()


@pytest.mark.parametrize("text", ["dur:<" + "9" * 400 + "w", "age:<99999999999999999d"])
def test_a_span_without_end_fits_into_the_store(text: str) -> None:
    query = parse_query(text, NOW)

    assert query.problems == ()
    assert abs(query.filter.ran_to_ms or query.filter.created_from or 0) < 2**63


def test_statuses_of_the_tiles_are_known_from_those_of_the_text() -> None:
    query = parse_query("status:waiting", NOW, ["errored"])

    assert query.tiles == (Status.ERRORED,)


def test_statuses_of_the_tiles_and_of_the_text_are_alternatives() -> None:
    query = parse_query("status:waiting", NOW, ["errored", "waiting"])

    assert query.statuses == (Status.ERRORED, Status.WAITING)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("colour:red", 'Unknown filter "colour:"'),
        ("status:broken", 'Unknown status "broken"'),
        ("trigger:moon", 'Unknown trigger "moon"'),
        ("age:soon", "age:<1h"),
        ("attempts:many", "attempts:>2"),
        ("attempts:²", "attempts:>2"),
        ("status:", "status: needs a value, for example status:errored"),
        ("age:", "age: needs a value, for example age:<1h"),
        ('step:""', "step: needs a value, for example step:charge-card"),
        ("params.userId:", "params.userId: needs a value, for example params.userId:42"),
        ("status: step:charge", "status: needs a value"),
        ("12:30", 'Unknown filter "12:"'),
        ("two words", "ids can't contain spaces"),
    ],
)
def test_what_is_not_understood_is_named_with_the_way_out(text: str, part: str) -> None:
    (problem,) = parse_query(text, NOW).problems

    assert part in problem


def test_every_example_of_the_help_is_understood() -> None:
    for _, example, _ in WORDS:
        assert parse_query(example, NOW).problems == (), example
