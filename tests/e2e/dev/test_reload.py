"""Reload: new code is live at once, and no running instance is lost or run twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess, until
from tests.e2e.projects import config, workflow, write_config, write_entry

Project = Callable[..., Path]
Start = Callable[..., DevProcess]


def version(word: str) -> str:
    """A Worker that answers `word`, and whose instances wait in a step until they are told, then sleep."""
    return f"""
import asyncio
from pathlib import Path

WORD = {word!r}


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(WORD)


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        gate = event.payload.get("gate")

        @step.do("first")
        async def first():
            print("first begins on", WORD)
            while gate and not Path(gate).exists():
                await asyncio.sleep(0.005)
            return WORD

        @step.do("second")
        async def second():
            return WORD

        one = await first()
        if event.payload.get("sleep"):
            await step.sleep("nap", event.payload["sleep"])
        return [one, await second()]
"""


#: A Worker that answers one of its variables.
SAYS_WORD = """
class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(self.env.WORD)
"""


@pytest.fixture
def folder(project: Project) -> Path:
    return project(version("old"))


@pytest.fixture
def server(dev: Start, folder: Path) -> DevProcess:
    running = dev(folder)
    assert running.http.get("/").text == "old"
    return running


def until_answer(server: DevProcess, word: str) -> None:
    until(
        f"{word} from the Worker",
        lambda: server.http.get("/").text == word,
        explain=lambda: server.last_words,
    )


def until_reloaded(server: DevProcess) -> None:
    """Until instances run the new code, too: unfinished ones are checked against it first."""
    until_answer(server, "new")
    server.until_output("^Reloaded worker")


def test_changed_code_is_live_in_under_a_second(server: DevProcess, folder: Path) -> None:
    write_entry(folder, version("new"))
    changed_at = time.monotonic()

    until_answer(server, "new")

    assert time.monotonic() - changed_at < 1.0


def test_new_instances_run_the_new_code(server: DevProcess, folder: Path) -> None:
    write_entry(folder, version("new"))
    until_reloaded(server)

    server.create("flow", "after")

    assert server.until_status("flow", "after", "complete")["output"] == ["new", "new"]


def test_a_running_instance_finishes_its_step_on_the_old_code_and_goes_on_with_the_new(
    server: DevProcess, folder: Path, tmp_path: Path
) -> None:
    server.create("flow", "both", {"gate": str(tmp_path / "gate")})
    server.until_output("first begins on old")
    write_entry(folder, version("new"))
    until_reloaded(server)

    (tmp_path / "gate").touch()

    assert server.until_status("flow", "both", "complete")["output"] == ["old", "new"]
    assert server.output.count("first begins") == 1


def test_a_sleeping_instance_wakes_on_the_new_code(server: DevProcess, folder: Path) -> None:
    server.create("flow", "sleeper", {"sleep": "10 minutes"})
    server.until_status("flow", "sleeper", "waiting")
    write_entry(folder, version("new"))
    until_reloaded(server)

    server.advance(600_000)

    assert server.until_status("flow", "sleeper", "complete")["output"] == ["old", "new"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("class Default(\n", "SyntaxError"),
        ("raise RuntimeError('at import')\n", "at import"),
        ("class Flo(WorkflowEntrypoint):\n    pass\n", "class_name Flow is not exported"),
    ],
    ids=["syntax error", "exception", "class gone"],
)
def test_broken_code_leaves_the_old_running_and_says_why(
    server: DevProcess, folder: Path, broken: str, message: str
) -> None:
    write_entry(folder, broken)
    server.until_output(message)

    server.create("flow", "still")

    assert server.http.get("/").text == "old"
    assert server.until_status("flow", "still", "complete")["output"] == ["old", "old"]
    assert "emulator/" not in server.output


def test_code_that_is_mended_is_loaded(server: DevProcess, folder: Path) -> None:
    write_entry(folder, "oops(\n")
    server.until_output("SyntaxError")

    write_entry(folder, version("new"))

    until_answer(server, "new")


def test_a_module_that_the_entry_imports_is_watched_too(dev: Start, project: Project) -> None:
    folder = project(
        "import words\n\n\nclass Default(WorkerEntrypoint):\n    async def fetch(self, request):\n"
        "        return Response(words.WORD)\n",
        workflows=None,
    )
    (folder / "src" / "words.py").write_text("WORD = 'old'\n", encoding="utf-8")
    server = dev(folder)
    until_answer(server, "old")

    (folder / "src" / "words.py").write_text("WORD = 'new'\n", encoding="utf-8")

    until_answer(server, "new")


def test_a_variable_that_changes_is_there_after_the_reload(dev: Start, project: Project) -> None:
    folder = project(SAYS_WORD, workflows=None, vars={"WORD": "old"})
    server = dev(folder)
    until_answer(server, "old")

    write_config(folder, config(workflows=None, vars={"WORD": "new"}))

    until_answer(server, "new")


def test_a_secret_that_changes_is_there_after_the_reload(dev: Start, project: Project) -> None:
    folder = project(SAYS_WORD, workflows=None)
    (folder / ".dev.vars").write_text("WORD=old\n", encoding="utf-8")
    server = dev(folder)
    until_answer(server, "old")

    (folder / ".dev.vars").write_text("WORD=new\n", encoding="utf-8")

    until_answer(server, "new")


def test_a_workflow_that_is_added_to_the_configuration_is_there_after_the_reload(
    server: DevProcess, folder: Path
) -> None:
    more = [workflow(), workflow(name="more", binding="MORE")]

    write_config(folder, config(workflows=more))

    server.until_output("Reloaded")
    server.create("more", "one")
    assert server.until_status("more", "one", "complete")["output"] == ["old", "old"]


def test_a_configuration_that_becomes_wrong_leaves_the_old_one_in_force(server: DevProcess, folder: Path) -> None:
    (folder / "wrangler.jsonc").write_text('{"name": ', encoding="utf-8")
    server.until_output(r"wrangler\.jsonc")

    assert server.http.get("/").text == "old"
    assert server.is_running


def test_without_reload_nothing_changes(dev: Start, folder: Path) -> None:
    server = dev(folder, "--no-reload")
    until_answer(server, "old")

    write_entry(folder, version("new"))
    server.create("flow", "one")

    assert server.until_status("flow", "one", "complete")["output"] == ["old", "old"]
    assert "Reloaded" not in server.output


def test_each_changed_load_is_a_version_and_an_unchanged_one_is_not(server: DevProcess, folder: Path) -> None:
    server.create("flow", "a")
    write_entry(folder, version("new"))
    until_answer(server, "new")
    server.create("flow", "b")
    write_entry(folder, version("old"))
    until_answer(server, "old")
    server.create("flow", "c")

    versions = [server.instance("flow", one)["versionId"] for one in "abc"]

    assert versions[0] == versions[2] != versions[1]


def test_a_file_that_is_no_code_loads_nothing_anew_and_a_reload_names_its_cause(
    dev: Start, project: Project, tmp_path: Path
) -> None:
    loads = tmp_path / "loads"
    noted = f"from pathlib import Path\nwith Path({str(loads)!r}).open('a') as file:\n    file.write('x')\n"
    folder = project(noted + version("old"))
    server = dev(folder)
    until_answer(server, "old")

    for name in ("out.txt", "src/data.json", "script.py"):
        (folder / name).write_text("print('written by the Worker')", encoding="utf-8")
    write_entry(folder, noted + version("new"))
    until_answer(server, "new")

    server.until_output(r"^Reloaded worker: src/entry\.py changed$")
    assert loads.read_text(encoding="utf-8") == "xx"
    assert server.output.count("Reloaded") == 1


def test_code_that_is_set_back_after_a_failure_is_told_to_be_reloaded(server: DevProcess, folder: Path) -> None:
    write_entry(folder, "oops(\n")
    server.until_output("SyntaxError")

    write_entry(folder, version("old"))

    server.until_output("^Reloaded worker: .* changed$")


def test_the_same_problem_is_told_once(server: DevProcess, folder: Path, tmp_path: Path) -> None:
    loads = tmp_path / "loads"
    noted = f"with open({str(loads)!r}, 'a') as file:\n    file.write('x')\n"
    write_entry(folder, noted + "raise RuntimeError('at import')\n")
    server.until_output("The previous version keeps running[.]")

    (folder / "src" / "beside.py").touch()
    until("another load", lambda: len(loads.read_text()) > 1)
    (folder / "src" / "further.py").touch()
    until("a load after it, which begins when that one is over", lambda: len(loads.read_text()) > 2)

    assert server.output.count("The previous version keeps running.") == 1


def test_a_warning_of_the_configuration_is_given_when_it_comes_and_once(server: DevProcess, folder: Path) -> None:
    file = folder / "wrangler.jsonc"
    file.write_text(file.read_text().replace('"name"', '"nmae": 1, "name"', 1))
    until("the warning", lambda: 'top-level field: "nmae"' in server.last_words, explain=lambda: server.last_words)

    write_entry(folder, version("new"))
    until_answer(server, "new")

    assert server.last_words.count('"nmae"') == 1
