"""Parts of the handlers that need no server: typed values, files of the project, the policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.bindings import values
from stepwell.emulator.dashboard.actions.handler import Refused, value_of
from stepwell.emulator.dashboard.parts.answers import POLICY
from stepwell.emulator.dashboard.parts.sources import Sources


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ('{"a": 1.0}', '{"a":1}'),
        ("", "{}"),
        ('{"at": {"$": "date", "v": 5}}', '{"at":{"$":"date","v":5}}'),
    ],
)
def test_what_is_typed_is_stored_as_the_codec_writes_it(typed: str, stored: str) -> None:
    assert value_of(typed, "params") == stored


@pytest.mark.parametrize("typed", ["{", '{"$": "nonsense"}', "[1,]"])
def test_what_is_no_value_is_refused_in_words(typed: str) -> None:
    with pytest.raises(Refused, match="in the params"):
        value_of(typed, "params")


def test_kinds_beyond_json_survive_an_editor() -> None:
    text = values.encode({"n": b"x", "s": {1, 2}})

    assert value_of(text, "params") == text


def test_only_files_of_the_project_are_read(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "secret.py"
    (project / "node_modules").mkdir(parents=True)
    for path in (project / "shop.py", project / "node_modules" / "x.js", outside):
        path.write_text("one\ntwo\n")
    (project / "link.py").symlink_to(outside)
    read = Sources({"shop": project}).of("shop")

    for name in (str(project / "shop.py"), "shop.py"):
        assert read(name) == (str(project / "shop.py"), ["one", "two"])
    for name in (str(outside), "../secret.py", "link.py", "node_modules/x.js", "missing.py", "a\0b"):
        assert read(name) is None, name


def test_relative_paths_are_those_of_the_worker_that_the_stack_is_from(tmp_path: Path) -> None:
    for worker in ("one", "two"):
        (tmp_path / worker).mkdir()
        (tmp_path / worker / "main.py").write_text(worker)
    sources = Sources({worker: tmp_path / worker for worker in ("one", "two")})

    assert [sources.of(worker)("main.py") for worker in ("one", "two")] == [
        (str(tmp_path / "one" / "main.py"), ["one"]),
        (str(tmp_path / "two" / "main.py"), ["two"]),
    ]
    assert sources.of("elsewhere")("main.py") is None


def test_a_whole_path_may_be_in_any_project_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "main.py").write_text("two")
    sources = Sources({worker: tmp_path / worker for worker in ("one", "two")})

    assert sources.of("one")(str(tmp_path / "two" / "main.py")) is not None


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    import os

    read, path = Sources({"shop": tmp_path}).of("shop"), tmp_path / "shop.py"
    path.write_text("old")
    assert read("shop.py") == (str(path), ["old"])

    path.write_text("new")
    os.utime(path, ns=(1, 1))
    assert read("shop.py") == (str(path), ["new"])


def test_the_policy_has_no_exception() -> None:
    assert "unsafe" not in POLICY
    assert "*" not in POLICY
    assert "http" not in POLICY
