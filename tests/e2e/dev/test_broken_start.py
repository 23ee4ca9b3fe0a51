"""Code that is broken when `stepwell dev` starts: with reload on it waits to be mended, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess, until
from tests.e2e.projects import config, write_entry
from tests.javascript.conftest import NODE_MODULES, needs_runtime

WORKER = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        await step.sleep("nap", "2 minutes")
        return "whole"

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.method == "POST":
            await self.env.FLOW.create({"id": "one"})
        return Response((await (await self.env.FLOW.get("one")).status())["status"])
"""
BROKEN = WORKER + "\nraise RuntimeError('no luck')\n"

Start = Callable[..., DevProcess]
Project = Callable[..., Path]


def test_it_says_what_is_wrong_and_stays_until_a_file_is_saved_that_mends_it(dev: Start, project: Project) -> None:
    folder = project(BROKEN)
    server = dev(folder)

    answer = server.http.get("/anything")
    assert answer.status_code == 503
    assert "RuntimeError: no luck" in answer.text
    assert 'entry.py", line' in answer.text
    server.until_output("RuntimeError: no luck")

    write_entry(folder, WORKER)
    until("the mended Worker", lambda: server.http.post("/").status_code == 200)
    server.until_output("Reloaded worker")


def test_the_dashboard_shows_the_error_and_the_instances(dev: Start, project: Project) -> None:
    folder = project(WORKER)
    with dev(folder) as before:
        before.http.post("/")
        before.until_status("flow", "one", "waiting")
        before.stop()
    write_entry(folder, BROKEN)
    server = dev(folder)

    page = server.http.get("/__dashboard").text
    assert "worker failed to load" in page
    assert "Save a fix to reload; instances will resume." in page
    assert "no luck" in page
    assert ">one<" in page

    write_entry(folder, WORKER)
    until("the mended Worker", lambda: server.http.get("/").text == "waiting")
    assert "failed to load" not in server.http.get("/__dashboard").text
    server.advance(121_000)
    assert server.until_status("flow", "one", "complete")["output"] == "whole"


def test_it_tells_each_save_that_does_not_mend_it_what_is_wrong_now(dev: Start, project: Project) -> None:
    folder = project(BROKEN)
    server = dev(folder)

    write_entry(folder, WORKER + "\nbroken = (1 +\n")

    until("the other error", lambda: "never closed" in server.http.get("/").text)
    until("the other error in the terminal", lambda: "never closed" in server.output)
    assert "The previous version keeps" not in server.output


@needs_runtime
@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ('throw new Error("no luck");\n', "no luck"),
        ("const broken = (1 +;\n", 'Unexpected ";"'),
        ('import { gone } from "./nowhere.mjs";\n', "./nowhere.mjs"),
    ],
)
def test_javascript_waits_as_well(dev: Start, tmp_path: Path, broken: str, told: str) -> None:
    folder = javascript(tmp_path / "project", broken)
    server = dev(folder)

    answer = server.http.get("/")
    assert answer.status_code == 503
    assert told in answer.text
    assert "src/index.js:" in answer.text

    javascript(folder, "")
    until("the mended Worker", lambda: server.http.get("/").text == "hello", 60)


def javascript(folder: Path, more: str) -> Path:
    """A project that answers "hello" unless `more` breaks it."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    entry = folder / "src" / "index.js"
    entry.write_text('export default { fetch: () => new Response("hello") };\n' + more, encoding="utf-8")
    settings = config(main="src/index.js", compatibility_flags=None, workflows=None)
    (folder / "wrangler.json").write_text(json.dumps(settings), encoding="utf-8")
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(NODE_MODULES)
    return folder


def test_without_reload_it_ends_with_the_error(dev: Start, project: Project, tmp_path: Path) -> None:
    process = dev(project(BROKEN), "--no-reload")

    assert process.wait() == 1
    assert "RuntimeError: no luck" in process.output
    assert not (tmp_path / "state").exists()


def test_a_missing_class_ends_it_all_the_same(dev: Start, project: Project, tmp_path: Path) -> None:
    process = dev(project("class Flaw(WorkflowEntrypoint): ...\n"))

    assert process.wait() == 1
    assert "Flow" in process.output
    assert not (tmp_path / "state").exists()
