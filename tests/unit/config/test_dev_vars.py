"""Variables and secrets in local development, weighed as wrangler 4.164 was seen to weigh them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stepwell.emulator.config import ConfigError, Project, load_project

Load = Callable[..., Project]


def test_dev_vars_hide_variables_of_the_same_name(load: Load) -> None:
    project = load(vars={"A": 1, "B": {"x": 1}}, files={".dev.vars": "B=secret\nC=3"})

    assert project.vars == {"A": 1, "B": "secret", "C": "3"}
    assert project.dev_vars.secrets == {"B", "C"}
    assert project.dev_vars.notices == ("Using secrets defined in .dev.vars",)


def test_dev_vars_end_the_search_for_env_files(load: Load) -> None:
    assert load(files={".dev.vars": "A=1", ".env": "B=2"}).vars == {"A": "1"}


def test_the_dev_vars_of_an_environment_replace_the_general_ones(load: Load) -> None:
    files = {".dev.vars": "A=1\nB=1", ".dev.vars.st": "A=2"}

    assert load(files=files, env={"st": {}}, env_name="st").vars == {"A": "2"}


def test_an_environment_without_dev_vars_of_its_own_takes_the_general_ones(load: Load) -> None:
    assert load(files={".dev.vars": "A=1"}, env={"st": {}}, env_name="st").vars == {"A": "1"}


def test_env_files_are_merged_and_the_later_wins(load: Load) -> None:
    files = {
        ".env": "A=1\nB=1\nC=1\nD=1",
        ".env.local": "B=2\nC=2\nD=2",
        ".env.st": "C=3\nD=3",
        ".env.st.local": "D=4",
    }

    project = load(files=files, env={"st": {}}, env_name="st")

    assert project.vars == {"A": "1", "B": "2", "C": "3", "D": "4"}
    assert project.dev_vars.notices[0] == "Using secrets defined in .env"
    assert len(project.dev_vars.notices) == 4


def test_env_files_of_an_environment_are_left_alone_without_it(load: Load) -> None:
    assert load(files={".env.st": "A=1"}).vars == {}


def test_references_are_replaced_in_env_files_but_not_in_dev_vars(load: Load, tmp_path: Path) -> None:
    text = "A=1\nB=${A}$A"

    assert load(files={".env": text}).vars["B"] == "11"
    assert load(files={".dev.vars": text}).vars["B"] == "${A}$A"


def test_given_files_replace_the_whole_search(write_project: Callable[..., Path]) -> None:
    folder = write_project(files={".dev.vars": "A=1", "one.env": "B=1\nC=1", "two.env": "C=2"})

    project = load_project(folder, env_files=[Path("one.env"), Path("two.env")], environ={})

    assert project.vars == {"B": "1", "C": "2"}


def test_a_folder_called_env_is_passed_over(load: Load, tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()

    assert load().vars == {}


def test_env_files_can_be_switched_off(load: Load) -> None:
    environ = {"CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV": "false"}

    assert load(files={".env": "A=1"}, environ=environ).vars == {}
    assert load(files={".dev.vars": "A=1"}, environ=environ).vars == {"A": "1"}


def test_the_process_environment_is_left_out_unless_asked_for(load: Load) -> None:
    assert load(environ={"PATH": "/bin"}).vars == {}
    assert load(environ={"PATH": "/bin", "CLOUDFLARE_INCLUDE_PROCESS_ENV": "TRUE"}).vars["PATH"] == "/bin"


def test_the_process_environment_weighs_more_than_env_files(load: Load) -> None:
    environ = {"A": "process", "CLOUDFLARE_INCLUDE_PROCESS_ENV": "true"}

    assert load(files={".env": "A=file\nB=$A"}, environ=environ).vars["A"] == "process"


def test_a_switch_that_is_neither_true_nor_false_is_refused(load: Load) -> None:
    with pytest.raises(
        ConfigError, match='CLOUDFLARE_INCLUDE_PROCESS_ENV to be "true" or "false", but got "maybe"'
    ):
        load(environ={"CLOUDFLARE_INCLUDE_PROCESS_ENV": "maybe"})


class TestRequiredSecrets:
    def test_only_required_names_and_variables_are_taken(self, load: Load) -> None:
        project = load(vars={"V": 1}, secrets={"required": ["S"]}, files={".dev.vars": "S=1\nV=2\nX=3"})

        assert project.vars == {"V": "2", "S": "1"}

    def test_the_process_environment_is_always_included(self, load: Load) -> None:
        assert load(secrets={"required": ["S"]}, environ={"S": "1", "PATH": "/bin"}).vars == {"S": "1"}

    def test_dev_vars_leave_the_process_environment_out(self, load: Load) -> None:
        assert load(secrets={"required": ["S"]}, files={".dev.vars": ""}, environ={"S": "1"}).vars == {}

    def test_missing_ones_warn(self, load: Load) -> None:
        (problem,) = load(secrets={"required": ["A", "B", "C"]}, files={".dev.vars": "C=1"}).warnings

        assert problem.text == (
            "Missing required secrets: A, B. Add them to .dev.vars, .env, or set as environment variables."
        )

    def test_an_empty_declaration_takes_nothing(self, load: Load) -> None:
        assert load(secrets={}, files={".dev.vars": "A=1"}).vars == {}

    @pytest.mark.parametrize(
        ("secrets", "message"),
        [
            (5, 'The field "secrets" should be an object but got 5.'),
            ({"required": "A"}, 'Expected "secrets.required" to be an array of strings but got "A"'),
            ({"required": [5]}, 'Expected "secrets.required.[0]" to be of type string but got 5.'),
        ],
    )
    def test_another_shape_is_refused(
        self, errors: Callable[..., list[str]], secrets: object, message: str
    ) -> None:
        assert errors(secrets=secrets) == [message]


class TestHostileFiles:
    def test_bytes_that_are_no_utf8_are_replaced_with_a_warning(self, load: Load, tmp_path: Path) -> None:
        (tmp_path / ".dev.vars").write_bytes(b"A=\xff\n")

        project = load()

        assert project.vars == {"A": "\ufffd"}
        assert ".dev.vars is not valid UTF-8" in project.warning_text()

    def test_a_huge_file_is_refused(self, load: Load, tmp_path: Path) -> None:
        with (tmp_path / ".dev.vars").open("wb") as file:
            file.truncate(10 * 1024**3)

        with pytest.raises(ConfigError, match=r"Reading \.dev\.vars:\n- The file is too large"):
            load()

    def test_values_that_grow_without_bound_are_refused(self, load: Load) -> None:
        bomb = "A0=xxxxxxxx\n" + "".join(f"A{n}=$A{n - 1}$A{n - 1}\n" for n in range(1, 60))

        with pytest.raises(ConfigError, match="refers to other values until it is longer than"):
            load(files={".env": bomb})

    def test_values_are_not_part_of_any_message(self, load: Load) -> None:
        project = load(secrets={"required": ["A"]}, files={".dev.vars": "B=topsecret"})

        assert "topsecret" not in project.warning_text()
