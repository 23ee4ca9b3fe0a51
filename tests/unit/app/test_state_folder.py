"""The state folder: errors when it can't be used, and detection of its loss."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.emulator.app import state_folder
from stepwell.emulator.app.state_folder import StateFolder, StateFolderError


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[StateFolder]:
    folder = StateFolder(tmp_path / "state")
    folder.claim()
    folder.database.touch()
    yield folder
    folder.release()


def test_a_folder_in_use_is_not_lost(folder: StateFolder) -> None:
    folder.announce("http://x")

    assert not folder.is_lost


def test_a_folder_whose_database_was_replaced_is_lost(folder: StateFolder) -> None:
    folder.announce("http://x")
    other = folder.path / "other"
    other.touch()

    other.replace(folder.database)

    assert folder.is_lost


def test_an_address_that_cannot_be_stored_is_an_error_with_advice(folder: StateFolder) -> None:
    (folder.path / "server.json.new").mkdir()

    with pytest.raises(StateFolderError, match=r"Can't use the state folder .* \(Is a directory\)"):
        folder.announce("http://x")


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_deleted_log_of_the_database_is_noticed(folder: StateFolder, end: str) -> None:
    log = folder.database.with_name(folder.database.name + end)
    log.touch()
    folder.announce("http://x")
    assert folder.lost_log is None

    log.unlink()

    assert folder.lost_log == log
    assert not folder.is_lost


def test_a_file_system_without_locks_is_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(file: object) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(state_folder, "_try_lock", no_locks)

    with pytest.raises(StateFolderError, match=r"Can't lock the state folder .* \(No locks available\)"):
        StateFolder(tmp_path / "state").claim()
