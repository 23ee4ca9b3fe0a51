"""Which steps of a long run are shown, and which are folded."""

from __future__ import annotations

from stepwell.emulator.dashboard.instance.excerpt import FIRST, NEWEST, UNFOLDED, WHOLE, excerpt


def test_a_run_of_some_steps_is_shown_whole() -> None:
    found = excerpt(WHOLE)

    assert found.shown == tuple(range(1, WHOLE + 1))
    assert found.folds == ()


def test_of_a_long_run_the_first_and_the_newest_are_shown_and_the_middle_is_folded() -> None:
    found = excerpt(300)

    assert found.shown == (*range(1, FIRST + 1), *range(300 - NEWEST + 1, 301))
    assert found.folds == ((FIRST + 1, 300 - NEWEST),)


def test_what_is_open_or_has_failed_is_shown_wherever_it_is() -> None:
    found = excerpt(1_000, [500])

    assert 500 in found.shown
    assert found.folds == ((11, 499), (501, 975))


def test_what_is_asked_for_unfolds() -> None:
    found = excerpt(1_000, unfold=501)

    assert found.folds == ((11, 500), (501 + UNFOLDED, 975))


def test_a_chosen_step_is_shown_among_its_neighbours() -> None:
    assert {498, 499, 500, 501, 502} <= set(excerpt(1_000, selected=500).shown)


def test_fewer_than_four_steps_are_never_folded() -> None:
    assert excerpt(1_000, [14]).folds == ((15, 975),)


def test_nothing_outside_of_the_run_is_shown() -> None:
    found = excerpt(200, unfold=190, selected=5_000)

    assert max(found.shown) == 200


def test_every_step_is_shown_or_in_a_fold() -> None:
    found = excerpt(777, [100, 333, 600], unfold=400)
    folded = {seq for first, last in found.folds for seq in range(first, last + 1)}

    assert folded.isdisjoint(found.shown)
    assert folded | set(found.shown) == set(range(1, 778))
