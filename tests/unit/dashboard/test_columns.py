"""Which columns the list has."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from stepwell.emulator.dashboard.list.columns import chosen_columns


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (None, ["where", "steps", "duration", "created"]),
        (["trigger", "where"], ["where", "trigger"]),
        (["nonsense"], []),
        ([], []),
    ],
)
def test_what_was_chosen_is_shown_in_the_order_of_the_table(names: Iterable[str] | None, shown: list[str]) -> None:
    assert [column.name for column in chosen_columns(names) if column.shown] == shown
