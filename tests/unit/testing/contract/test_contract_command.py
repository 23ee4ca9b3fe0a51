"""`run_contract` as `stepwell contract` calls it, without any server."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from stepwell.emulator.clock import SystemClock
from stepwell.emulator.testing.contract.cases import CasesError, Selection
from stepwell.emulator.testing.contract.compare import Rules
from stepwell.emulator.testing.contract.processes import Command, Servers, TargetError
from stepwell.emulator.testing.contract.runner import ContractOptions, choose_cases, for_language, run_contract
from stepwell.emulator.testing.contract.targets import started


def run(options: ContractOptions) -> tuple[int, str]:
    console = Console(file=io.StringIO(), record=True, width=200)
    code = run_contract(options, console)
    return code, console.export_text()


def test_python_skips_what_only_javascript_has_and_compares_leniently() -> None:
    options = for_language(ContractOptions(), "python")

    assert options.selection.skip_tags == {"js"}
    assert options.rules == Rules(lenient_null=True, fold_names=True, no_moods=True)


def test_strictly_python_is_excused_its_one_null_alone() -> None:
    assert for_language(ContractOptions(strict=True), "python").rules == Rules(lenient_null=True)


def test_javascript_is_compared_strictly() -> None:
    assert for_language(ContractOptions(), "javascript") == ContractOptions()


def test_our_own_engine_also_runs_the_cases_that_follow_the_documentation() -> None:
    ids = {case.id for case in choose_cases(ContractOptions(target="python"))}
    ids_of_workerd = {case.id for case in choose_cases(ContractOptions(target="workerd"))}

    assert "sleep-over-a-year" in ids
    assert "sleep-over-a-year" not in ids_of_workerd


def test_a_selection_that_leaves_nothing_is_an_error() -> None:
    with pytest.raises(CasesError, match="None of the 536 cases match"):
        choose_cases(ContractOptions(target="workerd", selection=Selection(only=("no-such-case",))))


def test_an_unknown_target_is_an_error_that_names_the_known_ones() -> None:
    code, text = run(ContractOptions(target="nonsense"))

    assert code == 1
    assert 'Unknown target "nonsense"; expected a base URL (http://...) or one of python, javascript' in text


def test_a_folder_without_cases_ends_with_a_message(tmp_path: Path) -> None:
    code, text = run(ContractOptions(target="http://127.0.0.1:9", cases=(tmp_path,)))

    assert code == 1
    assert "There are no contract cases in" in text


def test_an_url_where_nothing_listens_fails_every_case(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    selection = Selection(only=("sleep-zero", "retries-preserve"))

    code, text = run(ContractOptions(target="http://127.0.0.1:9", selection=selection, json_file=report))

    assert code == 1
    assert "ConnectError" in text
    assert "2 skipped: no preserve deployment was given" in text
    assert '"failed": 1' in report.read_text()


@pytest.mark.anyio
async def test_an_engine_that_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(TargetError, match=r"workerd is neither in node_modules nor on PATH\. Install it with `npm"):
        async with started("workerd", tmp_path, SystemClock()):
            raise AssertionError("it was not to start")


@pytest.mark.anyio
async def test_a_server_that_ends_early_shows_the_end_of_its_log(tmp_path: Path) -> None:
    servers = Servers(SystemClock(), tmp_path)

    servers.start(Command("default", [sys.executable, "-c", "print('no config'); exit(3)"], tmp_path, {}), 9)

    with pytest.raises(TargetError, match=r"default ended before it answered\.\nno config"):
        await servers.ready()
    await servers.stop()


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    servers = Servers(SystemClock(), tmp_path)

    with pytest.raises(TargetError, match="no-such-program cannot be started"):
        servers.start(Command("default", ["no-such-program"], tmp_path, {}), 9)
