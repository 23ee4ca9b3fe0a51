"""What the command line shows of an instance."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.emulator.cli.tables import notes, print_step

OPEN: dict[str, Any] = {
    "name": "slow-1",
    "type": "step",
    "start": "2100-01-01T00:00:00.000Z",
    "end": None,
    "success": None,
    "attempts": [{"start": "2100-01-01T00:00:00.000Z", "end": None, "success": None, "error": None}],
}


@pytest.mark.parametrize(("has_ended", "state"), [(False, "working"), (True, "abandoned")])
def test_a_step_that_is_open_works_until_its_instance_has_ended(
    capsys: pytest.CaptureFixture[str], has_ended: bool, state: str
) -> None:
    print_step(OPEN, with_output=True, limit=100, has_ended=has_ended)

    attempt = capsys.readouterr().out.splitlines()[-1]
    assert attempt.rstrip().endswith(state)


def test_an_attempt_without_an_end_failed_with_its_step(capsys: pytest.CaptureFixture[str]) -> None:
    print_step({**OPEN, "success": False}, with_output=True, limit=100, has_ended=True)

    assert capsys.readouterr().out.splitlines()[-1].rstrip().endswith("error")


def test_names_of_user_code_are_shown_with_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    print_step({**OPEN, "name": "\x1b[2J[red]"}, with_output=True, limit=100, has_ended=False)

    assert "Name:  \\x1b[2J[red]\n" in capsys.readouterr().out


def test_a_step_says_when_its_next_attempt_comes(capsys: pytest.CaptureFixture[str]) -> None:
    step = {"name": "charge-1", "type": "step", "start": "2026-03-01T09:00:00.000Z", "end": None, "attempts": []}
    following = {"attempt": 2, "at": "2026-03-01T09:00:10.000Z"}

    print_step({**step, "success": None, "next_attempt": following}, with_output=True, limit=100, has_ended=False)

    assert "attempt 2 at 2026-03-01" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("carried", "text"),
    [("copy", "copied from another instance"), ("restart", "kept from before the restart")],
)
def test_a_step_says_where_its_result_comes_from(
    capsys: pytest.CaptureFixture[str], carried: str, text: str
) -> None:
    print_step({**OPEN, "success": True, "carried": carried}, with_output=True, limit=100, has_ended=True)

    assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"created_by": {"workflow": "orders", "instance_id": "o-1"}}, "created by orders/o-1"),
        ({"copied_from": {"workflow": "orders", "instance_id": "o-1"}}, "copied from orders/o-1"),
        ({"restarted_on": "2026-01-01T00:00:00Z"}, "restarted from a step"),
        ({"real_duration_ms": 2_000}, "clock moved: 2 seconds in real time"),
        ({"unreadable": True}, "[red]data damaged[/]"),
        ({}, ""),
    ],
)
def test_a_row_of_the_list_says_what_is_special(fields: dict[str, object], text: str) -> None:
    assert notes(fields) == text
