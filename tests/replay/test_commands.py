"""`stepwell import`, `stepwell replay` and the library for tests, as the page about deploying shows them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stepwell.emulator.histories.files import load_file
from tests.docs.markdown import ROOT, blocks
from tests.e2e.conftest import dev as dev  # the fixture
from tests.e2e.process import DevProcess, stepwell, until
from tests.replay.projects import copy_project, edit

PAGE = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
INSTANCES = "/client/v4/accounts/local/workflows/orders/instances"


def run(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*shlex.split(stepwell()), *arguments]
    return subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_project("python", tmp_path)


def answer_the_question(project: Path) -> None:
    (project / "histories" / "orders" / "secret.answers.json").write_text('{"token-1": {"valid": true}}')


def test_an_answer_beside_the_history_takes_the_place_of_an_unknown_result(project: Path) -> None:
    assert run(project, "replay").returncode == 3
    answer_the_question(project)

    assert run(project, "replay").returncode == 0


def test_an_answer_for_a_known_result_is_refused(project: Path) -> None:
    (project / "histories" / "orders" / "secret.answers.json").write_text('{"report-1": 1}')
    done = run(project, "replay")

    assert done.returncode == 1
    assert 'There is an answer for "report-1", whose result is known. Unknown results: token-1.' in done.stdout


def test_the_first_difference_is_shown_with_its_line_of_code(project: Path) -> None:
    edit(project, '@step.do("charge")', '@step.do("charge card")')
    done = run(project, "replay", "histories/orders/order-shipped.json")
    code = (project / "src" / "entry.py").read_text()
    line = code[: code.index("await charge()")].count("\n") + 1
    difference = (
        'the code calls step "charge card-1", which the history does not have, where it has step "charge-1"'
    )

    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "differs  histories/orders/order-shipped.json",
        f"    src/entry.py:{line}: {difference}",
        "        payment = await charge()",
        "1 history: 1 differs",
    ]


def test_the_results_are_printed_as_json(project: Path) -> None:
    [result] = json.loads(run(project, "replay", "--json", "histories/orders/nested.json").stdout)

    assert (result["outcome"], result["instance"], result["steps"]) == ("passed", "nested", 3)


def test_the_results_are_written_as_junit_xml(project: Path) -> None:
    answer_the_question(project)
    edit(project, '"paid": payment["paid"]', '"paid": payment["gone"]')
    run(project, "replay", "--junit", "report.xml")
    suite = ElementTree.parse(project / "report.xml").getroot()

    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("15", "1", "0")


def test_code_that_does_not_load_is_said(project: Path) -> None:
    edit(project, "import asyncio\n", "import asyncio, gone\n")
    done = run(project, "replay")

    assert done.returncode == 1
    assert "No module named 'gone'" in done.stderr


def test_without_histories_it_says_where_it_looked(project: Path) -> None:
    done = run(project, "replay", "mails")

    assert done.returncode == 1
    assert f"No histories found in {project / 'histories' / 'mails'}" in done.stderr


def test_instances_are_imported_and_stay_frozen(dev: Callable[..., DevProcess], project: Path) -> None:
    server = dev(project, "--persist-to", project / ".stepwell")
    server.http.post(INSTANCES, json={"instance_id": "one", "params": {"shape": "order", "cents": 5}})
    until("it waits", lambda: server.http.get(f"{INSTANCES}/one").json()["result"]["status"] == "waiting")
    done = run(project, "import", "orders", "one", "gone", "--api-base-url", f"{server.url}/client/v4")

    assert done.returncode == 1
    assert "Not imported: gone: " in done.stdout
    [file] = (project / ".stepwell" / "imported" / "orders").glob("*.json")
    assert [step.public_name for step in load_file(file).steps] == ["charge-1", "reserve-1", "approval-1"]


def test_imported_instances_are_listed_with_the_problem_of_a_damaged_file(
    dev: Callable[..., DevProcess], project: Path
) -> None:
    folder = project / ".stepwell" / "imported" / "orders"
    folder.mkdir(parents=True)
    shutil.copy(project / "histories" / "orders" / "order-shipped.json", folder)
    (folder / "order 2.json").write_text("{")
    server = dev(project, "--persist-to", project / ".stepwell")
    command = ("workflows", "instances", "list", "orders", "--imported", "--port", server.url.rpartition(":")[2])

    damaged, shipped = json.loads(run(project, *command, "--json").stdout)
    assert (shipped["id"], shipped["status"], damaged["id"]) == ("order-shipped", "complete", "order 2")
    assert damaged["problem"]
    assert "imported" in run(project, *command).stdout


def test_a_copy_runs_to_a_step_of_an_imported_instance(dev: Callable[..., DevProcess], project: Path) -> None:
    server = dev(project, "--persist-to", project / ".stepwell")
    port = server.url.rpartition(":")[2]
    state = project / ".stepwell"
    history = project / "histories" / "orders" / "order-shipped.json"
    (state / "imported" / "orders").mkdir(parents=True)
    (state / "imported" / "orders" / history.name).write_text(history.read_text())
    names = ("workflows", "instances", "run-to", "orders", "order-shipped", "ship")
    run_to = run(project, *names, "--imported", "--id", "copy", "--port", port)

    assert run_to.returncode == 0, run_to.stderr
    assert server.http.get(f"{INSTANCES}/copy").json()["result"]["status"] == "paused"
    server.http.patch(f"{INSTANCES}/copy/status", json={"status": "resume"})
    until("it ends", lambda: server.http.get(f"{INSTANCES}/copy").json()["result"]["status"] == "complete")
    assert server.http.get(f"{INSTANCES}/copy").json()["result"]["output"]["parcel"] == "parcel from shelf 1"


def test_the_examples_for_tests_run(project: Path) -> None:
    answer_the_question(project)
    (project / "tests").mkdir()
    examples = "\n\n".join(block.text for block in blocks(PAGE) if block.language == "python")
    (project / "tests" / "test_deploying.py").write_text(examples)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests", "-q", "-p", "no:cacheprovider"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "16 passed" in done.stdout, done.stdout + done.stderr


def test_a_history_that_differs_fails_its_test(project: Path) -> None:
    edit(project, '@step.do("charge")', '@step.do("charge card")')
    (project / "test_it.py").write_text(
        "from stepwell.testing import replay_histories\ntest_it = replay_histories('histories/orders/nested.json', "
        "'histories/orders/order-shipped.json')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1 failed, 1 passed" in done.stdout
    assert "HistoryDiffers" in done.stdout
    assert 'the code calls step "charge card-1"' in done.stdout


COMMANDS = [
    shlex.split(line, comments=True)
    for block in blocks(PAGE)
    if block.language == "sh"
    for line in block.text.splitlines()
    if line.startswith("stepwell")
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_options_of_a_command_of_the_page_are_known(words: list[str], tmp_path: Path) -> None:
    names = [word for word in words if word in ("import", "replay", "workflows", "instances", "run-to")]
    shown = run(tmp_path, *names, "--help").stdout

    assert [word for word in words if word.startswith("--") and word not in shown] == []
