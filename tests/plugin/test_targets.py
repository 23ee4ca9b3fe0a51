"""The same tests on other engines: what uses Cloudflare's own API alone runs, the rest is skipped with a reason."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess
from tests.plugin.running import Result, run_pytest, write_suite

NODE = Path(__file__).parents[2] / "fixtures" / "node" / "node_modules" / ".bin"
HAS_WRANGLER = (NODE / "wrangler").exists()

CONFIG = {
    "name": "shop",
    "compatibility_date": "2026-07-01",
    "workflows": [{"name": "flow", "binding": "FLOW", "class_name": "Flow"}],
}
PYTHON = """
from workers import Response, WorkerEntrypoint, WorkflowEntrypoint


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        given = event.payload

        @step.do("double", config={"retries": {"limit": 2, "delay": 10}})
        async def double():
            return given.get("n", 0) * 2

        doubled = await double()
        if given.get("n", 0) < 0:
            raise Exception("negative")
        await step.sleep("nap", given.get("nap", 50))
        if given.get("ask"):
            return (await step.wait_for_event("answer", "answered"))["payload"]
        return {"doubled": doubled}


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response.from_json({"ok": True})
"""
JAVASCRIPT = """
import { WorkflowEntrypoint } from "cloudflare:workers";

export class Flow extends WorkflowEntrypoint {
  async run(event, step) {
    const { n = 0, nap = 50, ask } = event.payload;
    const doubled = await step.do("double", { retries: { limit: 2, delay: 10 } }, async () => n * 2);
    if (n < 0) throw new Error("negative");
    await step.sleep("nap", nap);
    if (ask) return (await step.waitForEvent("answer", { type: "answered" })).payload;
    return { doubled };
  }
}

export default { fetch: () => Response.json({ ok: true }) };
"""

PORTABLE = ("test_output", "test_waits", "test_error", "test_plain", "test_id_in_use")
OURS_ALONE = ("test_mocks", "test_clock", "test_auto_advance", "test_crashes", "test_history")


def project(folder: Path, language: str) -> Path:
    write_suite(folder, "portable")
    main, source = {"python": ("src/entry.py", PYTHON), "javascript": ("src/index.js", JAVASCRIPT)}[language]
    flags = {"compatibility_flags": ["python_workers", "python_workflows"]} if language == "python" else {}
    (folder / "src").mkdir()
    (folder / main).write_text(source, encoding="utf-8")
    (folder / "wrangler.jsonc").write_text(json.dumps({**CONFIG, **flags, "main": main}), encoding="utf-8")
    return folder


def run_on(folder: Path, *arguments: str) -> Result:
    path = os.pathsep.join([str(NODE), os.environ["PATH"]])
    return run_pytest(folder, "-q", *arguments, env={"PATH": path, "WRANGLER_SEND_METRICS": "false"})


def outcomes(result: Result, names: tuple[str, ...]) -> dict[str, str]:
    return {name: result.cases[name].outcome for name in names}


@pytest.fixture(scope="module")
def on_a_server(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = project(tmp_path_factory.mktemp("server") / "shop", "python")
    with DevProcess(folder, "--port", "0") as server:
        return run_on(folder, f"--workflow-target={server.url}")


@pytest.fixture(scope="module")
def on_wrangler(tmp_path_factory: pytest.TempPathFactory) -> Result:
    folder = project(tmp_path_factory.mktemp("wrangler") / "shop", "javascript")
    return run_on(folder, "--workflow-target=wrangler")


def test_a_running_server_is_a_target(on_a_server) -> None:
    assert outcomes(on_a_server, PORTABLE) == dict.fromkeys(PORTABLE, "passed")
    assert on_a_server.cases["test_fetch"].outcome == "passed"


def test_what_a_target_cannot_do_is_skipped_with_the_reason(on_a_server) -> None:
    assert outcomes(on_a_server, OURS_ALONE) == dict.fromkeys(OURS_ALONE, "skipped")
    assert "cannot do this: a clock that can be moved needs Stepwell's own engine" in (
        on_a_server.cases["test_clock"].text
    )
    assert "cannot do this: modify needs Stepwell's own engine" in on_a_server.cases["test_mocks"].text


def test_a_failure_on_a_target_shows_what_it_said(on_a_server) -> None:
    case = on_a_server.cases["test_wrong"]

    assert case.outcome == "failed"
    assert "has reached status 'errored'" in case.text
    assert "step double-1: ended" in case.text


@pytest.mark.skipif(not HAS_WRANGLER, reason="needs wrangler: npm ci --prefix fixtures/node")
def test_wrangler_runs_the_tests_of_a_javascript_project(on_wrangler) -> None:
    assert outcomes(on_wrangler, PORTABLE) == dict.fromkeys(PORTABLE, "passed")
    assert on_wrangler.cases["test_fetch"].outcome == "passed"
    assert on_wrangler.cases["test_wrong"].outcome == "failed"
    assert outcomes(on_wrangler, OURS_ALONE) == dict.fromkeys(OURS_ALONE, "skipped")


@pytest.mark.skipif(not HAS_WRANGLER, reason="needs workerd: npm ci --prefix fixtures/node")
def test_workerd_answers_for_its_worker_alone(tmp_path) -> None:
    result = run_on(project(tmp_path / "shop", "javascript"), "--workflow-target=workerd")

    assert result.cases["test_fetch"].outcome == "passed"
    assert outcomes(result, PORTABLE) == dict.fromkeys(PORTABLE, "skipped")
    assert "calls of a Workflow's binding from a test" in result.cases["test_output"].text


@pytest.mark.skipif(not HAS_WRANGLER, reason="needs workerd: npm ci --prefix fixtures/node")
def test_our_own_engine_runs_the_tests_of_a_javascript_project_with_everything(tmp_path) -> None:
    wanted = ["-k", "not crashes"]  # each crash starts the runtime anew
    result = run_on(project(tmp_path / "shop", "javascript"), "-o", "workflow_auto_advance=true", *wanted)

    passed = (*PORTABLE, "test_fetch", "test_clock", "test_history")
    assert outcomes(result, passed) == dict.fromkeys(passed, "passed"), result.output


def test_a_target_that_is_none_is_named(tmp_path) -> None:
    result = run_on(project(tmp_path / "shop", "python"), "--workflow-target=moon")

    assert (
        'Unknown target "moon"; expected stepwell, wrangler, workerd or a URL' in result.cases["test_output"].text
    )


def test_a_program_that_is_not_there_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(shutil.which("python") or ""))

    result = run_pytest(project(tmp_path / "shop", "python"), "-q", "--workflow-target=wrangler")

    assert "wrangler is neither in the project's node_modules nor on PATH" in result.cases["test_output"].text
