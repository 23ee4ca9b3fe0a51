"""What `stepwell dev` says when it cannot start: one paragraph, exit code 1, nothing touched."""

from __future__ import annotations

import json
import re
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import ANSWERS, workflow

FLOW = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        return 1
"""
Project = Callable[..., Path]
Start = Callable[..., DevProcess]


def refusal(process: DevProcess) -> str:
    """What a start that must fail says; none of it may be a traceback through our own code."""
    code = process.wait()

    assert code == 1, process.output
    assert "Ready on" not in process.output
    assert not re.search(r"(emulator|bindings)/\w+\.py", process.output), process.output
    assert "  File " in process.output or "\n\n" not in process.output.strip(), process.output
    return process.output


@pytest.fixture
def refused(dev: Start, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts what must fail, gives what it says, and checks that no state was made."""
    yield lambda *arguments, **options: refusal(dev(*arguments, **options))

    assert not (tmp_path / "state").exists()
    assert not (tmp_path / "project" / ".stepwell").exists()


def test_a_folder_without_a_configuration_names_what_was_looked_for(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()

    said = refused(tmp_path / "empty")

    assert "wrangler.jsonc, wrangler.json or wrangler.toml" in said
    assert "stepwell init" in said


def test_a_path_that_is_not_there_is_named(refused: Callable[..., str], tmp_path: Path) -> None:
    assert str(tmp_path / "nowhere") in refused(tmp_path / "nowhere")


def test_a_configuration_that_is_no_json_names_the_place(refused: Callable[..., str], project: Project) -> None:
    folder = project(FLOW)
    (folder / "wrangler.jsonc").write_text('{\n  "name": oops\n}\n', encoding="utf-8")

    assert re.search(r"wrangler\.jsonc.*\b2\b", refused(folder))


def test_every_problem_of_a_configuration_is_told_at_once(refused: Callable[..., str], project: Project) -> None:
    folder = project(FLOW, name="Not A Name", workflows=[{"name": "flow"}])

    said = refused(folder)

    assert said.startswith("Processing wrangler.jsonc configuration:\n- ")
    assert 'Expected "name" to be of type string' in said
    assert 'should have a string "binding" field' in said
    assert 'should have a string "class_name" field' in said


def test_two_workflows_of_one_name_are_named(refused: Callable[..., str], project: Project) -> None:
    folder = project(FLOW, workflows=[workflow(), workflow(binding="OTHER", class_name="Other")])

    assert '"workflows" bindings must have unique "name" values; duplicate(s) found: "flow"' in refused(folder)


def test_a_workflow_of_another_script_may_have_the_same_name(dev: Start, project: Project) -> None:
    folder = project(
        FLOW + ANSWERS, workflows=[workflow(), workflow(binding="OTHER", script_name="elsewhere", name="flow")]
    )

    server = dev(folder)

    assert server.http.get("/").text == "hello"


def test_a_class_that_is_missing_is_named_with_near_matches(refused: Callable[..., str], project: Project) -> None:
    said = refused(project(FLOW, workflows=[workflow(class_name="Flowe")]))

    assert "class_name Flowe is not exported by main (src/entry.py)." in said
    assert 'Did you mean "Flow"?' in said


def test_a_class_that_is_no_workflow_is_named(refused: Callable[..., str], project: Project) -> None:
    said = refused(project("class Flow:\n    pass\n"))

    assert "Flow does not extend WorkflowEntrypoint (src/entry.py)." in said
    assert "class Flow(WorkflowEntrypoint)" in said


def test_a_worker_without_any_workflow_class_says_so(refused: Callable[..., str], project: Project) -> None:
    said = refused(project(ANSWERS))

    assert "class_name Flow is not exported by main" in said
    assert "It exports no class by name" in said


def test_a_bad_cron_is_named_with_its_field(refused: Callable[..., str], project: Project) -> None:
    said = refused(project(FLOW, workflows=[workflow(schedules="61 * * * *")]))

    assert "61 * * * *" in said
    assert "minute" in said


@pytest.mark.parametrize("schedules", ["*/5 * * * *", ["0 9 * * 1"]])
def test_one_cron_or_a_list_is_accepted(dev: Start, project: Project, schedules: object) -> None:
    server = dev(project(FLOW + ANSWERS, workflows=[workflow(schedules=schedules)]))

    assert server.http.get("/").text == "hello"


def test_the_old_key_names_the_new_one(refused: Callable[..., str], project: Project) -> None:
    said = refused(project(FLOW, workflows=[workflow(schedule="*/5 * * * *")]))

    assert "schedules" in said


def test_a_flag_that_is_given_twice_is_one_flag(dev: Start, project: Project) -> None:
    flags = ["python_workers", "python_workflows", "experimental", "nodejs_compat", "nodejs_compat"]

    server = dev(project(FLOW + ANSWERS, compatibility_flags=flags))

    assert server.http.get("/").text == "hello"
    assert "warning" not in server.output.lower()


def test_an_unknown_flag_is_one_warning(dev: Start, project: Project) -> None:
    flags = ["python_workers", "python_workflows", "no_such_flag", "no_such_flag"]

    server = dev(project(FLOW + ANSWERS, compatibility_flags=flags))

    assert server.http.get("/").text == "hello"
    assert server.output.count("no_such_flag") == 1


def test_a_main_that_is_not_there_is_named(refused: Callable[..., str], project: Project) -> None:
    assert "src/other.py" in refused(project(FLOW, main="src/other.py"))


def test_a_syntax_error_shows_the_user_s_line(refused: Callable[..., str], project: Project) -> None:
    said = refused(project("class Flow(WorkflowEntrypoint)\n    pass\n"), "--no-reload")

    assert "src/entry.py cannot be loaded: there is a syntax error" in said
    assert "class Flow(WorkflowEntrypoint)\n" in said
    assert "SyntaxError: expected ':'" in said
    assert "importlib" not in said


def test_an_exception_at_import_shows_the_user_s_frames_only(refused: Callable[..., str], project: Project) -> None:
    said = refused(project("def broken():\n    return {}['key']\n\n\nbroken()\n"), "--no-reload")

    assert "it raised KeyError when it was imported" in said
    assert "in broken\n" in said
    assert said.rstrip().endswith("KeyError: 'key'")


def test_a_module_that_is_not_installed_is_named(refused: Callable[..., str], project: Project) -> None:
    said = refused(project("import no_such_package\n"), "--no-reload")

    assert "it imports no_such_package" in said
    assert "Install it" in said


def test_exit_in_a_worker_is_no_exit_of_ours(refused: Callable[..., str], project: Project) -> None:
    assert "SystemExit" in refused(project("raise SystemExit(7)\n"), "--no-reload")


def test_an_unknown_setting_names_a_near_one(refused: Callable[..., str], project: Project) -> None:
    folder = project(FLOW)
    (folder / "stepwell.toml").write_text("prot = 9000\n", encoding="utf-8")

    said = refused(folder)

    assert 'Unknown setting "prot"' in said
    assert 'Did you mean "port"?' in said


def test_a_limit_that_does_not_exist_is_named(refused: Callable[..., str], project: Project) -> None:
    assert "stepz" in refused(project(FLOW), "--limits", "stepz=3")


def test_beyond_loopback_the_apis_need_a_token_and_the_worker_does_not(dev: Start, project: Project) -> None:
    server = dev(project(FLOW + ANSWERS), "--host", "0.0.0.0")
    port = server.url.rpartition(":")[2]

    worker = httpx.get(f"http://127.0.0.1:{port}/", trust_env=False)
    api = httpx.get(f"http://127.0.0.1:{port}/client/v4/accounts/a/workflows", trust_env=False)

    assert worker.text == "hello"
    assert api.status_code in (401, 403)
    assert "--token" in api.text


def test_beyond_loopback_without_a_token_the_start_says_what_will_be_refused(dev: Start, project: Project) -> None:
    server = dev(project(FLOW + ANSWERS), "--host", "0.0.0.0")

    server.until_output("Dashboard and APIs are disabled on 0.0.0.0 until you restart with --token TOKEN")


def test_a_port_in_use_is_named_with_a_way_out(refused: Callable[..., str], project: Project) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]

        said = refused(project(FLOW), "--port", str(port))

    assert f"{port}" in said
    assert "--port" in said


