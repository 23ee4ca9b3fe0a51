from __future__ import annotations

from pathlib import Path

import click
import pytest

from stepwell.emulator.testing.contract.cases import Selection
from stepwell.emulator.testing.contract.command import contract, contract_options
from stepwell.emulator.testing.contract.compare import Rules
from stepwell.emulator.testing.contract.runner import ContractOptions


def options(*args: str) -> ContractOptions:
    with contract.make_context("contract", list(args)) as context:
        return contract_options(**context.params)


def test_without_options_our_engine_is_started_on_the_python_worker() -> None:
    assert options() == ContractOptions()


def test_cases_are_chosen_by_name_and_tag() -> None:
    asked = options("--only", "sleep", "--only", "ids-", "--skip-tag", "js", "--with-doubtful")

    assert asked.selection == Selection(("sleep", "ids-"), frozenset({"js"}), with_doubtful=True)


def test_the_comparison_can_be_made_lenient_bit_by_bit() -> None:
    asked = options("--lenient-null", "--no-moods", "--strict-journal")

    assert asked.rules == Rules(lenient_null=True, no_moods=True, strict_journal=True)


def test_a_python_worker_anywhere_can_be_compared_as_one() -> None:
    asked = options("--target", "http://127.0.0.1:1", "--for-python")

    assert asked.rules == Rules(lenient_null=True, fold_names=True, no_moods=True)
    assert asked.selection.skip_tags == {"js"}


def test_a_folder_of_cases_must_exist(tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter, match="does not exist"):
        options("--cases", str(tmp_path / "missing"))
