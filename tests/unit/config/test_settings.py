"""Stepwell's own settings: where each comes from, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from stepwell.emulator import switches
from stepwell.emulator.config import ConfigError, Settings, open_project
from stepwell.emulator.config.setting_table import TABLE

Open = Callable[..., Settings]

FLOW = {"binding": "FLOW", "name": "my-flow", "class_name": "Flow"}


@pytest.fixture
def settings(write_project: Callable[..., Path]) -> Open:
    """The settings of the minimal project with the given flags, variables, files and wrangler keys."""

    def settings(
        flags: Mapping[str, object] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
        **config: object,
    ) -> Settings:
        return open_project(write_project(files=files, **config), flags, environ=environ or {}).settings

    return settings


@pytest.fixture
def refusal(settings: Open) -> Callable[..., str]:
    def refusal(*args: Any, **kwargs: Any) -> str:
        with pytest.raises(ConfigError) as caught:
            settings(*args, **kwargs)
        return str(caught.value)

    return refusal


class TestTable:
    def test_every_setting_is_a_field_and_every_field_a_setting(self) -> None:
        in_table = {row.name for row in TABLE}
        plain = {field.name for field in fields(Settings)} - {"compat", "project", "config_file"}

        assert in_table == plain | {"config"} | {f"compat.{name}" for name in (row.name for row in switches.TABLE)}

    def test_the_defaults_of_the_table_are_those_of_the_record(self, settings: Open, tmp_path: Path) -> None:
        expected = {row.name: row.default for row in TABLE if "." not in row.name}
        found = settings()

        assert {name: getattr(found, name) for name in expected if name not in ("config", "persist_to")} == {
            name: value for name, value in expected.items() if name not in ("config", "persist_to")
        }
        assert found.compat == switches.Switches()

    @pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
    def test_every_row_explains_itself_in_one_sentence(self, row: Any) -> None:
        assert row.help[0].isupper() or row.help.startswith(("resume()", "status()"))
        assert row.help.endswith(".")
        assert row.variable.startswith("STEPWELL_")

    def test_no_two_settings_share_a_variable(self) -> None:
        assert len({row.variable for row in TABLE}) == len(TABLE)


class TestOrder:
    FILE = "port = 3"
    DEV: Mapping[str, object] = {"port": 4, "ip": "0.0.0.0"}

    def test_a_flag_weighs_most(self, settings: Open) -> None:
        found = settings(
            {"port": "1"}, environ={"STEPWELL_PORT": "2"}, files={"stepwell.toml": self.FILE}, dev=self.DEV
        )

        assert found.port == 1

    def test_then_a_variable(self, settings: Open) -> None:
        found = settings(environ={"STEPWELL_PORT": "2"}, files={"stepwell.toml": self.FILE}, dev=self.DEV)

        assert found.port == 2

    def test_then_our_file(self, settings: Open) -> None:
        assert settings(files={"stepwell.toml": self.FILE}, dev=self.DEV).port == 3

    def test_then_the_wrangler_file(self, settings: Open) -> None:
        found = settings(dev=self.DEV)

        assert (found.port, found.host) == (4, "0.0.0.0")

    def test_then_the_default(self, settings: Open) -> None:
        found = settings()

        assert (found.port, found.host) == (8787, "127.0.0.1")

    def test_a_flag_that_was_not_given_hides_nothing(self, settings: Open) -> None:
        assert settings({"port": None, "compat": ()}, environ={"STEPWELL_PORT": "2"}).port == 2

    def test_an_empty_variable_counts_as_not_set(self, settings: Open) -> None:
        assert settings(environ={"STEPWELL_PORT": ""}).port == 8787


class TestFiles:
    def test_pyproject_has_a_section(self, settings: Open) -> None:
        assert settings(files={"pyproject.toml": "[tool.stepwell]\nport = 5\n"}).port == 5

    def test_stepwell_toml_comes_before_pyproject(self, settings: Open) -> None:
        files = {"pyproject.toml": "[tool.stepwell]\nport = 5\n", "stepwell.toml": "port = 6"}

        assert settings(files=files).port == 6

    def test_names_may_have_dashes(self, settings: Open) -> None:
        text = 'limits-profile = "free"\nenforce-retention = true\n[compat]\nreject-cycles = true\n'

        found = settings(files={"stepwell.toml": text})

        assert (found.limits_profile, found.enforce_retention, found.compat.reject_cycles) == ("free", True, True)

    def test_a_pyproject_of_others_is_left_alone(self, settings: Open) -> None:
        assert settings(files={"pyproject.toml": "this is = no TOML"}).port == 8787

    def test_a_broken_file_is_refused_with_its_place(self, refusal: Callable[..., str]) -> None:
        assert "- stepwell.toml:1:8: " in refusal(files={"stepwell.toml": "port = ="})

    @pytest.mark.parametrize("text", ["[tool]\nstepwell = 5", "[tool.stepwell]\nports = 5"])
    def test_a_section_of_another_shape_is_refused(self, refusal: Callable[..., str], text: str) -> None:
        assert "stepwell" in refusal(files={"pyproject.toml": text})

    def test_the_configuration_file_cannot_be_chosen_in_a_file_beside_it(self, refusal: Callable[..., str]) -> None:
        assert '"config" can\'t be set in stepwell.toml. Use --config.' in refusal(
            files={"stepwell.toml": 'config = "x.toml"'}
        )


class TestPaths:
    def test_the_state_lies_in_the_project(self, settings: Open, tmp_path: Path) -> None:
        found = settings()

        assert found.persist_to == tmp_path / ".stepwell"
        assert found.project == tmp_path
        assert found.config_file == tmp_path / "wrangler.jsonc"

    def test_a_relative_flag_counts_from_the_current_folder(self, settings: Open) -> None:
        assert settings({"persist_to": "state"}).persist_to == Path(os.getcwd()) / "state"

    def test_a_relative_path_in_a_file_counts_from_the_file(self, settings: Open, tmp_path: Path) -> None:
        assert settings(files={"stepwell.toml": 'persist_to = "state"'}).persist_to == tmp_path / "state"

    def test_a_configuration_file_can_be_given(self, settings: Open, tmp_path: Path) -> None:
        other = tmp_path / "other.jsonc"
        other.write_text('{"name": "o", "main": "src/index.js", "compatibility_date": "2026-07-01"}')

        assert settings({"config": str(other)}).config_file == other
        assert settings(environ={"STEPWELL_CONFIG": str(other)}).config_file == other


class TestEnvironmentName:
    def test_ours_weighs_more_than_cloudflares(self, settings: Open) -> None:
        environ = {"STEPWELL_ENV": "st", "CLOUDFLARE_ENV": "pr"}

        assert settings(environ=environ, env={"st": {}, "pr": {}}).env == "st"

    def test_cloudflares_counts_where_ours_is_missing(self, settings: Open) -> None:
        assert settings(environ={"CLOUDFLARE_ENV": "pr"}, env={"pr": {}}).env == "pr"

    def test_an_empty_flag_means_no_environment(self, settings: Open) -> None:
        assert settings({"env": ""}, environ={"CLOUDFLARE_ENV": "pr"}, env={"pr": {}}).env is None


class TestValues:
    @pytest.mark.parametrize("value", ["on", "true", "YES", "1", True])
    def test_a_switch_has_several_words_for_on(self, settings: Open, value: object) -> None:
        assert settings({"enforce_retention": value}).enforce_retention is True

    @pytest.mark.parametrize("value", ["off", "False", "no", "0", False])
    def test_and_for_off(self, settings: Open, value: object) -> None:
        assert settings({"reload": value}).reload is False

    def test_a_choice_of_on_and_off_takes_a_boolean_too(self, settings: Open) -> None:
        text = "[compat]\npreserve_non_retryable = true"

        assert settings(files={"stepwell.toml": text}).compat.preserve_non_retryable == "on"

    def test_compat_switches_are_given_as_pairs(self, settings: Open) -> None:
        compat = settings({"compat": ("waiting-status=off", "default_retry_delay=1000")}).compat

        assert (compat.waiting_status, compat.default_retry_delay) == (False, 1000)

    def test_compat_switches_have_variables_of_their_own(self, settings: Open) -> None:
        assert (
            settings(environ={"STEPWELL_COMPAT_DURATION_GRAMMAR": "lenient"}).compat.duration_grammar == "lenient"
        )

    @pytest.mark.parametrize(
        "given",
        ["steps=5,payload-bytes=off", ("steps=5", "payload_bytes=none"), {"steps": 5, "payload_bytes": None}],
    )
    def test_limits_are_given_as_pairs_or_as_a_table(self, settings: Open, given: object) -> None:
        assert settings({"limits": given}).limits == {"steps": 5, "payload_bytes": None}

    def test_limits_have_a_table_in_the_file(self, settings: Open) -> None:
        text = '[limits]\nsteps = 7\nretry_backoff = "linear"'

        assert settings(files={"stepwell.toml": text}).limits == {"steps": 7, "retry_backoff": "linear"}

    @pytest.mark.parametrize(
        ("given", "text"),
        [("my-flow.payload-bytes=off", None), (None, '[limits.my-flow]\npayload-bytes = "off"')],
    )
    def test_limits_of_one_workflow_stand_behind_its_name(
        self, settings: Open, given: str | None, text: str | None
    ) -> None:
        flags = {"limits": given} if given is not None else {}
        files = {"stepwell.toml": text} if text is not None else {}

        assert settings(flags, files=files, workflows=[FLOW]).limits == {"my-flow.payload_bytes": None}

    def test_limits_of_a_workflow_that_is_not_there_are_refused(self, refusal: Callable[..., str]) -> None:
        text = refusal({"limits": "my-flwo.steps=5"}, workflows=[FLOW])

        assert '[limits.my-flwo]: this project has no Workflow "my-flwo" (Workflows: my-flow).' in text

    def test_schedules_are_part_of_the_paid_plan(self, refusal: Callable[..., str]) -> None:
        text = refusal({"limits_profile": "free"}, workflows=[{**FLOW, "schedules": "* * * * *"}])

        assert "The Workflows have 1 cron expressions in total; the limit schedules_max is 0." in text
        assert 'set limits_profile = "paid"' in text

    def test_schedules_of_all_workflows_together_have_a_limit(self, refusal: Callable[..., str]) -> None:
        other = {**FLOW, "binding": "OTHER", "name": "other", "class_name": "Other"}
        workflows = [{**one, "schedules": [f"{n} * * * *" for n in range(51)]} for one in (FLOW, other)]

        assert "102 cron expressions in total; the limit schedules_max is 100." in refusal(workflows=workflows)

    @pytest.mark.parametrize(("limits", "what"), [("workflow_name_length=6", "name"), ("cron_length=8", "cron")])
    def test_names_and_expressions_have_a_longest(
        self, refusal: Callable[..., str], limits: str, what: str
    ) -> None:
        text = refusal({"limits": limits}, workflows=[{**FLOW, "schedules": "* * * * *"}])

        assert what in text
        assert f"the limit {limits.replace('=', ' is ')}." in text

    def test_port_zero_takes_a_free_one(self, settings: Open) -> None:
        assert settings({"port": "0"}).port == 0

    def test_nothing_can_be_changed_later(self, settings: Open) -> None:
        found = settings()

        with pytest.raises(FrozenInstanceError):
            found.port = 1  # type: ignore[misc]

    def test_the_token_is_not_shown(self, settings: Open) -> None:
        found = settings({"token": "topsecret"})

        assert found.token == "topsecret"
        assert "topsecret" not in repr(found)


class TestRefusals:
    @pytest.mark.parametrize(
        ("flags", "line"),
        [
            ({"port": "x"}, '- --port is "x"; expected a port number from 0 to 65535.'),
            ({"port": "70000"}, '- --port is "70000"; expected a port number from 0 to 65535.'),
            ({"port": "٣"}, '- --port is "٣"; expected a port number from 0 to 65535.'),
            ({"port": True}, "- --port is true; expected a port number from 0 to 65535."),
            ({"host": ""}, '- --host is ""; expected a text.'),
            ({"reload": "maybe"}, '- --reload is "maybe"; expected on or off.'),
            ({"replay": "never"}, '- --replay is "never"; expected auto or always.'),
            ({"limits_profile": "pro"}, '- --limits-profile is "pro"; expected paid, free or off.'),
            ({"limits": "steps"}, '- --limits is "steps"; expected NAME=VALUE, more of them separated by commas.'),
            ({"limits": 5}, "- --limits is 5; expected NAME=VALUE, more of them separated by commas."),
            ({"compat": ["reject_cycles=5"]}, '- --compat reject_cycles=VALUE is "5"; expected on or off.'),
            ({"compat": "reject_cycles"}, '- "compat" in the command line is ["reject_cycles"]; expected switches'),
            ({"prot": 1}, '- Unknown setting "prot" (in the command line).\n  Did you mean "port"?'),
            ({"limits": "stepz=5"}, '- Unknown limit "stepz".'),
            ({"limits": "steps=-1"}, '- Limit "steps" is '),
        ],
    )
    def test_a_value_that_will_not_do_is_named_with_what_is_expected(
        self, refusal: Callable[..., str], flags: Mapping[str, object], line: str
    ) -> None:
        assert line in refusal(flags)

    def test_a_variable_is_named_as_such(self, refusal: Callable[..., str]) -> None:
        assert '- STEPWELL_PORT is "x"; expected' in refusal(environ={"STEPWELL_PORT": "x"})

    def test_a_switch_that_is_near_to_none_gets_the_list(self, refusal: Callable[..., str]) -> None:
        text = refusal({"compat": ["x=1"]})

        assert 'Unknown setting "compat.x"' in text
        assert "Switches: default_retry_delay, waiting_status, " in text

    def test_a_variable_that_is_none_of_ours_is_warned_of(self, write_project: Callable[..., Path]) -> None:
        opened = open_project(write_project(), environ={"STEPWELL_PROT": "1", "OTHER": "2"})

        assert [str(warning) for warning in opened.project.warnings] == [
            "Unknown environment variable STEPWELL_PROT; ignored.\nDid you mean STEPWELL_PORT?"
        ]

    def test_a_file_is_named_as_such(self, refusal: Callable[..., str]) -> None:
        files = {"pyproject.toml": '[tool.stepwell]\nport = "x"'}

        assert '- tool.stepwell.port in pyproject.toml is "x"; expected' in refusal(files=files)

    def test_all_of_them_are_named_at_once(self, refusal: Callable[..., str]) -> None:
        text = refusal(
            {"prot": 1, "replay": "x"}, environ={"STEPWELL_PORT": "y"}, files={"stepwell.toml": "bogus = 1"}
        )

        assert text.count("\n- ") == 4

    def test_the_token_is_not_shown(self, refusal: Callable[..., str]) -> None:
        assert "topsecret" not in refusal({"token": "topsecret\0"})
