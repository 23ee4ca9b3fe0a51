"""`workflows` and the Workflows of `exports`, with the messages that wrangler 4.164 gave for the same entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stepwell.emulator.config import ConfigError, Project, WorkflowConfig

WORKFLOW = {"binding": "WF", "name": "orders", "class_name": "Orders"}
Load = Callable[..., Project]
Texts = Callable[..., list[str]]

F = '"workflows[0]" bindings'
NAME_FORMAT = (
    '"workflows[0]" binding "name" field is invalid. Workflow names must be 1-64 characters long, start with a '
    "letter, number, or underscore, and may only contain letters, numbers, underscores, or hyphens."
)
RETENTION = 'field must be a positive integer of milliseconds or a duration string such as "3 days", but got'


def entry(**keys: object) -> dict[str, object]:
    """A good entry with some keys changed; a key set to ... is left out."""
    return {key: value for key, value in {**WORKFLOW, **keys}.items() if value is not ...}


def test_a_full_entry_is_read(load: Load) -> None:
    full = entry(
        limits={"steps": 3},
        concurrency={"limit": 2},
        schedules=["*/5 * * * *", "0 9 * * MON"],
        default_retention={"success_retention": "3 days", "error_retention": 1000},
        jurisdiction="eu",
    )

    project = load(workflows=[full])

    assert project.warnings == ()
    assert project.config.workflows == (
        WorkflowConfig(
            binding="WF",
            name="orders",
            class_name="Orders",
            steps_limit=3,
            concurrency_limit=2,
            schedules=("*/5 * * * *", "0 9 * * MON"),
            success_retention_ms=3 * 86_400_000,
            error_retention_ms=1000,
            jurisdiction="eu",
        ),
    )


def test_a_plain_entry_leaves_the_settings_open(load: Load) -> None:
    assert load(workflows=[WORKFLOW]).config.workflows == (WorkflowConfig("WF", "orders", "Orders"),)


def test_a_binding_need_not_be_an_identifier(load: Load) -> None:
    assert load(workflows=[entry(binding="W-F")]).config.workflows[0].binding == "W-F"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, '"workflows" bindings should be objects, but got 5'),
        (None, '"workflows" bindings should be objects, but got null'),
        ("x", '"workflows" bindings should be objects, but got "x"'),
        (entry(name="a b"), NAME_FORMAT),
        (entry(name=""), NAME_FORMAT),
        (entry(name="-a"), NAME_FORMAT),
        (entry(name="a" * 65), NAME_FORMAT),
        (entry(name="é"), NAME_FORMAT),
        (entry(name="a\n"), NAME_FORMAT),
        (entry(limits={"steps": 0}), f'{F} "limits.steps" field must be a positive integer but got 0.'),
        (entry(limits={"steps": 1.5}), f'{F} "limits.steps" field must be a positive integer but got 1.5.'),
        (entry(limits={"steps": True}), f'{F} "limits.steps" field must be a positive integer but got true.'),
        (entry(limits={"steps": "3"}), f'{F} "limits.steps" field must be a positive integer but got "3".'),
        (entry(limits={"steps": None}), f'{F} "limits.steps" field must be a positive integer but got null.'),
        (entry(concurrency={"limit": -1}), f'{F} "concurrency.limit" field must be a positive integer but got -1.'),
        (entry(schedules=""), f'{F} "schedules" field must not be an empty string.'),
        (entry(schedules=[]), f'{F} "schedules" field must not be an empty array.'),
        (entry(schedules=["* * * * *", ""]), f'{F} "schedules" field must not contain empty strings.'),
        (
            entry(jurisdiction="xx"),
            f'{F} "jurisdiction" field must be one of "eu", "fedramp", or "us", but got "xx".',
        ),
        (entry(jurisdiction=3), f'{F} "jurisdiction" field must be one of "eu", "fedramp", or "us", but got 3.'),
        (
            entry(default_retention={"success_retention": ""}),
            f'{F} "default_retention.success_retention" {RETENTION} "".',
        ),
        (
            entry(default_retention={"error_retention": 0}),
            f'{F} "default_retention.error_retention" {RETENTION} 0.',
        ),
    ],
)
def test_a_bad_entry_is_refused_in_wranglers_words(errors: Texts, value: object, message: str) -> None:
    assert errors(workflows=[value]) == [message]


@pytest.mark.parametrize("key", ["binding", "name", "class_name"])
@pytest.mark.parametrize("value", [..., None, 5, []])
def test_the_three_names_must_be_texts(errors: Texts, key: str, value: object) -> None:
    (message,) = errors(workflows=[entry(**{key: value})])

    assert message.startswith(f'{F} should have a string "{key}" field but got {{"')


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("script_name", 4, 'a string "script_name"'),
        ("limits", 5, 'an object "limits"'),
        ("limits", [], 'an object "limits"'),
        ("limits", None, 'an object "limits"'),
        ("concurrency", "x", 'an object "concurrency"'),
        ("default_retention", 3, 'an object "default_retention"'),
        ("schedules", 3, 'a string or array of strings "schedules"'),
        ("schedules", [3], 'a string or array of strings "schedules"'),
    ],
)
def test_a_setting_of_the_wrong_type_shows_the_entry(errors: Texts, key: str, value: object, what: str) -> None:
    (message,) = errors(workflows=[entry(**{key: value})])

    assert message.startswith(
        f'{F} should, optionally, have {what} field but got {{"binding":"WF","name":"orders",'
    )


@pytest.mark.parametrize("value", [{"a": 1}, "x", 5, None])
def test_workflows_must_be_a_list(errors: Texts, value: object) -> None:
    assert errors(workflows=value)[0].startswith('The field "workflows" should be an array but got ')


def test_all_that_is_wrong_is_reported_at_once(errors: Texts) -> None:
    assert len(errors(workflows=[entry(name="a b", limits={"steps": 0}), 5, {"name": "c"}], name="Bad Name")) == 6


@pytest.mark.parametrize("text", ["nonsense", "3 dayz", "0 days", "-1 day", "3 Days"])
def test_a_retention_that_is_no_duration_is_refused_although_wrangler_lets_it_pass(
    errors: Texts, text: str
) -> None:
    (message,) = errors(workflows=[entry(default_retention={"success_retention": text})])

    assert message == f'{F} "default_retention.success_retention" {RETENTION} "{text}".'


def test_a_step_limit_above_that_of_production_only_warns(load: Load) -> None:
    project = load(workflows=[entry(limits={"steps": 30_000})])

    assert project.config.workflows[0].steps_limit == 30_000
    assert [problem.text for problem in project.warnings] == [
        '"workflows[0]" has a step limit of 30000, which exceeds the production maximum of 25,000. '
        "This configuration may not work when deployed."
    ]


def test_a_whole_number_may_be_written_with_a_fraction(load: Load) -> None:
    assert load(workflows=[entry(limits={"steps": 3.0})]).config.workflows[0].steps_limit == 3


def test_unknown_keys_of_an_entry_warn_where_they_stand(warnings: Texts) -> None:
    odd = entry(remote=True, limits={"steps": 1, "x": 1}, concurrency={"y": 1}, default_retention={"z": 1})

    assert warnings(workflows=[odd]) == [
        'Unexpected fields found in workflows[0].limits field: "x"',
        'Unexpected fields found in workflows[0].default_retention field: "z"',
        'Unexpected fields found in workflows[0].concurrency field: "y"',
        'Unexpected fields found in workflows[0] field: "remote"',
    ]


def test_a_misspelt_key_gets_a_suggestion(load: Load) -> None:
    (problem,) = load(workflows=[entry(concurency={"limit": 1})]).warnings

    assert problem.hint == 'Did you mean "concurrency"?'


class TestSchedules:
    def test_one_cron_text_or_a_list_is_accepted(self, load: Load) -> None:
        one, many = entry(schedules="*/5 * * * *"), entry(binding="B", name="b", schedules=["0 9 * * 1"])

        workflows = load(workflows=[one, many]).config.workflows

        assert [workflow.schedules for workflow in workflows] == [("*/5 * * * *",), ("0 9 * * 1",)]

    def test_a_bad_cron_is_refused_with_its_field(self, errors: Texts) -> None:
        (message,) = errors(workflows=[entry(schedules=["* * * * *", "61 * * * *"])])

        assert message.startswith(f'{F} "schedules" field has a bad cron expression "61 * * * *": Bad minute')

    def test_the_old_key_is_refused_with_the_name_of_the_new_one(self, refusal: Callable[..., ConfigError]) -> None:
        (problem,) = refusal(workflows=[entry(schedule="*/5 * * * *")]).errors

        assert problem.text == f'{F} "schedule" field is now called "schedules".'
        assert '"schedules": "*/5 * * * *"' in problem.hint


class TestUniqueNames:
    def test_two_workflows_of_one_name_are_refused(self, errors: Texts) -> None:
        twice = [entry(), entry(binding="W2", class_name="Other")]

        assert errors(workflows=twice) == [
            '"workflows" bindings must have unique "name" values; duplicate(s) found: "orders"'
        ]

    def test_every_name_that_is_taken_twice_is_listed(self, errors: Texts) -> None:
        names = ["a", "b", "c", "a", "b"]
        entries = [entry(binding=f"W{index}", name=name) for index, name in enumerate(names)]

        assert errors(workflows=entries)[0].endswith('duplicate(s) found: "a", "b"')

    def test_the_same_name_in_another_worker_is_accepted_with_a_warning(self, load: Load) -> None:
        project = load(workflows=[entry(), entry(binding="W2", script_name="other")])

        assert [workflow.script_name for workflow in project.config.workflows] == [None, "other"]
        (problem,) = project.warnings
        assert "duplicate(s) found" in problem.text
        assert '"wrangler deploy" rejects it' in problem.hint

    def test_a_script_name_that_is_ones_own_makes_no_difference(self, errors: Texts) -> None:
        assert "duplicate(s)" in errors(workflows=[entry(), entry(binding="W2", script_name="w")])[0]

    def test_a_binding_name_that_is_taken_twice_is_refused(self, errors: Texts) -> None:
        assert errors(workflows=[entry(), entry(name="b")]) == [
            "WF assigned to multiple Workflow bindings.",
            "Bindings must have unique names, so that they can all be referenced in the worker.\n"
            "Please change your bindings to have unique names.",
        ]

    def test_a_binding_name_is_taken_by_any_kind_of_binding(self, errors: Texts) -> None:
        message, _ = errors(workflows=[WORKFLOW], vars={"WF": 1}, kv_namespaces=[{"binding": "WF"}])

        assert message == "WF assigned to KV Namespace, Environment Variable, and Workflow bindings."

    def test_two_kinds_are_joined_by_and(self, errors: Texts) -> None:
        message, _ = errors(workflows=[WORKFLOW], secrets={"required": ["WF"]})

        assert message == "WF assigned to Workflow and Secret bindings."


class TestForeignWorkflows:
    def test_a_script_name_is_kept(self, load: Load) -> None:
        assert load(workflows=[entry(script_name="other")]).config.workflows[0].script_name == "other"

    def test_the_own_script_name_counts_as_none(self, load: Load) -> None:
        assert load(workflows=[entry(script_name="w")]).config.workflows[0].script_name is None

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("limits", {"steps": 1}),
            ("concurrency", {"limit": 1}),
            ("schedules", "* * * * *"),
            ("default_retention", {"error_retention": 1}),
            ("jurisdiction", "eu"),
        ],
    )
    def test_settings_of_a_foreign_workflow_are_refused_in_wranglers_words(
        self, errors: Texts, key: str, value: object
    ) -> None:
        assert errors(workflows=[entry(script_name="x", **{key: value})]) == [
            f'Workflow "orders" has "{key}" configured but references external script "x". '
            f"Configure {key} on the worker that defines the workflow."
        ]


def workflow_export(**keys: object) -> dict[str, Any]:
    return {"type": "workflow", "name": "orders", **keys}


class TestExports:
    def test_an_export_declares_a_workflow_without_a_binding(self, load: Load) -> None:
        project = load(exports={"Orders": workflow_export(limits={"steps": 5}, schedules="* * * * *")})

        assert project.config.workflows == (
            WorkflowConfig(None, "orders", "Orders", steps_limit=5, schedules=("* * * * *",)),
        )

    def test_an_entry_of_the_same_name_binds_the_export_with_its_settings(self, load: Load) -> None:
        project = load(workflows=[WORKFLOW], exports={"Orders": workflow_export(concurrency={"limit": 2})})

        assert project.config.workflows == (WorkflowConfig("WF", "orders", "Orders", concurrency_limit=2),)

    def test_settings_belong_on_the_export(self, errors: Texts) -> None:
        exports = {"Orders": workflow_export()}

        assert errors(workflows=[entry(limits={"steps": 1}, jurisdiction="eu")], exports=exports) == [
            '"workflows[0].limits" configures the Workflow "orders", which "exports.Orders" declares. '
            'Set "limits" on the export instead.',
            '"workflows[0].jurisdiction" configures the Workflow "orders", which "exports.Orders" declares. '
            'Set "jurisdiction" on the export instead.',
        ]

    def test_entry_and_export_must_agree_on_the_class(self, errors: Texts) -> None:
        assert errors(workflows=[WORKFLOW], exports={"X": workflow_export()}) == [
            '"workflows[0]" and "exports.X" both declare the Workflow "orders", but with different classes '
            '("Orders" and "X").'
        ]

    def test_a_foreign_entry_may_not_have_the_name_of_an_export(self, errors: Texts) -> None:
        assert errors(workflows=[entry(script_name="x")], exports={"Orders": workflow_export()}) == [
            '"workflows[0]" binds the Workflow "orders" of the Worker "x", but "exports.Orders" declares it in '
            'this Worker. Workflow names are unique per account, so remove "script_name" from the binding or give '
            "the export a different name."
        ]

    def test_two_exports_of_one_name_are_refused(self, errors: Texts) -> None:
        assert errors(exports={"A": workflow_export(), "B": workflow_export()}) == [
            '"exports.A" and "exports.B" both declare the Workflow "orders". Workflow names must be unique.'
        ]

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (5, '"exports.A" should be an object but got 5.'),
            ({"type": "x"}, '"exports.A.type" must be "durable-object", "worker", or "workflow", but got "x".'),
            ({}, '"exports.A.type" must be "durable-object", "worker", or "workflow", but got null.'),
            ({"type": "workflow"}, '"exports.A.name" is a required field.'),
            (workflow_export(name=5), 'Expected "exports.A.name" to be of type string but got 5.'),
            (workflow_export(schedules=""), '"exports.A" export "schedules" field must not be an empty string.'),
            (
                workflow_export(limits={"steps": 0}),
                '"exports.A" export "limits.steps" field must be a positive integer but got 0.',
            ),
        ],
    )
    def test_a_bad_export_is_refused(self, errors: Texts, value: object, message: str) -> None:
        assert errors(exports={"A": value}) == [message]

    def test_a_bad_name_is_refused(self, errors: Texts) -> None:
        assert errors(exports={"A": workflow_export(name="a b")})[0].startswith(
            '"exports.A.name" is invalid. Workflow'
        )

    def test_other_exports_are_left_alone(self, load: Load) -> None:
        project = load(exports={"D": {"type": "durable-object", "storage": "sqlite"}, "S": {"type": "worker"}})

        assert project.config.workflows == ()
        assert project.warnings == ()

    @pytest.mark.parametrize("value", [5, [], "x"])
    def test_exports_must_be_an_object(self, errors: Texts, value: object) -> None:
        assert errors(exports=value)[0].startswith(
            'The optional "exports" field should be an object keyed by class'
        )