# -- the state folder


def test_a_state_folder_in_use_names_the_url_of_the_other_process(dev: Start, project: Project) -> None:
    folder = project(FLOW + ANSWERS)
    first = dev(folder)
    assert first.url

    said = refusal(dev(folder))

    assert first.url in said
    assert "--persist-to" in said
    assert first.http.get("/").text == "hello"


def test_a_folder_that_a_killed_process_left_is_free(dev: Start, project: Project) -> None:
    folder = project(FLOW + ANSWERS)
    first = dev(folder)
    assert first.url
    first.kill()

    assert dev(folder).http.get("/").text == "hello"


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A state folder whose database is another program's."""
    (tmp_path / "state").mkdir()
    path = tmp_path / "state" / "stepwell.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (a)")
        db.execute("INSERT INTO theirs VALUES (1)")
        db.commit()
    return path


def test_a_database_of_another_program_is_left_alone(dev: Start, project: Project, foreign: Path) -> None:
    before = foreign.read_bytes()

    said = refusal(dev(project(FLOW)))

    assert "is a database of another program" in said
    assert foreign.read_bytes() == before


def test_a_file_that_is_no_database_is_left_alone(dev: Start, project: Project, foreign: Path) -> None:
    foreign.write_text("Dear diary, ", encoding="utf-8")

    said = refusal(dev(project(FLOW)))

    assert "is not a SQLite database" in said
    assert foreign.read_text(encoding="utf-8") == "Dear diary, "


