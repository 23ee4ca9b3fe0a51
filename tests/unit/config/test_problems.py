"""How problems are collected and shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.emulator.config import ConfigError, Problem, class_not_exported, near_matches, not_a_workflow
from stepwell.emulator.config.problems import Problems, printable, render, shown


def test_problems_are_lines_under_the_name_of_the_file() -> None:
    problems = [Problem("one"), Problem("two", hint="do this")]

    assert render("Processing wrangler.jsonc configuration:", problems) == (
        "Processing wrangler.jsonc configuration:\n- one\n- two\n  do this"
    )


def test_further_lines_of_a_problem_are_indented() -> None:
    assert render("H:", [Problem("one\ntwo\n\nthree\n")]) == "H:\n- one\n  two\n\n  three"


def test_problems_of_an_environment_stand_under_its_name() -> None:
    problems = Problems()
    problems.error("first")
    problems.within('"env.st" environment configuration').error("inner\nmore")
    problems.error("second")

    with pytest.raises(ConfigError) as caught:
        problems.raise_errors("H:")

    assert str(caught.value) == 'H:\n- first\n- second\n- "env.st" environment configuration\n  - inner\n    more'


def test_errors_and_warnings_arrive_together() -> None:
    problems = Problems()
    problems.warn("w")
    problems.error("e")

    with pytest.raises(ConfigError) as caught:
        problems.raise_errors("H:")

    assert [problem.text for problem in caught.value.errors] == ["e"]
    assert [problem.text for problem in caught.value.warnings] == ["w"]


def test_warnings_alone_do_not_stop() -> None:
    problems = Problems()
    problems.warn("w")

    problems.raise_errors("H:")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (3.0, "3"),
        (1.5, "1.5"),
        ({"a": [1, "ü"]}, '{"a":[1,"ü"]}'),
        ('a"b', '"a\\"b"'),
    ],
)
def test_values_are_shown_as_json(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_huge_value_is_cut() -> None:
    assert len(shown(["x" * 1000] * 1000)) < 2_100


def test_a_value_that_is_nested_too_deeply_is_not_shown() -> None:
    value: object = 1
    for _ in range(100_000):
        value = [value]

    assert shown(value) == "a value nested too deeply to show"


def test_control_characters_cannot_reach_the_terminal() -> None:
    assert printable("a\x1b[31m\nb\t\x07\ud800\u202e") == "a\\x1b[31m\nb\t\\x07\\ud800\\u202e"


@given(st.text(alphabet=st.characters()))
def test_whatever_is_shown_can_be_written_to_a_terminal(text: str) -> None:
    printable(text).encode()


class TestNearMatches:
    def test_the_likeliest_comes_first(self) -> None:
        assert near_matches("Probee", ["Prober", "Probe", "Other"]) == ("Probe", "Prober")

    def test_case_does_not_matter(self) -> None:
        assert near_matches("orderworkflow", ["OrderWorkflow"]) == ("OrderWorkflow",)

    def test_there_may_be_none(self) -> None:
        assert near_matches("Probe", ["Zebra"]) == ()


class TestClassMessages:
    def test_a_misspelt_class_gets_a_suggestion(self) -> None:
        problem = class_not_exported("Probee", "src/index.ts", ["Probe", "Other"])

        assert problem.text == "class_name Probee is not exported by main (src/index.ts)."
        assert problem.hint == 'Did you mean "Probe"?'

    def test_without_a_near_one_the_exported_classes_are_listed(self) -> None:
        assert class_not_exported("Zebra", "a.py", ["B", "A"]).hint == "It exports A, B."

    def test_a_default_export_alone_is_explained(self) -> None:
        assert "a default export does not count" in class_not_exported("Probe", "a.js", []).hint

    @pytest.mark.parametrize(
        ("main", "line"),
        [
            ("src/entry.py", "class Probe(WorkflowEntrypoint)"),
            ("src/a.ts", "class Probe extends WorkflowEntrypoint"),
        ],
    )
    def test_a_class_that_extends_nothing_says_what_to_write(self, main: str, line: str) -> None:
        problem = not_a_workflow("Probe", main)

        assert problem.text == f"Probe does not extend WorkflowEntrypoint ({main})."
        assert line in problem.hint
