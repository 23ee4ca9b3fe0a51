"""Times of the engine told in real time, and the timeline drawn in it."""

from __future__ import annotations

from stepwell.emulator.dashboard.instance.steps import step_views
from stepwell.emulator.real_time import RealTime
from stepwell.emulator.storage.records import ClockMove, StepKind
from tests.unit.dashboard.conftest import MakeInstance, MakeStep
from tests.unit.dashboard.drawing import timeline_of

HOUR = 3_600_000


def test_without_a_move_times_are_what_they_are() -> None:
    assert RealTime()(5_000) == 5_000


def test_a_clock_that_was_ahead_all_the_time_is_taken_back() -> None:
    assert RealTime((), HOUR)(HOUR + 5_000) == 5_000


def test_a_move_takes_no_real_time_and_what_follows_goes_on_as_before() -> None:
    real = RealTime([ClockMove(1_000, 1_000 + HOUR, 0)], HOUR)

    assert [real(at) for at in (900, 1_000, 1_000 + HOUR // 2, 1_000 + HOUR, 1_200 + HOUR)] == [
        900,
        1_000,
        1_000,
        1_000,
        1_200,
    ]


def test_moves_that_were_joined_share_the_real_time_that_they_took() -> None:
    real = RealTime([ClockMove(1_000, 11_000, 100)], 9_900)

    assert [real(at) for at in (1_000, 6_000, 11_000, 12_000)] == [1_000, 1_050, 1_100, 2_100]


def test_a_real_time_is_told_in_the_times_of_the_engine() -> None:
    real = RealTime([ClockMove(1_000, 11_000, 100)], 9_900)

    assert [real.engine(at) for at in (900, 2_100)] == [900, 12_000]
    assert all(real(real.engine(at)) == at for at in range(900, 1_300, 7))


def test_several_moves_add_up() -> None:
    real = RealTime([ClockMove(1_000, 2_000, 0), ClockMove(5_000, 8_000, 0)], 4_000)

    assert [real(at) for at in (500, 3_000, 9_000)] == [500, 2_000, 5_000]
    assert real.span(500, 9_000) == 4_500


def test_whether_the_clock_was_moved_within() -> None:
    real = RealTime([ClockMove(1_000, 2_000, 0)], 1_000)

    assert real.moved_within(0, 1_500)
    assert not real.moved_within(2_000, 3_000)
    assert not real.moved_within(0, 1_000)


def test_a_sleep_that_was_moved_over_is_short_in_real_time(instance: MakeInstance, step: MakeStep) -> None:
    nap = step("nap", kind=StepKind.SLEEP, ended_at=1_000 + HOUR, config='{"durationMs":3600000}')
    row = instance(ended_at=1_500 + HOUR)
    steps = step_views([nap], {}, {}, {1: ""})
    real_time = RealTime([ClockMove(1_100, 1_000 + HOUR, 0)], HOUR - 100)

    moved = timeline_of(row, steps, [], 1_500 + HOUR).rows[1]
    real = timeline_of(row, steps, [], 1_500 + HOUR, times=real_time).rows[1]

    assert moved.pieces[0].title == "sleeping, 1 h"
    assert real.pieces[0].title == "sleeping, 100 ms"
    assert real.span is not None
    assert real.span[1] is not None
    assert real.span[1] - real.span[0] == 100
