from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stepwell.emulator.clock import VirtualClock
from stepwell.emulator.testing.contract.names import Names, broken_rules

PROGRAM = [{"op": "return", "value": 1}]
ID = "sleep-zero-1a2b3c4d"


@pytest.fixture
def names() -> Names:
    clock = VirtualClock()
    return Names(ID, PROGRAM, clock.now(), clock)


def iso(names: Names, minutes: float) -> str:
    at = datetime.fromtimestamp(names.started_at / 1000, UTC) + timedelta(minutes=minutes)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# -- on the way out ------------------------------------------------------------------------------------------


def test_the_run_id_is_put_in_everywhere(names: Names) -> None:
    assert names.fill({"a": ["$id", "x-$id-y"]}) == {"a": [ID, f"x-{ID}-y"]}


@pytest.mark.parametrize("length", [100, 101, 271, 272])
def test_a_padded_id_has_that_length(names: Names, length: int) -> None:
    filled = names.fill(f"$pad{length}")

    assert len(filled) == length
    assert filled.startswith(ID + "x")


def test_the_program_is_sent_as_it_stands(names: Names) -> None:
    assert names.fill({"params": "$program"}) == {"params": {"$": "lit", "v": PROGRAM}}


# -- on the way back -----------------------------------------------------------------------------------------


def test_the_program_is_found_again(names: Names) -> None:
    assert names.tidy({"params": {"program": [dict(PROGRAM[0])]}}) == {"params": {"program": "$program"}}


def test_an_empty_program_is_not_every_empty_list() -> None:
    names = Names(ID, (), 0, VirtualClock())

    assert names.tidy({"list": []}) == {"list": []}


def test_the_run_id_is_found_inside_of_texts(names: Names) -> None:
    assert names.tidy(f'instance "{ID}" exists') == 'instance "$id" exists'


@pytest.mark.parametrize("name", ["$pad100", "$pad101", "$pad271"])
def test_a_padded_id_is_found_again(names: Names, name: str) -> None:
    assert names.tidy(names.fill(name)) == name


def test_other_uuids_lose_their_digits(names: Names) -> None:
    assert names.tidy("at 123e4567-e89b-42d3-a456-426614174000") == "at $uuid"


@pytest.mark.parametrize(("minutes", "tidied"), [(0, "$now"), (-2, None), (2, None)])
def test_only_a_time_of_about_now_is_now(names: Names, minutes: float, tidied: str | None) -> None:
    text = iso(names, minutes)

    assert names.tidy(text) == (tidied or text)


def test_a_date_of_about_now_is_now(names: Names) -> None:
    assert names.tidy({"$": "date", "v": iso(names, 0)}) == {"$": "date", "v": "$now"}


def test_an_invalid_date_stays_what_it_is(names: Names) -> None:
    assert names.tidy({"$": "date", "v": "invalid"}) == {"$": "date", "v": "invalid"}


def test_a_case_that_moves_the_clock_may_be_years_ahead() -> None:
    clock = VirtualClock()
    names = Names(ID, PROGRAM, clock.now(), clock, moves_clock=True)

    assert names.tidy(iso(names, 60 * 24 * 365)) == "$now"


def test_undefined_fields_and_those_of_local_development_are_dropped(names: Names) -> None:
    assert names.tidy({"a": {"$": "undefined"}, "__LOCAL_DEV_STEP_OUTPUTS": [], "b": None}) == {"b": None}


# -- events --------------------------------------------------------------------------------------------------


def event(**fields: Any) -> dict[str, Any]:
    return {"type": "workflow_queued", "eventId": 1, "timestamp": 5, "instanceId": ID, **fields}


def test_events_lose_what_differs_from_run_to_run(names: Names) -> None:
    assert names.tidy_events([event()]) == [{"type": "workflow_queued"}]


def test_an_action_can_keep_some_of_it(names: Names) -> None:
    assert names.tidy_events([event()], keep=["eventId"]) == [{"type": "workflow_queued", "eventId": 1}]


def test_a_trace_in_order_breaks_no_rule() -> None:
    assert broken_rules([event(eventId=1), event(eventId=4)]) == []


@pytest.mark.parametrize("ids", [(2, 1), (1, 1), (1, None), ("1", "2")])
def test_event_ids_must_increase(ids: tuple[Any, ...]) -> None:
    assert "event ids do not increase" in broken_rules([event(eventId=n) for n in ids])[0]


def test_an_event_must_have_a_timestamp() -> None:
    assert broken_rules([event(timestamp="now")]) == ["event without a timestamp: workflow_queued"]
