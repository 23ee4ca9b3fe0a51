"""The rows of a timeline: nested steps, groups of one name, and what of a long run is shown."""

from __future__ import annotations

from typing import Any

from stepwell.emulator.dashboard.instance.outline import (
    FOUND_SHOWN,
    UNFOLDED,
    Choice,
    Fold,
    Outline,
    StepGroup,
    StepPlace,
    shown_seqs,
)
from stepwell.emulator.storage.records import StepKind, StepState
from stepwell.emulator.storage.view_records import StepOutline


def step(seq: int, name: str = "charge", ordinal: int = 1, **fields: Any) -> StepOutline:
    row = StepOutline(
        seq, StepKind.DO, name, ordinal, None, StepState.COMPLETED, 1, seq * 10, seq * 10 + 5, None, False
    )
    return row._replace(**fields)


def pages(count: int, **fields: Any) -> list[StepOutline]:
    return [step(seq, "import page", seq, **fields) for seq in range(1, count + 1)]


def rows(outline: Outline, choice: Choice | None = None) -> list[str]:
    """What the rows show, indented."""
    texts = []
    for place in outline.places(choice or Choice()):
        if isinstance(place, StepGroup):
            texts.append("  " * place.depth + f"{place.name} x{len(place.steps)}")
        elif isinstance(place, Fold):
            texts.append(f"({len(place.steps)} folded)")
        else:
            texts.append("  " * place.depth + outline.label(place.step))
    return texts


def test_steps_with_one_name_are_a_group_where_the_first_of_them_was() -> None:
    outline = Outline([step(1, "open"), *[step(n, "page", n - 1) for n in range(2, 10)], step(10, "close")])

    assert rows(outline) == ["open", "page x8", "close"]


def test_few_steps_with_one_name_are_told_apart_by_their_ordinals() -> None:
    outline = Outline([step(1, "open"), step(2, "page", 1), step(3, "page", 2)])

    assert rows(outline) == ["open", "page #1", "page #2"]


def test_in_a_run_that_fills_more_than_a_screen_four_of_a_name_are_a_group() -> None:
    steps = [step(n, "note", n) for n in range(1, 5)]

    assert len(rows(Outline(steps))) == 4
    assert rows(Outline([*steps, *(step(n, "page", n) for n in range(5, 50))])) == ["note x4", "page x45"]


def test_names_that_differ_only_in_their_numbers_are_a_group() -> None:
    outline = Outline([step(n, f"page {n}") for n in range(1, 9)])

    assert rows(outline) == ["page # x8"]


def test_nested_steps_are_below_the_step_that_they_are_inside_of() -> None:
    outline = Outline([step(1, "a"), step(2, "b"), step(3, "in a", parent=1), step(4, "in in a", parent=3)])

    assert rows(outline) == ["a", "  in a", "    in in a", "b"]


def test_a_group_among_nested_steps_stays_below_their_parent() -> None:
    outline = Outline([step(1, "a"), *[step(n, "part", n - 1, parent=1) for n in range(2, 10)], step(10, "b")])

    assert rows(outline) == ["a", "  part x8", "b"]


def test_a_group_unfolds_a_hundred_at_a_time_from_the_step_asked_for() -> None:
    places = Outline(pages(960)).places(Choice(unfold=frozenset({101})))

    group = places[0]
    assert isinstance(group, StepGroup)
    assert group.shown == (100, 199)
    assert shown_seqs(places) == list(range(101, 101 + UNFOLDED))


def test_an_open_and_a_failed_step_are_shown_while_their_group_is_folded() -> None:
    steps = pages(20)
    steps[4] = steps[4]._replace(state=StepState.FAILED)
    steps[19] = steps[19]._replace(state=StepState.IN_FLIGHT, ended_at=None)

    assert rows(Outline(steps)) == ["import page x20", "  import page #5", "  import page #20"]


def test_a_linked_step_is_shown_while_its_group_is_folded() -> None:
    assert rows(Outline(pages(20)), Choice(selected=7)) == ["import page x20", "  import page #7"]


def test_only_retried_members_are_shown_when_they_are_asked_for() -> None:
    steps = pages(20)
    steps[6] = steps[6]._replace(attempts=3)

    assert rows(Outline(steps), Choice(unfold=frozenset({1}), only="retried")) == [
        "import page x20",
        "  import page #7",
    ]


def test_a_range_of_time_leaves_only_its_members_below_an_unfolded_group() -> None:
    choice = Choice(unfold=frozenset({1}), window=(95, 121))

    assert rows(Outline(pages(20)), choice) == [
        "import page x20",
        *(f"  import page #{n}" for n in (9, 10, 11, 12)),
    ]


def test_the_filter_searches_all_steps_by_name_kind_and_state() -> None:
    steps = [*pages(1_000), step(1_001, "publish", state=StepState.FAILED)]
    outline = Outline(steps)

    assert rows(outline, Choice(find="PAGE-999")) == ["import page #999"]
    assert rows(outline, Choice(find="failed")) == ["publish"]
    assert len(rows(outline, Choice(find="page"))) == FOUND_SHOWN


def test_of_very_many_rows_the_first_the_last_and_the_open_ones_are_shown() -> None:
    steps = [step(n, "abcdefghij"[n % 10] * (n // 10 + 1)) for n in range(1, 601)]
    steps[299] = steps[299]._replace(state=StepState.PENDING)
    places = Outline(steps).places(Choice())

    assert [len(place.steps) for place in places if isinstance(place, Fold)] == [239, 240]
    assert 300 in shown_seqs(places)
    assert len(shown_seqs(places)) == 121


def test_every_step_is_in_a_row_of_its_own_in_a_group_or_in_a_fold() -> None:
    steps = [step(n, "abcdefghij"[n % 10] * (n // 10 + 1)) for n in range(1, 601)]
    steps += [step(n, "page", n) for n in range(601, 701)]
    found: set[int] = set()
    for place in Outline(steps).places(Choice()):
        found |= {place.step.seq} if isinstance(place, StepPlace) else {one.seq for one in place.steps}

    assert found == set(range(1, 701))


def test_a_step_whose_parent_is_unknown_is_shown_at_the_top() -> None:
    assert rows(Outline([step(2, "lost", parent=1)])) == ["lost"]


def test_ten_thousand_steps_are_a_few_rows() -> None:
    assert rows(Outline(pages(10_000))) == ["import page x10000"]
