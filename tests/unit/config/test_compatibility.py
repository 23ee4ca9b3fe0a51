"""Compatibility flags by date and by name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.emulator.config.compatibility import flag_table, resolve_flags
from stepwell.emulator.config.flag_table import ROWS

DATE = re.compile(r"20\d\d-\d\d-\d\d")
FLAG = re.compile(r"[a-z0-9_-]+")
NAMES = sorted({name for flag in flag_table().values() for name in (flag.name, flag.opposite) if name})


@pytest.mark.parametrize("row", [row for row in ROWS.split("\n") if row])
def test_a_row_of_the_table_is_well_formed(row: str) -> None:
    name, opposite, date, *implied = row.split(" ")

    assert FLAG.fullmatch(name)
    assert FLAG.fullmatch(opposite)
    assert date == "-" or DATE.fullmatch(date)
    assert not implied or (DATE.fullmatch(implied[0]) and set(implied[1:]) <= set(flag_table()) and implied[1:])


def test_no_name_stands_for_two_things() -> None:
    named = [name for flag in flag_table().values() for name in (flag.name, flag.opposite) if name]

    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    ("flag", "opposite", "date"),
    [
        (
            "workflows_preserve_non_retryable_error_message",
            "workflows_replace_non_retryable_error_message",
            "2026-05-14",
        ),
        ("python_no_global_handlers", "disable_python_no_global_handlers", "2025-08-14"),
        ("python_request_headers_preserve_commas", "disable_python_request_headers_preserve_commas", "2026-02-17"),
    ],
)
class TestFlagsByDate:
    def test_it_is_on_from_its_date(self, flag: str, opposite: str, date: str) -> None:
        assert getattr(resolve_flags(date, []), flag)

    def test_it_is_off_before_its_date(self, flag: str, opposite: str, date: str) -> None:
        assert not getattr(resolve_flags("2025-08-13", []), flag)

    def test_it_can_be_named_before_its_date(self, flag: str, opposite: str, date: str) -> None:
        assert getattr(resolve_flags("2020-01-01", [flag]), flag)

    def test_its_opposite_switches_it_off_after_its_date(self, flag: str, opposite: str, date: str) -> None:
        assert not getattr(resolve_flags("2026-11-17", [opposite]), flag)


class TestPythonWorkflows:
    @pytest.mark.parametrize(("date", "on"), [("2026-02-24", False), ("2026-02-25", True)])
    def test_implicit_dependencies_come_with_python_workers_from_their_date(self, date: str, on: bool) -> None:
        flags = resolve_flags(date, ["python_workers"])

        assert flags.python_workflows_implicit_dependencies is on

    def test_they_do_not_come_without_python_workers(self) -> None:
        assert not resolve_flags("2026-07-01", []).python_workflows_implicit_dependencies

    def test_they_can_be_switched_off(self) -> None:
        named = ["python_workers", "no_python_workflows_implicit_dependencies"]

        assert not resolve_flags("2026-07-01", named).python_workflows_implicit_dependencies

    @pytest.mark.parametrize(("date", "on"), [("2025-09-19", False), ("2025-09-20", True)])
    def test_workflows_come_with_python_workers_from_their_date(self, date: str, on: bool) -> None:
        assert resolve_flags(date, ["python_workers"]).python_workflows is on

    def test_a_flag_that_implies_python_workers_implies_the_rest(self) -> None:
        assert resolve_flags("2026-07-01", ["python_workers_development"]).python_workflows_implicit_dependencies


def test_a_chain_of_implied_flags_is_followed() -> None:
    flags = resolve_flags("2025-09-02", ["nodejs_compat"])

    assert {"nodejs_compat_v2", "enable_nodejs_http_modules", "enable_nodejs_http_server_modules"} <= flags


def test_any_flag_can_be_asked_for() -> None:
    flags = resolve_flags("2025-01-01", ["nodejs_compat"])

    assert "nodejs_compat" in flags
    assert "nope" not in flags


@given(st.lists(st.sampled_from(NAMES)))
def test_order_and_repetition_of_flags_do_not_matter(names: list[str]) -> None:
    assert resolve_flags("2026-07-01", names) == resolve_flags("2026-07-01", [*reversed(names), *names])


@given(st.dates(), st.lists(st.sampled_from(sorted(flag_table())), max_size=5))
def test_a_flag_that_is_named_is_on_at_any_date(date: object, names: list[str]) -> None:
    assert set(names) <= resolve_flags(str(date), names)


@given(st.lists(st.sampled_from(NAMES), unique=True))
def test_the_opposite_keeps_a_flag_off_unless_it_is_named_itself(names: list[str]) -> None:
    off = {flag.name for flag in flag_table().values() if flag.opposite in names and flag.name not in names}

    assert off.isdisjoint(resolve_flags("2030-01-01", names))
