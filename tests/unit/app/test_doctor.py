"""`stepwell doctor`: what is wrong with a machine or a project is found, whatever else is broken."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from stepwell.emulator.app.doctor import Finding, examine
from stepwell.emulator.cli.main import main
from stepwell.emulator.storage.sqlite import SqliteStore

WORKER = "from workers import WorkflowEntrypoint\n"
CONFIG = {
    "name": "shop",
    "main": "src/entry.py",
    "compatibility_date": "2026-07-01",
    "compatibility_flags": ["python_workers"],
    "vars": {"API_KEY": "a-value-to-keep"},
    "workflows": [{"name": "orders", "binding": "ORDERS", "class_name": "Orders"}],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "entry.py").write_text(WORKER)
    (tmp_path / ".dev.vars").write_text("SECRET=a-secret-to-keep\n")
    configure(tmp_path)
    return tmp_path


def configure(folder: Path, **changes: object) -> None:
    (folder / "wrangler.jsonc").write_text(json.dumps({**CONFIG, **changes}))


def found(folder: Path, name: str, **flags: object) -> Finding:
    [finding] = [finding for finding in examine(folder, flags) if finding.name == name]
    return finding


def problems(folder: Path) -> dict[str, str]:
    return {finding.name: finding.problem for finding in examine(folder, {"port": "0"}) if finding.problem}


def test_a_project_in_order_has_no_problems(project: Path) -> None:
    assert problems(project) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Worker", "shop, python, {folder}/src/entry.py"),
        ("Workflows", "CPython, in the process of Stepwell"),
        ("compatibility date", "2026-07-01"),
        ("configuration", "{folder}/wrangler.jsonc"),
        ("folder", "{folder}/.stepwell (new at the first start)"),
    ],
)
def test_what_it_says_of_a_project(name: str, value: str, project: Path) -> None:
    values = [finding.value for finding in examine(project, {}) if finding.name == name]

    assert value.format(folder=project) in values


def test_no_value_of_a_variable_is_shown(project: Path) -> None:
    shown = json.dumps([finding.to_json() for finding in examine(project, {})])

    assert "to-keep" not in shown


def test_a_folder_without_a_project_is_said_and_the_machine_is_examined(tmp_path: Path) -> None:
    assert list(problems(tmp_path)) == ["configuration"]
    assert found(tmp_path, "SQLite").value[0].isdigit()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 5}', "\0"])
def test_a_broken_configuration_is_shown(text: str, project: Path) -> None:
    (project / "wrangler.jsonc").write_text(text)

    assert list(problems(project)) == ["configuration"]


def test_a_warning_of_the_configuration_is_shown(project: Path) -> None:
    configure(project, compatability_date="2026-07-01")

    assert "compatability_date" in problems(project)["warning"]


def test_a_project_without_workflows_is_a_problem(project: Path) -> None:
    configure(project, workflows=[])

    assert "it configures no Workflow" in problems(project).values()


def test_a_missing_runtime_is_named_with_the_command_that_installs_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    (project / "index.ts").write_text("export default {}")
    configure(project, main="index.ts", compatibility_flags=[])

    assert "npm install --save-dev wrangler" in problems(project)["Worker and Workflows"]


def test_a_port_in_use_is_a_problem(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        finding = found(project, "port", port=str(server.getsockname()[1]))

    assert "Stop the other process" in finding.problem


def test_the_instances_of_a_database_are_counted(project: Path) -> None:
    (project / ".stepwell").mkdir()
    SqliteStore(str(project / ".stepwell" / "stepwell.sqlite")).close()

    assert found(project, "database").value.endswith(", 0 instances")


@pytest.mark.parametrize("content", [b"", b"no database at all" * 1_000])
def test_a_damaged_database_is_a_problem(content: bytes, project: Path) -> None:
    (project / ".stepwell").mkdir()
    (project / ".stepwell" / "stepwell.sqlite").write_bytes(content)

    assert list(problems(project)) == ["database"]


def test_a_database_is_left_as_it_is(project: Path) -> None:
    (project / ".stepwell").mkdir()
    SqliteStore(str(project / ".stepwell" / "stepwell.sqlite")).close()
    before = sorted((file.name, file.stat().st_mtime_ns) for file in (project / ".stepwell").iterdir())
    examine(project, {})

    assert sorted((file.name, file.stat().st_mtime_ns) for file in (project / ".stepwell").iterdir()) == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_a_problem(project: Path) -> None:
    project.chmod(0o500)

    assert "choose another folder with --persist-to" in problems(project)["folder"]


def test_a_state_folder_that_is_a_file_is_a_problem(project: Path) -> None:
    (project / ".stepwell").write_text("")

    assert "is not a folder" in problems(project)["folder"]


def test_a_state_folder_that_is_a_broken_link_is_a_problem(project: Path) -> None:
    (project / ".stepwell").symlink_to(project / "gone")

    assert "is not a folder" in problems(project)["folder"]


def test_links_in_the_state_folder_that_lead_nowhere_or_back_are_no_problem(project: Path) -> None:
    (project / ".stepwell").mkdir()
    (project / ".stepwell" / "nowhere").symlink_to("gone")
    (project / ".stepwell" / "back").symlink_to(".")

    assert problems(project) == {}


def test_files_that_go_while_they_are_counted_are_no_problem(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".stepwell").mkdir()
    (project / ".stepwell" / "file").write_bytes(b"x" * 1024**2)
    (project / ".stepwell" / "short-lived").write_text("")
    listed = os.walk

    def removing(top: Path, **options: object) -> Iterator[tuple[str, list[str], list[str]]]:
        for entry in listed(top, **options):  # type: ignore[call-overload]
            (project / ".stepwell" / "short-lived").unlink()
            yield entry

    monkeypatch.setattr(os, "walk", removing)

    assert found(project, "folder").value.endswith(", 1.0 MB")


def test_a_stale_address_is_not_a_running_server(project: Path) -> None:
    (project / ".stepwell").mkdir()
    (project / ".stepwell" / "server.json").write_text('{"url": "http://127.0.0.1:1", "pid": 1}')

    assert [finding for finding in examine(project, {"port": "0"}) if finding.name == "running"] == []


def test_the_exit_code_tells_whether_there_are_problems(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    good = CliRunner().invoke(main, ["doctor", str(project)], env={"STEPWELL_PORT": "0"})
    bad = CliRunner().invoke(main, ["doctor", str(tmp_path_factory.mktemp("empty"))])

    assert (good.exit_code, bad.exit_code) == (0, 1)
    assert good.output.endswith("No problems found.\n")
    assert bad.output.endswith("1 problem found.\n")


def test_the_findings_are_printed_as_json(project: Path) -> None:
    done = CliRunner().invoke(main, ["doctor", "--json", str(project)])

    assert {finding["section"] for finding in json.loads(done.stdout)} >= {"Stepwell", "Project", "Tools", "State"}
