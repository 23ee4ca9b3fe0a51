"""Field cases of reliability once more, for JavaScript: stopped processes, quiet logs, classes that are gone."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import config, workflow
from tests.javascript.conftest import NODE_MODULES, needs_runtime

pytestmark = needs_runtime

Start = Callable[..., DevProcess]
Project = Callable[..., Path]

#: Four ways to be unfinished, each for a fraction of a second.
UNFINISHED = """
export class Flow extends WorkflowEntrypoint {
  async run({ payload: { kind, short } }, step) {
    await step.do("before", async ({ attempt }) => attempt);
    if (kind === "sleep") await step.sleep("nap", short);
    if (kind === "event") {
      try {
        await step.waitForEvent("answer", { type: "answer", timeout: short });
      } catch (error) {
        return error.message;
      }
    }
    return step.do("work", { retries: { limit: 3, delay: short, backoff: "constant" } }, async ({ attempt }) => {
      if (kind === "retry" && attempt === 1) throw new Error("not yet");
      if (kind === "step" && attempt === 1) await new Promise(() => {});
      return attempt;
    });
  }
}
"""
KINDS = ("sleep", "step", "retry", "event")
SHORT_MS = 1_500

SLEEPER = """
export class {name} extends WorkflowEntrypoint {{
  async run(event, step) {{
    await step.sleep("nap", "1 hour");
    return "{name}";
  }}
}}
"""


def _write(folder: Path, source: str, class_name: str = "Flow") -> None:
    (folder / "src").mkdir(parents=True, exist_ok=True)
    entry = 'import { WorkflowEntrypoint } from "cloudflare:workers";\n' + textwrap.dedent(source)
    (folder / "src" / "index.js").write_text(entry + 'export default { fetch: () => new Response("hello") };\n')
    settings = config(main="src/index.js", compatibility_flags=None, workflows=[workflow(class_name=class_name)])
    (folder / "wrangler.json").write_text(json.dumps(settings))


@pytest.fixture
def javascript(tmp_path: Path) -> Project:
    """Writes a project whose entry is the source, and a handler that answers."""

    def write(source: str) -> Path:
        folder = tmp_path / "project"
        _write(folder, source)
        (folder / "node_modules").symlink_to(NODE_MODULES)
        return folder

    return write


def test_every_unfinished_instance_goes_on_after_a_restart_with_no_call_made(
    dev: Start, javascript: Project
) -> None:
    folder = javascript(UNFINISHED)
    first = dev(folder)
    for kind in KINDS:
        first.create("flow", kind, {"kind": kind, "short": SHORT_MS})
    for kind in ("sleep", "retry", "event"):
        first.until_status("flow", kind, "waiting")
    first.until_output("flow/step before-1 done")
    first.kill()

    again = dev(folder)
    ends = {kind: again.until_output(rf"flow/{kind} (complete|errored)")[1] for kind in KINDS}

    assert ends == dict.fromkeys(KINDS, "complete")
    outputs = {kind: again.instance("flow", kind)["output"] for kind in KINDS}
    assert outputs == {"sleep": 1, "step": 2, "retry": 2, "event": outputs["event"]}
    assert f"timed out after {SHORT_MS}ms" in outputs["event"]
    befores = [again.instance("flow", kind)["steps"][0] for kind in KINDS]
    assert [len(step["attempts"]) for step in befores] == [1, 1, 1, 1]


def test_an_event_timeout_that_is_caught_is_no_alarm(dev: Start, javascript: Project) -> None:
    server = dev(
        javascript("""
            export class Flow extends WorkflowEntrypoint {
              async run(event, step) {
                try {
                  await step.waitForEvent("answer", { type: "answer", timeout: "1 second" });
                } catch {
                  return { nobody: "answered" };
                }
              }
            }
        """)
    )
    server.create("flow", "one")
    server.until_status("flow", "one", "waiting")

    server.advance(1_000)
    server.until_output("flow/one complete")

    assert server.instance("flow", "one")["output"] == {"nobody": "answered"}
    assert not [word for word in ("warn", "error", "Uncaught") if word in server.output]


@pytest.fixture
def parked(dev: Start, javascript: Project) -> Path:
    """A project with an instance that sleeps, its server stopped."""
    folder = javascript(SLEEPER.format(name="Flow"))
    server = dev(folder)
    server.create("flow", "parked")
    server.until_status("flow", "parked", "waiting")
    server.stop()
    return folder


def test_an_instance_whose_class_was_renamed_goes_on_with_the_new_one(dev: Start, parked: Path) -> None:
    _write(parked, SLEEPER.format(name="Renamed"), "Renamed")

    server = dev(parked)
    server.advance(3_600_000)

    assert server.until_status("flow", "parked", "complete")["output"] == "Renamed"


def test_an_instance_whose_workflow_is_gone_stays_and_goes_on_when_it_is_back(dev: Start, parked: Path) -> None:
    settings = (parked / "wrangler.json").read_text()
    (parked / "wrangler.json").write_text(json.dumps({**json.loads(settings), "workflows": []}))
    without = dev(parked)
    without.advance(3_600_000)
    assert without.http.get("/").text == "hello"
    assert without.instance("flow", "parked")["status"] == "waiting"
    assert without.stop() == 0

    (parked / "wrangler.json").write_text(settings)
    server = dev(parked)

    assert server.until_status("flow", "parked", "complete")["output"] == "Flow"
