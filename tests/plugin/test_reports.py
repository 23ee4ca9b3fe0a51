"""What people read when a test of theirs fails, and the plugin beside other tools: pdb, xdist, coverage."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from workers import WorkflowEntrypoint

from tests.plugin.running import Result, run_pytest, write_suite, write_worker


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = write_suite(tmp_path_factory.mktemp("failing"), "failing")
    return run_pytest(folder, "--workflow-replay=always", "-q")


@pytest.mark.parametrize(
    ("test", "instance"),
    [("test_a_plain_assert", "o-1"), ("test_a_plain_assert_in_a_plain_test", "o-2")],
)
def test_a_failed_assertion_shows_the_history_of_the_instances(failing, test, instance) -> None:
    case = failing.cases[test]

    assert case.outcome == "failed"
    assert "Workflow instances" in failing.output
    assert f'"{instance}" of order: complete' in failing.output
    assert "+1 hour  sleep_completed     cool down-1" in failing.output


@pytest.mark.parametrize(
    "test",
    [
        "test_a_step_that_raises",
        "test_a_step_that_raises_and_an_assertion",
        "test_the_result_of_a_step_that_raises",
    ],
)
def test_a_workflow_that_fails_shows_where_it_raised_and_why(failing, test) -> None:
    shown = failing.output.partition(f" {test} ")[2].partition("\n____")[0]

    assert re.search(r'File ".*test_suite\.py", line \d+, in parse', shown)
    assert 'raise ValueError("no such order") from error' in shown
    assert "Caused by: Traceback" in shown
    assert 'return {}["sku"]' in shown
    assert "emulator/engine" not in shown


def test_a_wait_that_fails_points_at_the_line_of_the_test(failing) -> None:
    text = failing.cases["test_a_wait"].text

    assert 'The test would hang: status "complete" of instance "o-3"' in text
    assert "pace.py" not in text
    assert text.count("sleep_started") == 1, "the history is shown once"


@pytest.mark.parametrize("test", ["test_an_unused_mock", "test_an_unused_mock_in_a_plain_test"])
def test_a_mock_of_an_unknown_step_fails_a_test_that_passes(failing, test) -> None:
    """Mock 'chrage': an error about an unused mock."""
    case = failing.cases[test]

    assert case.outcome == "failed"
    assert 'mock_step_result() for the step "chrage" was never used' in case.text
    assert 'Did you mean "charge"?' in case.text


def test_another_failure_is_not_hidden_by_an_unused_mock(failing) -> None:
    text = failing.cases["test_an_unused_mock_beside_another_failure"].text

    assert "'shipped' == 'lost'" in text
    assert "never used" not in text


def test_unused_mocks_can_be_allowed(failing) -> None:
    assert failing.cases["test_an_unused_mock_that_may_be"].outcome == "passed"


def test_a_test_without_any_workflow_is_told_how_to_give_one(failing) -> None:
    text = failing.cases["test_no_workflow_at_all"].text

    assert "workflows.define(...)" in text
    assert "workflow_project" in text


def test_a_project_that_is_not_there_is_named(failing) -> None:
    assert "nowhere" in failing.cases["test_a_project_that_is_not_there"].text


def test_replays_at_every_wait_find_code_that_differs(failing) -> None:
    text = failing.cases["test_code_that_differs"].text

    assert "run() of differs is not deterministic" in text
    assert 'replay called sleep "nap True-1", but the original run called sleep "nap False-1"' in text


def test_tasks_that_a_test_leaves_behind_do_no_harm(failing) -> None:
    assert failing.cases["test_a_task_that_is_left_over"].outcome == "passed"


def test_a_breakpoint_in_a_step_stops_there_and_times_nothing_out(tmp_path) -> None:
    folder = write_suite(tmp_path / "debugged", "debugged")

    result = run_pytest(folder, "-q", stdin="p 'cents are', cents\nw\nc\n")

    assert "('cents are', 17)" in result.output
    # Since 3.13 Python stops at the call itself, before that at the line that follows.
    assert ("-> breakpoint()" if sys.version_info >= (3, 13) else "-> return cents") in result.output
    assert result.cases["test_it_stops_in_the_step"].outcome == "passed"


@pytest.fixture
def shop(tmp_path):
    folder = write_suite(tmp_path / "shop", "simple", "workflow_auto_advance = true\n")
    write_worker(folder)
    return folder


def test_the_project_above_the_tests_is_found(shop) -> None:
    result = run_pytest(shop, "-q")

    assert result.code == 0, result.output
    assert len(result.cases) == 14


def test_the_configuration_of_pytest_may_name_the_project(shop) -> None:
    (shop / "tests").mkdir()
    (shop / "worker").mkdir()
    (shop / "test_suite.py").rename(shop / "tests" / "test_suite.py")
    (shop / "wrangler.jsonc").rename(shop / "worker" / "wrangler.jsonc")
    (shop / "src").rename(shop / "worker" / "src")
    (shop / "pytest.ini").write_text("[pytest]\nworkflow_project = worker\n", encoding="utf-8")

    result = run_pytest(shop, "-q")

    assert result.code == 0, result.output


def test_the_same_ids_in_parallel_processes(shop) -> None:
    """In any order and in parallel."""
    result = run_pytest(shop, "-q", "-n", "2")

    assert result.code == 0, result.output


#: A file with a test that moves its clock by years; one that shared it with another file would begin in the future.
CLOCKED = """
import time


