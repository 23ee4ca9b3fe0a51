from __future__ import annotations

from typing import Any

import pytest

from stepwell.emulator.testing.contract.cases import Case
from stepwell.emulator.testing.contract.compare import (
    ABSENT,
    Difference,
    Rules,
    compare,
    differences,
    folded,
    lenient,
    wordless,
)


def a_case(**fields: object) -> Case:
    return Case.from_json({"id": "c", "area": "a", "title": "t", "expect": {}, **fields})


def paths(want: Any, got: Any, **approx: float) -> list[str]:
    return [difference.path for difference in differences(want, got, "p", approx)]


# -- walking -------------------------------------------------------------------------------------------------


def test_equal_values_have_no_differences() -> None:
    assert paths({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}) == []


def test_a_difference_names_its_place_and_both_sides() -> None:
    found = list(differences({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, "status", {}))

    assert found == [Difference("status.a[0].b", 1, 2)]


def test_what_is_missing_or_too_much_is_a_difference() -> None:
    found = list(differences({"a": 1}, {"b": 2}, "p", {}))

    assert found == [Difference("p.a", 1, ABSENT), Difference("p.b", ABSENT, 2)]


@pytest.mark.parametrize(("want", "got"), [([1, 2], [1]), ([1], [1, 2])])
def test_lists_of_other_lengths_differ_at_the_end(want: list[int], got: list[int]) -> None:
    assert paths(want, got) == ["p[1]"]


def test_true_is_not_one() -> None:
    assert paths({"a": 1}, {"a": True}) == ["p.a"]


def test_a_list_is_not_an_object() -> None:
    assert paths({"a": []}, {"a": {}}) == ["p.a"]


def test_numbers_under_an_approximate_key_may_be_apart_by_that_much() -> None:
    assert paths({"durationMs": 1000}, {"durationMs": 1400}, durationMs=400) == []
    assert paths({"durationMs": 1000}, {"durationMs": 1401}, durationMs=400) == ["p.durationMs"]


def test_an_approximate_key_excuses_no_other_kind_of_value() -> None:
    assert paths({"durationMs": 1000}, {"durationMs": "1000"}, durationMs=400) == ["p.durationMs"]


# -- what does not count -------------------------------------------------------------------------------------


def test_leniently_undefined_is_null_and_a_null_field_is_absent() -> None:
    assert lenient({"a": {"$": "undefined"}, "b": [None, {"$": "undefined"}], "c": 0}) == {
        "b": [None, None],
        "c": 0,
    }


def test_a_name_that_javascript_does_not_have_is_folded_into_the_message() -> None:
    error = {"name": "PaymentFailed", "message": "m"}

    assert folded([{"error": error}]) == [{"error": {"name": "Error", "message": "PaymentFailed: m"}}]


def test_a_folded_error_without_a_message_is_its_name() -> None:
    assert folded({"name": "PaymentFailed", "message": ""}) == {"name": "Error", "message": "PaymentFailed"}


@pytest.mark.parametrize("name", ["Error", "TypeError", "RangeError", "DataCloneError"])
def test_a_built_in_name_is_not_folded(name: str) -> None:
    assert folded({"name": name, "message": "m"}) == {"name": name, "message": "m"}


def test_what_only_looks_like_an_error_is_not_folded() -> None:
    value = {"name": "Order", "message": "m", "id": 1}

    assert folded(value) == value


def test_wordless_errors_keep_their_names() -> None:
    assert wordless({"error": {"name": "TypeError", "message": "V8's own words"}}) == {
        "error": {"name": "TypeError"}
    }


# -- cases ---------------------------------------------------------------------------------------------------

RUNNING = {"type": "workflow_running"}
QUEUED = {"type": "workflow_queued"}
STARTED = {"type": "workflow_started"}


def test_only_expected_parts_are_compared() -> None:
    assert compare(a_case(), {"status": 1}, {"status": 1, "trace": "anything"}, Rules()) == []


def test_a_part_that_was_not_seen_differs() -> None:
    assert compare(a_case(), {"journal": [1]}, {}, Rules()) == [Difference("journal", [1], None)]


def test_the_place_of_a_mood_counts_unless_it_is_left_out() -> None:
    want, got = {"trace": [QUEUED, RUNNING]}, {"trace": [QUEUED]}

    assert compare(a_case(), want, got, Rules()) != []
    assert compare(a_case(), want, got, Rules(no_moods=True)) == []


def test_moods_inside_of_results_always_count() -> None:
    want, got = {"results": [{"ok": {"events": [RUNNING]}}]}, {"results": [{"ok": {"events": []}}]}

    assert compare(a_case(), want, got, Rules(no_moods=True)) != []


def test_a_timing_sensitive_trace_is_compared_in_any_order_and_without_moods() -> None:
    case = a_case(timing_sensitive=True)

    assert compare(case, {"trace": [QUEUED, STARTED, RUNNING]}, {"trace": [STARTED, QUEUED]}, Rules()) == []


def test_in_any_order_a_null_field_stands_where_an_absent_one_does() -> None:
    want = {"trace": [{"type": "step_completed"}, {"params": 1, "type": "workflow_started"}]}
    got = {"trace": [{"type": "step_completed", "output": None}, {"params": 1, "type": "workflow_started"}]}

    assert compare(a_case(timing_sensitive=True), want, got, Rules(lenient_null=True)) == []


def test_an_unordered_part_is_compared_in_any_order() -> None:
    want, got = {"journal": [1, 2]}, {"journal": [2, 1]}

    assert compare(a_case(unordered=["journal"]), want, got, Rules()) == []
    assert compare(a_case(), want, got, Rules()) != []


def test_traces_can_be_left_out() -> None:
    assert compare(a_case(), {"trace": [QUEUED]}, {"trace": []}, Rules(no_trace=True)) == []


def test_what_run_noted_outside_of_steps_counts_only_when_strict() -> None:
    want, got = {"journal": [{"run": "a"}, 1]}, {"journal": [{"run": "a"}, {"run": "a"}, 1]}

    assert compare(a_case(), want, got, Rules()) == []
    assert compare(a_case(), want, got, Rules(strict_journal=True)) != []


def test_messages_of_v8_are_not_compared() -> None:
    want = {"status": {"ok": {"error": {"name": "TypeError", "message": "in V8's words"}}}}
    got = {"status": {"ok": {"error": {"name": "TypeError", "message": "in ours"}}}}

    assert compare(a_case(any_message=True), want, got, Rules()) == []
    assert compare(a_case(), want, got, Rules()) != []
