"""What is kept of the clock's moves."""

from __future__ import annotations

from stepwell.emulator.engine.time.clock_moves import ClockMoves
from stepwell.emulator.storage.records import ClockMove
from stepwell.emulator.storage.sqlite import SqliteStore

DAY = 86_400_000


def test_moves_are_there_for_the_next_process() -> None:
    store = SqliteStore(":memory:")
    ClockMoves(store).note(1_000, DAY)

    assert ClockMoves(store).all == (ClockMove(1_000, DAY, 0),)


def test_moves_at_once_one_after_another_are_one() -> None:
    moves = ClockMoves(SqliteStore(":memory:"))
    moves.note(1_000, 2_000)
    moves.note(2_005, 3_000)

    assert moves.all == (ClockMove(1_000, 3_000, 5),)


def test_moves_with_real_time_between_them_are_kept_apart() -> None:
    moves = ClockMoves(SqliteStore(":memory:"))
    moves.note(1_000, 2_000)
    moves.note(2_500, 3_000)

    assert moves.all == (ClockMove(1_000, 2_000, 0), ClockMove(2_500, 3_000, 0))


def test_of_very_many_moves_the_oldest_are_forgotten() -> None:
    moves = ClockMoves(SqliteStore(":memory:"))
    for n in range(600):
        moves.note(n * 1_000, n * 1_000 + 500)

    assert len(moves.all) == 500
    assert moves.all[-1].start == 599_000


def test_a_move_of_nothing_is_none() -> None:
    moves = ClockMoves(SqliteStore(":memory:"))
    moves.note(1_000, 1_000)

    assert moves.all == ()
