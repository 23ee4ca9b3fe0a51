from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from emulator.testing import contract_command
from emulator.testing.contract import ContractOptions
from emulator.testing.contract_cases import Selection
from emulator.testing.contract_compare import Rules


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ContractOptions]:
    """What the command line asked the runner to do; nothing is run."""
    options: list[ContractOptions] = []

    def note(given: ContractOptions, console: Console) -> int:
        options.append(given)
        return 0

    monkeypatch.setattr(contract_command, "run_contract", note)
    return options


def invoke(*args: str) -> int:
    return CliRunner().invoke(contract_command.contract_command, args).exit_code


def test_without_options_our_engine_is_started_on_the_python_worker(asked: list[ContractOptions]) -> None:
    assert invoke() == 0
    assert asked == [ContractOptions()]


def test_cases_are_chosen_by_name_and_tag(asked: list[ContractOptions]) -> None:
    invoke("--only", "sleep", "--only", "ids-", "--skip-tag", "js", "--with-doubtful")

    assert asked[0].selection == Selection(("sleep", "ids-"), frozenset({"js"}), with_doubtful=True)


def test_the_comparison_can_be_made_lenient_bit_by_bit(asked: list[ContractOptions]) -> None:
    invoke("--lenient-null", "--no-moods", "--strict-journal")

    assert asked[0].rules == Rules(lenient_null=True, no_moods=True, strict_journal=True)


def test_a_python_worker_anywhere_can_be_compared_as_one(asked: list[ContractOptions]) -> None:
    invoke("--target", "http://127.0.0.1:1", "--for-python")

    assert asked[0].rules == Rules(lenient_null=True, fold_names=True, no_moods=True)
    assert asked[0].selection.skip_tags == {"js"}


def test_a_folder_of_cases_must_exist(asked: list[ContractOptions], tmp_path: Path) -> None:
    assert invoke("--cases", str(tmp_path / "missing")) == 2
    assert asked == []
