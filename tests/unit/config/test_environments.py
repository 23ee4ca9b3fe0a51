"""Named environments: the choice, what is inherited, and wrangler's warnings about the rest."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from stepwell.emulator.config import ConfigError, Project

Load = Callable[..., Project]
Texts = Callable[..., list[str]]

WORKFLOW = {"binding": "WF", "name": "a", "class_name": "A"}


def test_without_a_choice_the_top_level_counts(load: Load) -> None:
    config = load(vars={"A": 1}, env={"st": {"vars": {"A": 2}}}).config

    assert (config.name, config.environment, config.vars) == ("w", None, {"A": 1})


def test_an_environment_is_chosen_by_name(load: Load) -> None:
    config = load(env={"st": {"vars": {"A": 2}}}, env_name="st").config

    assert (config.name, config.environment, config.vars) == ("w-st", "st", {"A": 2})


def test_the_variable_chooses_where_no_name_is_given(load: Load) -> None:
    assert load(env={"st": {}}, environ={"CLOUDFLARE_ENV": "st"}).config.environment == "st"


def test_a_given_name_weighs_more_than_the_variable(load: Load) -> None:
    assert (
        load(env={"st": {}, "pr": {}}, env_name="pr", environ={"CLOUDFLARE_ENV": "st"}).config.environment == "pr"
    )


def test_an_empty_name_means_the_top_level(load: Load) -> None:
    assert load(env={"st": {}}, env_name="", environ={"CLOUDFLARE_ENV": "st"}).config.environment is None


def test_an_environment_may_have_a_name_of_its_own(load: Load) -> None:
    assert load(env={"st": {"name": "other"}}, env_name="st").config.name == "other"


def test_what_is_inherited_can_be_overridden(load: Load) -> None:
    top = {"compatibility_flags": ["nodejs_compat"], "triggers": {"crons": ["0 * * * *"]}}
    environments = {"st": {"compatibility_date": "2025-01-01", "triggers": {"crons": ["1 * * * *"]}}}

    config = load(top, env=environments, env_name="st").config

    assert config.compatibility_date == "2025-01-01"
    assert config.compatibility_flags == ("nodejs_compat",)
    assert config.crons == ("1 * * * *",)


def test_exports_are_inherited(load: Load) -> None:
    exports = {"A": {"type": "workflow", "name": "a"}}

    assert load(exports=exports, env={"st": {}}, env_name="st").config.workflows[0].name == "a"


def test_workflows_are_not_inherited_and_the_warning_says_so(load: Load) -> None:
    project = load(workflows=[WORKFLOW], env={"st": {}}, env_name="st")

    assert project.config.workflows == ()
    assert [problem.text for problem in project.warnings] == [
        '"workflows" exists at the top level, but not on "env.st".\n'
        'This is not what you probably want, since "workflows" is not inherited by environments.\n'
        'Please add "workflows" to "env.st".'
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vars", {"A": 1}),
        ("kv_namespaces", [{"binding": "K"}]),
        ("services", [{"binding": "S", "service": "s"}]),
        ("durable_objects", {"bindings": []}),
        ("ai", {"binding": "AI"}),
        ("secrets", {"required": ["A"]}),
    ],
)
def test_other_bindings_are_not_inherited_either(load: Load, key: str, value: object) -> None:
    project = load({key: value}, env={"st": {}}, env_name="st")

    assert key not in project.config.raw
    assert project.warnings[0].text.startswith(f'"{key}" exists at the top level, but not on "env.st".')


def test_assets_are_inherited(load: Load) -> None:
    assert "assets" in load(assets={"directory": "dist"}, env={"st": {}}, env_name="st").config.bindings


def test_single_bindings_that_an_environment_lacks_warn(warnings: Texts) -> None:
    own = {"workflows": [{**WORKFLOW, "binding": "OTHER"}]}

    assert warnings(workflows=[WORKFLOW], env={"st": own}, env_name="st") == [
        'There is a workflows binding with name "WF" at the top level, but not on "env.st".\n'
        'This is not what you probably want, since "workflows" configuration is not inherited by environments.\n'
        'Please add a binding for "WF" to "env.st.workflows.bindings".'
    ]


def test_single_variables_that_an_environment_lacks_warn(warnings: Texts) -> None:
    assert warnings(vars={"A": 1, "B": 2, "C": 3}, env={"st": {"vars": {"A": 1}}}, env_name="st") == [
        'The following vars exist at the top level, but not on "env.st.vars".\n'
        'This is probably not what you want, since "vars" configuration is not inherited by environments.\n'
        'Please add these vars to "env.st.vars":\n- B\n- C'
    ]


def test_single_durable_objects_that_an_environment_lacks_warn(warnings: Texts) -> None:
    top = {"bindings": [{"name": "DO", "class_name": "D", "script_name": "o"}]}

    (text,) = warnings(durable_objects=top, env={"st": {"durable_objects": {"bindings": []}}}, env_name="st")

    assert text.startswith('The following bindings are at the top level, but not on "env.st".')
    assert text.endswith("- DO")


def test_no_warning_without_a_choice(load: Load) -> None:
    assert load(workflows=[WORKFLOW], env={"st": {}}).warnings == ()


def test_an_unknown_environment_is_refused_with_the_names_there_are(refusal: Callable[..., ConfigError]) -> None:
    (problem,) = refusal(env={"staging": {}, "production": {}}, env_name="stagin").errors

    assert problem.text.startswith(
        'No environment found in configuration with name "stagin".\n'
        "Before using `--env=stagin` there should be an equivalent environment section in the configuration.\n"
        'The available configured environment names are: ["staging","production"]\n'
    )
    assert '```\n"env": { "stagin": {} }\n```' in problem.text
    assert problem.hint == 'Did you mean "staging"?'


def test_where_there_are_no_environments_an_unknown_one_only_warns(load: Load) -> None:
    project = load(workflows=[WORKFLOW], env_name="st")

    assert project.config.name == "w-st"
    assert project.config.workflows[0].name == "a"
    assert project.warnings[0].text.startswith('No environment found in configuration with name "st".')


def test_what_is_wrong_in_an_environment_is_listed_under_its_name(refusal: Callable[..., ConfigError]) -> None:
    error = refusal(env={"st": {"workflows": [{**WORKFLOW, "name": "b b"}], "foo": 1}}, env_name="st")

    lines = str(error).split("\n")
    assert lines[:2] == ["Processing wrangler.jsonc configuration:", '- "env.st" environment configuration']
    assert lines[2].startswith('  - "env.st.workflows[0]" binding "name" field is invalid. ')
    assert [problem.text for problem in error.warnings] == ['Unexpected fields found in env.st field: "foo"']


def test_the_top_level_is_checked_as_well(errors: Texts) -> None:
    assert len(errors(workflows=[5], env={"st": {"workflows": [6]}}, env_name="st")) == 2


def test_an_environment_that_is_not_chosen_is_not_checked(load: Load) -> None:
    assert load(env={"st": {"workflows": 5}, "pr": {}}, env_name="pr").config.environment == "pr"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, 'The field "env" should be an object but got 5.'),
        ([], 'The field "env" should be an object but got [].'),
        ({"st": 5}, 'The field "env.st" should be an object but got 5.'),
    ],
)
def test_environments_of_another_shape_are_refused(errors: Texts, value: object, message: str) -> None:
    assert errors(env=value) == [message]


class TestRedirected:
    """A configuration that a build tool wrote holds the environment that was built for."""

    def built(self, **keys: object) -> dict[str, str]:
        config = {"name": "built-st", "main": "index.js", "compatibility_date": "2026-07-01", **keys}
        return {
            ".wrangler/deploy/config.json": '{"configPath": "../../dist/wrangler.json"}',
            "dist/index.js": "",
            "dist/wrangler.json": json.dumps(config),
        }

    def test_it_is_read_as_it_is(self, load: Load) -> None:
        project = load(files=self.built(targetEnvironment="st", topLevelName="built", definedEnvironments=["st"]))

        assert (project.config.name, project.config.environment) == ("built-st", "st")
        assert project.warnings == ()
        assert project.folder != project.config.folder

    def test_another_environment_than_the_built_one_is_refused(self, errors: Texts) -> None:
        (message,) = errors(files=self.built(targetEnvironment="st"), env_name="pr")

        assert message.startswith('You have specified the environment "pr".\nThis does not match')

    def test_environments_in_it_are_refused(self, errors: Texts) -> None:
        assert errors(files=self.built(env={"st": {}})) == [
            "Redirected configurations cannot include environments."
        ]
