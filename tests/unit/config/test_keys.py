"""The other keys of a wrangler file, with the messages that wrangler 4.164 gave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stepwell.emulator.config import ConfigError, DevConfig, Project, ServiceConfig, load_project

Load = Callable[..., Project]
Texts = Callable[..., list[str]]
Refusal = Callable[..., ConfigError]

PYTHON = {"main": "src/entry.py", "compatibility_flags": ["python_workers"]}


def test_the_plain_keys_are_read(load: Load, tmp_path: Path) -> None:
    config = load(compatibility_flags=["nodejs_compat"], triggers={"crons": ["0 * * * *"]}).config

    assert (config.name, config.main, config.language) == ("w", tmp_path / "src" / "index.js", "javascript")
    assert (config.compatibility_date, config.compatibility_flags) == ("2026-07-01", ("nodejs_compat",))
    assert config.crons == ("0 * * * *",)
    assert config.folder == tmp_path


def test_toml_gives_the_same_as_json(load: Load, tmp_path: Path) -> None:
    workflows = [{"binding": "W", "name": "a", "class_name": "A", "limits": {"steps": 3}}]
    toml = 'name = "w"\nmain = "src/index.js"\ncompatibility_date = "2026-07-01"\n[[workflows]]\nbinding = "W"\n'
    toml += 'name = "a"\nclass_name = "A"\n[workflows.limits]\nsteps = 3\n'
    (tmp_path / "w.toml").write_text(toml)

    from_json = load(workflows=workflows)
    from_toml = load_project(tmp_path, config_file=tmp_path / "w.toml", environ={})

    assert from_toml.config == from_json.config


def test_dates_of_toml_are_refused_where_texts_belong(write_project: Callable[..., Path]) -> None:
    toml = 'name = "w"\nmain = "src/index.js"\ncompatibility_date = 2026-07-01\n[vars]\nDAY = 2025-12-19\n'
    folder = write_project(files={"w.toml": toml})

    with pytest.raises(ConfigError) as caught:
        load_project(folder, config_file=folder / "w.toml", environ={})

    assert [problem.text for problem in caught.value.errors] == [
        'Expected "compatibility_date" to be of type string but got "2026-07-01".',
        'The field "vars.DAY" is a TOML date, which is not supported. '
        'Please use a string instead, e.g. DAY = "2025-12-19".',
    ]
    assert caught.value.errors[0].hint == "Put the date in quotes."


class TestName:
    @pytest.mark.parametrize("name", ["a", "my-worker_2", "0"])
    def test_lower_case_letters_digits_and_dashes_are_a_name(self, load: Load, name: str) -> None:
        assert load(name=name).config.name == name

    @pytest.mark.parametrize(
        ("name", "shown"), [("Bad Name", '"Bad Name"'), ("-a", '"-a"'), (5, "5"), (None, "null")]
    )
    def test_anything_else_is_refused(self, errors: Texts, name: object, shown: str) -> None:
        expected = (
            'Expected "name" to be of type string, alphanumeric and lowercase with dashes only but got '
            + shown
            + "."
        )

        assert errors(name=name) == [expected]

    def test_a_missing_name_is_asked_for(self, errors: Texts) -> None:
        assert errors(name="") == ["You need to provide the name of your worker."]


class TestMain:
    @pytest.mark.parametrize("suffix", [".js", ".mjs", ".ts", ".mts", ".tsx", ".jsx"])
    def test_javascript_is_chosen_by_the_name_of_the_file(self, load: Load, suffix: str) -> None:
        assert load(main=f"a{suffix}", files={f"a{suffix}": ""}).config.language == "javascript"

    def test_python_is_chosen_by_the_name_of_the_file(self, load: Load) -> None:
        assert load(PYTHON).config.language == "python"

    def test_a_missing_entry_is_refused(self, errors: Texts) -> None:
        assert errors(main="") == ["Missing entry-point to Worker script or to assets directory"]

    def test_an_entry_that_is_not_there_is_named(self, errors: Texts) -> None:
        assert errors(main="src/none.js") == ['The entry-point file at "src/none.js" was not found.']

    @pytest.mark.parametrize("main", ["src", "src/index.rb", "src/index.js\0"])
    def test_an_entry_that_is_no_source_file_is_refused(self, errors: Texts, main: str) -> None:
        assert len(errors(main=main)) == 1

    @pytest.mark.parametrize("main", [5, None, ["a.js"]])
    def test_an_entry_that_is_no_text_is_refused(self, errors: Texts, main: object) -> None:
        assert errors(main=main)[0].startswith('Expected "main" to be of type string but got ')

    def test_python_needs_its_flag(self, errors: Texts) -> None:
        assert errors(main="src/entry.py") == ["The `python_workers` compatibility flag is required to use Python."]


class TestCompatibility:
    @pytest.mark.parametrize(
        "date", ["2025-99-01", "2025-02-30", "2025-1-1", "yesterday", "", "2025-01-01T00:00:00Z"]
    )
    def test_a_date_must_be_a_day(self, errors: Texts, date: str) -> None:
        assert errors(compatibility_date=date) == [
            f'"compatibility_date" field should be a valid ISO-8601 date (YYYY-MM-DD), but got "{date}".'
        ]

    def test_dashes_that_are_no_hyphens_are_named(self, errors: Texts) -> None:
        assert errors(compatibility_date="2025–01—01") == [
            '"compatibility_date" field should use ISO-8601 accepted hyphens (-) rather than en-dashes (–) or '
            "em-dashes (—)."
        ]

    def test_a_date_that_is_no_text_is_refused(self, errors: Texts) -> None:
        assert errors(compatibility_date=5) == ['Expected "compatibility_date" to be of type string but got 5.']

    def test_a_missing_date_warns_and_takes_the_newest(self, load: Load) -> None:
        project = load('{"name": "w", "main": "src/index.js"}')

        assert project.config.compatibility_date == "2026-11-17"
        assert 'No "compatibility_date" was specified' in project.warning_text()

    @pytest.mark.parametrize("flags", ["nodejs_compat", [5], None, {}])
    def test_flags_must_be_a_list_of_texts(self, errors: Texts, flags: object) -> None:
        assert errors(compatibility_flags=flags)[0].startswith(
            'Expected "compatibility_flags" to be of type string array but got '
        )

    def test_flags_are_a_set(self, load: Load) -> None:
        project = load(compatibility_flags=["experimental", "nodejs_compat", "nodejs_compat"])

        assert project.config.compatibility_flags == ("experimental", "nodejs_compat")
        assert project.warnings == ()

    def test_unknown_flags_of_a_python_worker_are_one_warning(self, load: Load) -> None:
        flags = ["python_workers", "nodejs_compatt", "x_y", "rpc"]

        (problem,) = load(main="src/entry.py", compatibility_flags=flags).warnings

        text = "Unknown compatibility flags, ignored here and rejected by deployment:"
        assert problem.text == f'{text} "nodejs_compatt", "x_y".'
        assert '"nodejs_compat"' in problem.hint

    def test_unknown_flags_of_a_javascript_worker_are_left_to_its_runtime(self, load: Load) -> None:
        assert load(compatibility_flags=["nodejs_compatt"]).warnings == ()

    def test_a_flag_and_its_opposite_contradict_each_other(self, errors: Texts) -> None:
        assert errors(compatibility_flags=["no_nodejs_compat", "nodejs_compat"]) == [
            "Compatibility flags are mutually contradictory: nodejs_compat vs no_nodejs_compat"
        ]


class TestVars:
    def test_any_json_is_a_variable(self, load: Load) -> None:
        values = {"A": "text", "B": {"c": [1, None]}, "D": 5}

        assert load(vars=values).vars == values

    @pytest.mark.parametrize("value", [5, [], "x", None])
    def test_they_must_be_an_object(self, errors: Texts, value: object) -> None:
        assert errors(vars=value)[0].startswith('The field "vars" should be an object but got ')


class TestTriggers:
    def test_events_do_nothing_here_and_the_warning_says_what_to_do_instead(self, load: Load) -> None:
        target = {"type": "workflow", "workflow_name": "import"}
        event = {"type": "cf.artifacts.repo.pushed", "targets": [target]}

        (problem,) = load(triggers={"events": [event]}).warnings

        assert problem.text.startswith('"triggers.events" does nothing here')
        assert problem.hint == "Create the instances by hand: `stepwell workflows trigger import`"

    @pytest.mark.parametrize("triggers", [None, {}, {"crons": None}, {"crons": []}])
    def test_there_may_be_none(self, load: Load, triggers: object) -> None:
        assert load(triggers=triggers).config.crons == ()

    def test_a_bad_cron_is_refused_with_its_field(self, errors: Texts) -> None:
        (message,) = errors(triggers={"crons": ["* * * *"]})

        assert message.startswith('"triggers.crons" has a bad cron expression "* * * *": expected five fields')

    @pytest.mark.parametrize(
        ("triggers", "message"),
        [
            (5, 'Expected "triggers" to be of type object but got 5.'),
            (
                {"crons": "* * * * *"},
                'Expected "triggers.crons" to be of type array, but got {"crons":"* * * * *"}.',
            ),
            ({"crons": [5]}, 'Expected "triggers.crons" to be of type string array but got [5].'),
        ],
    )
    def test_another_shape_is_refused(self, errors: Texts, triggers: object, message: str) -> None:
        assert errors(triggers=triggers) == [message]


class TestDev:
    def test_address_and_ports_are_read(self, load: Load) -> None:
        dev = {"ip": "0.0.0.0", "port": 3000, "inspector_port": 9230}

        assert load(dev=dev).config.dev == DevConfig(ip="0.0.0.0", port=3000, inspector_port=9230)

    @pytest.mark.parametrize(
        ("dev", "message"),
        [
            ([], 'The field "dev" should be an object but got [].'),
            ({"port": "x"}, 'Expected "dev.port" to be of type number but got "x".'),
            ({"port": True}, 'Expected "dev.port" to be of type number but got true.'),
            ({"port": 65_536}, 'Expected "dev.port" to be a port number from 0 to 65535 but got 65536.'),
            ({"port": 1.5}, 'Expected "dev.port" to be a port number from 0 to 65535 but got 1.5.'),
            ({"ip": 5}, 'Expected "dev.ip" to be of type string but got 5.'),
            (
                {"local_protocol": "x"},
                'Expected "dev.local_protocol" field to be one of ["http","https"] but got "x".',
            ),
        ],
    )
    def test_another_shape_is_refused(self, errors: Texts, dev: object, message: str) -> None:
        assert errors(dev=dev) == [message]

    def test_https_warns_since_only_http_is_served(self, warnings: Texts) -> None:
        assert warnings(dev={"local_protocol": "https"}) == [
            '"dev.local_protocol" is "https", but Stepwell serves HTTP only.'
        ]


class TestOtherBindings:
    def test_services_are_read(self, load: Load) -> None:
        services = [{"binding": "A", "service": "a"}, {"binding": "B", "service": "b", "entrypoint": "E"}]

        assert load(services=services).config.services == (ServiceConfig("A", "a"), ServiceConfig("B", "b", "E"))

    def test_the_rest_is_handed_on_as_it_is_by_kind(self, load: Load) -> None:
        bindings = {
            "kv_namespaces": [{"binding": "KV", "id": "x"}],
            "durable_objects": {"bindings": [{"name": "DO", "class_name": "D", "script_name": "o"}]},
            "queues": {"producers": [{"binding": "Q", "queue": "q"}]},
            "ai": {"binding": "AI"},
            "assets": {"directory": "dist"},
        }

        config = load(bindings, d1_databases=[]).config

        assert config.bindings == bindings
        assert config.raw["d1_databases"] == []

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({"kv_namespaces": 5}, 'The field "kv_namespaces" should be an array but got 5.'),
            ({"kv_namespaces": [5]}, '"kv_namespaces" bindings should be objects, but got 5'),
            ({"d1_databases": [{}]}, '"d1_databases[0]" bindings should have a string "binding" field but got {}.'),
            ({"queues": []}, 'The field "queues" should be an object but got [].'),
            ({"queues": {"producers": 5}}, 'The field "queues.producers" should be an array but got 5.'),
            (
                {"durable_objects": {"bindings": {}}},
                'The field "durable_objects.bindings" should be an array but got {}.',
            ),
            ({"ai": {}}, '"ai" binding should have a string "binding" field.'),
            ({"ai": "AI"}, 'The field "ai" should be an object but got "AI".'),
            (
                {"services": [{"binding": "S"}]},
                '"services[0]" bindings should have a string "service" field but got {"binding":"S"}.',
            ),
        ],
    )
    def test_another_shape_is_refused(self, errors: Texts, config: dict[str, object], message: str) -> None:
        assert errors(config) == [message]


class TestUnexpectedKeys:
    def test_they_warn_together_and_the_rest_goes_on(self, load: Load) -> None:
        (problem,) = load(bogus=1, other=2, workflow=[]).warnings

        assert problem.text == 'Unexpected fields found in top-level field: "bogus","other","workflow"'
        assert problem.hint == 'Did you mean "workflows"?'

    def test_keys_that_do_not_matter_here_do_not_warn(self, warnings: Texts) -> None:
        known = {
            "$schema": "x",
            "observability": {"enabled": True},
            "routes": [],
            "account_id": "x",
            "placement": {},
        }

        assert warnings(known, minify=True, rules=[], migrations=[], site={"bucket": "x"}, logpush=True) == []

    @pytest.mark.parametrize("key", ["legacy_env", "node_compat"])
    def test_removed_keys_are_refused(self, errors: Texts, key: str) -> None:
        assert errors({key: True})[0].startswith(f'The "{key}" field is no longer supported')


class TestPythonWorkers:
    def test_a_date_before_python_workflows_warns(self, load: Load) -> None:
        project = load(
            PYTHON, compatibility_date="2025-06-01", workflows=[{"binding": "W", "name": "a", "class_name": "A"}]
        )

        assert "python_workflows" in project.warning_text()

    def test_a_later_date_needs_no_flag_of_its_own(self, load: Load) -> None:
        assert load(PYTHON, workflows=[{"binding": "W", "name": "a", "class_name": "A"}]).warnings == ()

    def test_without_workflows_there_is_nothing_to_warn_of(self, load: Load) -> None:
        assert load(PYTHON, compatibility_date="2025-06-01").warnings == ()
