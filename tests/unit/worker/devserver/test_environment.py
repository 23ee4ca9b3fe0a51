"""What a command's environment gets, and the file by which its processes find the engine."""

from __future__ import annotations

import stat
from pathlib import Path

from stepwell.emulator.worker.devserver.environment import Session, command_environment, read_session


def test_the_preload_is_named_by_a_url_without_spaces() -> None:
    option = command_environment(Path("/a b/session.json"), {})["NODE_OPTIONS"]

    assert option.startswith("--import=file:///")
    assert " " not in option


def test_options_of_the_user_come_first() -> None:
    options = command_environment(Path("s"), {"NODE_OPTIONS": "--inspect"})["NODE_OPTIONS"]

    assert options.split()[0] == "--inspect"


def test_an_environment_that_is_prepared_already_stays_as_it_is() -> None:
    prepared = command_environment(Path("s"), {})

    assert command_environment(Path("s"), prepared) == prepared


def test_a_session_is_read_as_it_was_written(tmp_path: Path) -> None:
    session = Session(tmp_path / "session.json", 4321, "secret", ended=True)
    session.write()

    assert read_session(session.file) == session


def test_the_file_of_a_session_is_its_owners_alone(tmp_path: Path) -> None:
    session = Session(tmp_path / "session.json", 4321, "secret")
    session.write()

    assert stat.S_IMODE(session.file.stat().st_mode) == 0o600


def test_a_damaged_file_is_no_session(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    file.write_text('{"engine": 3}')

    assert read_session(file) is None
