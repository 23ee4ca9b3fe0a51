"""Folders of histories, and the answers beside them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from stepwell.emulator.histories.files import load, load_file
from stepwell.emulator.histories.imported import AnswersError, Imported, answers_file, history_files, read_answers
from stepwell.emulator.histories.production import run_of_detail
from stepwell.emulator.histories.saved import NotARun, SavedRun


def run(instance_id: str = "one", workflow: str = "orders") -> SavedRun:
    return run_of_detail(workflow, instance_id, {"status": "running", "steps": []})


def test_an_imported_instance_is_found_by_its_workflow(tmp_path: Path) -> None:
    imported = Imported.of(tmp_path)
    file = imported.add(run())
    imported.add(run(workflow="mails"))

    assert imported.files("orders") == [file]


def test_a_second_import_takes_the_place_of_the_first(tmp_path: Path) -> None:
    imported = Imported.of(tmp_path)

    assert imported.add(run()) == imported.add(run())
    assert len(imported.files()) == 1


def test_only_the_owner_may_read_what_is_imported(tmp_path: Path) -> None:
    file = Imported.of(tmp_path).add(run())

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["../../evil", "a/b", "..", ".", "*/5 * * * *-1700000000000"])
def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    imported = Imported.of(tmp_path / "state")
    file = imported.add(run(name, name))

    assert file.resolve().is_relative_to(imported.folder.resolve())
    assert imported.files(name) == [file]


def test_files_with_answers_and_hidden_files_are_no_histories(tmp_path: Path) -> None:
    for name in ("a.json", "a.answers.json", ".b.json", "c.txt"):
        (tmp_path / name).write_text("{}")

    assert [file.name for file in history_files(tmp_path)] == ["a.json"]


def test_answers_lie_beside_the_history() -> None:
    assert answers_file(Path("histories/a.json")) == Path("histories/a.answers.json")


def test_a_history_without_answers_has_none(tmp_path: Path) -> None:
    assert read_answers(tmp_path / "a.json") == {}


@pytest.mark.parametrize("text", ["{", "[]", "1", '"x"'])
def test_answers_that_are_no_object_are_refused_with_the_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.answers.json").write_text(text)

    with pytest.raises(AnswersError, match=r"a\.answers\.json"):
        read_answers(tmp_path / "a.json")


@pytest.mark.parametrize(
    "text", ["", "{", "null", "1", "{}", "[1]", '{"format": "x"}', "[" * 5_000, '{"status": 1, "steps": [1]}']
)
def test_what_is_no_history_is_refused(text: str) -> None:
    with pytest.raises(NotARun):
        load(text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotARun, match=r"Can't read .*gone\.json"):
        load_file(tmp_path / "gone.json")