def test_a_database_of_a_newer_version_is_left_alone(dev: Start, project: Project, foreign: Path) -> None:
    foreign.unlink()
    folder = project(FLOW + ANSWERS)
    first = dev(folder)
    assert first.url
    first.stop()
    with closing(sqlite3.connect(foreign)) as db:
        db.execute("PRAGMA user_version = 999")
    before = foreign.read_bytes()

    said = refusal(dev(folder))

    assert "was written by a newer Stepwell" in said
    assert foreign.read_bytes() == before


def test_a_damaged_database_is_left_alone(dev: Start, project: Project, foreign: Path) -> None:
    foreign.unlink()
    folder = project(FLOW + ANSWERS)
    first = dev(folder)
    assert first.url
    first.stop()
    damaged = bytearray(foreign.read_bytes())
    damaged[4096:12288] = b"?" * 8192
    foreign.write_bytes(damaged)

    said = refusal(dev(folder))

    assert said.startswith(f"{foreign} is damaged (")
    assert foreign.read_bytes() == damaged


def test_a_state_folder_that_cannot_be_made_is_named(dev: Start, project: Project, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    said = refusal(dev(project(FLOW), "--persist-to", tmp_path / "file" / "state"))

    assert said.startswith("Can't use the state folder")
    assert "--persist-to" in said


def test_a_failing_start_leaves_stored_instances_as_they_are(dev: Start, project: Project, tmp_path: Path) -> None:
    folder = project(FLOW + ANSWERS)
    first = dev(folder)
    first.create("flow", "kept")
    first.until_status("flow", "kept", "complete")
    first.stop()
    shutil.copytree(tmp_path / "state", tmp_path / "before")

    (folder / "src" / "entry.py").write_text("oops(\n", encoding="utf-8")
    refusal(dev(folder, "--no-reload"))

    names = {path.name for path in (tmp_path / "state").iterdir()}
    assert names == {path.name for path in (tmp_path / "before").iterdir()}
    database = "stepwell.sqlite"
    assert (tmp_path / "state" / database).read_bytes() == (tmp_path / "before" / database).read_bytes()


def test_the_state_folder_keeps_itself_out_of_version_control(dev: Start, project: Project, tmp_path: Path) -> None:
    server = dev(project(FLOW + ANSWERS))
    assert server.url

    assert (tmp_path / "state" / ".gitignore").read_text(encoding="utf-8") == "*\n"
    assert json.loads((tmp_path / "state" / "server.json").read_text(encoding="utf-8"))["url"] == server.url