async def test_a_clock_of_its_own(workflows, clock):
    began = clock.now_ms
    await workflows.FLOW.create({{"id": "same", "params": {{"n": {number}}}}})
    await clock.advance("2 years")
    assert abs(began - time.time() * 1000) < 86_400_000
    assert clock.now_ms - began == 2 * 365 * 86_400_000
"""


def test_many_runs_beside_one_another_never_fail(shop) -> None:
    """Fifty times under load: no waits inside of the toolkit could run out."""
    text = (shop / "test_suite.py").read_text(encoding="utf-8").replace("range(12)", "range(50)")
    (shop / "test_suite.py").write_text(text, encoding="utf-8")

    result = run_pytest(shop, "-q", "-n", "3")

    assert result.code == 0, result.output


def test_two_hundred_files_of_tests_run_in_parallel_each_with_a_clock_of_its_own(shop) -> None:
    for number in range(200):
        (shop / f"test_file_{number}.py").write_text(CLOCKED.format(number=number), encoding="utf-8")

    result = run_pytest(shop, "-q", "-n", "2", "-k", "clock_of_its_own")

    assert result.code == 0, result.output
    assert "200 passed" in result.output


def test_coverage_sees_the_lines_of_steps(shop) -> None:
    coverage = [sys.executable, "-m", "coverage"]
    # In one process: options for the outer run (PYTEST_ADDOPTS) are not for this one.
    alone = {**os.environ, "PYTEST_ADDOPTS": ""}
    run = subprocess.run([*coverage, "run", "--source=src", "-m", "pytest", "-q"], cwd=shop, env=alone, check=False)
    report = subprocess.run([*coverage, "report"], cwd=shop, capture_output=True, text=True, check=False)

    assert run.returncode == 0
    assert "100%" in report.stdout


def test_a_run_without_workflows_imports_nothing_of_the_engine(tmp_path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import sys\n\n\ndef test_nothing():\n"
        "    rooms = {'engine', 'storage', 'app.assembly'}\n"
        "    assert not {f'stepwell.emulator.{room}' for room in rooms} & sys.modules.keys()\n",
        encoding="utf-8",
    )

    assert run_pytest(tmp_path, "-q").code == 0


async def test_output_of_a_class_defined_in_a_test_names_its_instance_and_step(workflows, capsys) -> None:
    class Prints(WorkflowEntrypoint):
        async def run(self, event, step):
            print("outside")

            @step.do("one")
            async def one():
                print("inside")

            await one()

    workflows.define(Prints)
    await (await workflows.PRINTS.create(id="order-1")).result()

    assert capsys.readouterr().out == "[order-1] outside\n[order-1 one-1] inside\n"
