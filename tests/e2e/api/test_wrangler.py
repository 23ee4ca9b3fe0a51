"""The real `wrangler workflows`, both ways: over the REST API, and with --local over the explorer's.

What it prints is checked, not only how it ends; a command that works both ways is one test of both. wrangler
is loaded once: its own entry point is only used by the first test.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.api.conftest import Ran
from tests.e2e.process import DevProcess

WAYS = ("remote", "local")
QUIET = {
    "WRANGLER_SEND_METRICS": "false",
    "WRANGLER_LOG_SANITIZE": "false",
    "NO_COLOR": "1",
    "CI": "1",
    "TZ": "UTC",
}


def settings(server: DevProcess, way: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The environment variables and the options that lead wrangler to the emulator."""
    environment = {
        "CLOUDFLARE_API_BASE_URL": f"{server.url}/client/v4",
        "CLOUDFLARE_API_TOKEN": "anything",
        "CLOUDFLARE_ACCOUNT_ID": "0123456789abcdef0123456789abcdef",
    }
    return environment, ("--local", "--port", server.url.rpartition(":")[2]) if way == "local" else ()


@pytest.fixture(scope="module")
def process(npm_package: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """One process for the commands of all tests."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDFLARE_")}
    with subprocess.Popen(
        [
            str(npm_package("node") / "bin" / "node"),
            "--no-warnings",
            str(Path(__file__).with_name("wrangler_runner.cjs")),
            str(npm_package("wrangler") / "wrangler-dist" / "cli.js"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**inherited, **QUIET, "HOME": str(tmp_path_factory.mktemp("home"))},
    ) as running:
        yield running
        assert running.stdin is not None
        running.stdin.close()


@pytest.fixture
def wrangler(fresh: DevProcess, process: subprocess.Popen[str], tmp_path: Path, request: Any) -> Callable[..., Ran]:
    """Runs `wrangler workflows ...` the way that the test asks for."""
    environment, options = settings(fresh, request.param)

    def run(*arguments: str) -> Ran:
        assert process.stdin is not None
        assert process.stdout is not None
        command = {
            "arguments": ["workflows", *arguments, *options],
            "environment": environment,
            "folder": str(tmp_path),
        }
        print(json.dumps(command), file=process.stdin, flush=True)
        return Ran(**json.loads(process.stdout.readline()))

    return run


both = pytest.mark.parametrize("wrangler", WAYS, indirect=True)
remote = pytest.mark.parametrize("wrangler", ["remote"], indirect=True)
local = pytest.mark.parametrize("wrangler", ["local"], indirect=True)


def said(ran: Any) -> str:
    """All that it printed, blanks made one; it must have ended well."""
    assert ran.code == 0, ran.out + ran.err
    return " ".join((ran.out + ran.err).split())


@pytest.mark.parametrize("way", WAYS)
def test_the_command_itself(server: DevProcess, npm_package: Any, run_node: Any, way: str) -> None:
    environment, options = settings(server, way)

    ran = run_node(
        npm_package("wrangler") / "bin" / "wrangler.js", "workflows", "list", *options, **environment, **QUIET
    )

    assert "Showing 2 workflows from" in said(ran)


@both
def test_list(wrangler: Any) -> None:
    text = said(wrangler("list"))

    assert "Showing 2 workflows from" in text
    assert re.search(r"│ flow │ worker │ Flow │", text)
    assert re.search(r"│ quick │ worker │ Quick │", text)


@remote
def test_list_by_pages(wrangler: Any) -> None:
    assert "Showing 1 workflow from page 2" in said(wrangler("list", "--page", "2", "--per-page", "1"))
    assert "No Workflows found on page 3." in said(wrangler("list", "--page", "3", "--per-page", "1"))


@remote
def test_describe(wrangler: Any) -> None:
    text = said(wrangler("describe", "flow"))

    assert re.search(r"Name: flow Id: [0-9a-f-]{36} Script Name: worker Class Name: Flow", text)
    assert re.search(r"Latest Version: Id: \S+-flow Created On: \S+Z", text)


@local
def test_describe_locally(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "one")
    fresh.until_status("flow", "one")

    text = said(wrangler("describe", "flow"))

    assert "Name: flow Script Name: worker Class Name: Flow Instance Status Counts:" in text
    assert "complete: 1" in text


@both
def test_describe_of_an_unknown_workflow(wrangler: Any) -> None:
    ran = wrangler("describe", "nope")

    assert ran.code == 1
    text = ran.out + ran.err
    assert "Workflow 'nope' not found." in text or "workflows.api.error.workflow.not_found [code: 10200]" in text


@both
def test_trigger(wrangler: Any, fresh: DevProcess) -> None:
    text = said(wrangler("trigger", "flow", '{"a":1}', "--id", "mine"))

    assert re.search(r'Workflow instance "mine" has been (queued|triggered) successfully', text)
    assert fresh.until_status("flow", "mine", "complete")["output"] == {"prepared": {"a": 1}}


@both
def test_trigger_without_anything(wrangler: Any, fresh: DevProcess) -> None:
    text = said(wrangler("trigger", "quick"))

    found = re.search(r'Workflow instance "([0-9a-f-]{36})"', text)
    assert found is not None
    assert fresh.until_status("quick", found[1], "complete")["output"] == {}


@both
def test_trigger_with_a_used_id(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "mine")

    ran = wrangler("trigger", "flow", "--id", "mine")

    assert ran.code == 1
    text = ran.out + ran.err
    assert (
        "instance.already_exists [code: 10405]" in text
        or '(instance.already_exists) Workflow instance with id "mine"' in text
    )


@both
def test_instances_list(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "done")
    fresh.create("flow", "asleep", {"nap": "1 day"})
    fresh.until_status("flow", "done", "complete")
    fresh.until_status("flow", "asleep", "waiting")

    text = said(wrangler("instances", "list", "flow"))

    assert "Showing 2 instances from page 1:" in text
    assert re.search(r"│ asleep │ .*⏰ Waiting │", text)
    assert re.search(r"│ done │ .*✅ Completed │", text)
    assert text.index("asleep") < text.index("done")


@both
def test_instances_list_with_filters(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "done")
    fresh.create("flow", "failed", {"error": "no"})
    fresh.until_status("flow", "done", "complete")
    fresh.until_status("flow", "failed", "errored")

    by_status = said(wrangler("instances", "list", "flow", "--status", "errored"))
    by_date = said(wrangler("instances", "list", "flow", "--date-end", "2020-01-01"))

    assert "failed" in by_status
    assert "│ done │" not in by_status
    assert 'No instances in workflow "flow" matched the provided filters.' in by_date


@both
def test_instances_list_by_pages(wrangler: Any, fresh: DevProcess) -> None:
    for n in range(5):
        fresh.create("quick", f"i{n}")

    second = said(wrangler("instances", "list", "quick", "--page", "2", "--per-page", "2"))
    fourth = said(wrangler("instances", "list", "quick", "--page", "4", "--per-page", "2"))

    assert "Showing 2 instances from page 2:" in second
    assert re.findall(r"│ (i\d) │", second) == ["i2", "i1"]
    assert "No instances found on page 4." in fourth


@both
def test_instances_describe(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"fail": 1, "nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")
    fresh.advance(60_000)

    text = said(wrangler("instances", "describe", "flow", "one"))

    assert "Workflow Name: flow Instance Id: one" in text
    assert "Status: ⏰ Waiting" in text
    assert "Name: prepare-1 Type: 🎯 Step" in text
    assert "❌ Error │ ValueError: attempt 1 failed │" in text
    assert 'Output: {"prepared":{"fail":1,"nap":"1 day"}}' in text
    assert 'Output: "[REDACTED]"' in text
    assert "Name: nap-1 Type: 💤 Sleeping" in text
    assert "hunter2" not in text


@both
def test_instances_describe_of_one_that_failed(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"error": "out of stock"})
    fresh.until_status("flow", "one", "errored")

    text = said(wrangler("instances", "describe", "flow", "one"))

    assert "Status: ❌ Errored" in text
    assert "Error: NonRetryableError: out of stock" in text
    assert "Last Successful Step: secret-1" in text


@both
def test_instances_describe_of_the_latest(wrangler: Any, fresh: DevProcess) -> None:
    for one in ("first", "second"):
        fresh.create("quick", one)
        fresh.until_status("quick", one)
        fresh.advance(1_000)

    assert "Instance Id: second" in said(wrangler("instances", "describe", "quick"))


@both
def test_instances_describe_in_json(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("quick", "one", {"a": 1})
    fresh.until_status("quick", "one")

    found = json.loads(wrangler("instances", "describe", "quick", "one", "--json").out)

    assert (found["id"], found["status"], found["output"]) == ("one", "complete", {"a": 1})


@both
def test_instances_pause_resume_and_terminate(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")
    seen = []

    for command in ("pause", "resume", "terminate"):
        text = said(wrangler("instances", command, "flow", "one"))
        seen.append((command, bool(re.search(r'instance "one" from flow was \w+ successfully', text))))
        seen.append((command, fresh.instance("flow", "one")["status"]))

    assert seen == [
        ("pause", True),
        ("pause", "paused"),
        ("resume", True),
        ("resume", "waiting"),
        ("terminate", True),
        ("terminate", "terminated"),
    ]


@both
def test_instances_terminate_with_rollbacks(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")

    text = said(wrangler("instances", "terminate", "flow", "latest", "--rollback"))

    found = fresh.instance("flow", "one")
    assert 'instance "one" from flow was terminated successfully' in text
    assert (found["status"], found["rollback"]) == ("terminated", {"outcome": "complete", "error": None})


@both
def test_commands_on_an_instance_that_is_missing(wrangler: Any) -> None:
    commands = [("describe",), ("pause",), ("restart",), ("send-event", "--type", "go")]

    for command, *more in commands:
        ran = wrangler("instances", command, "flow", "missing", *more)
        text = ran.out + ran.err
        assert ran.code == 1
        assert "instance.not_found [code: 10400]" in text or "Workflow instance 'missing' not found." in text


@both
def test_instances_terminate_of_a_finished_one(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("quick", "one")
    fresh.until_status("quick", "one")

    ran = wrangler("instances", "terminate", "quick", "one")

    assert ran.code == 1
    text = ran.out + ran.err
    assert "instance.cannot_terminate [code: 10401]" in text or "(instance.cannot_terminate)" in text


@both
def test_instances_restart(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")
    fresh.advance(86_400_000)
    before = fresh.until_status("flow", "one", "complete")

    text = said(wrangler("instances", "restart", "flow", "one"))
    after = fresh.until_status("flow", "one", "waiting")

    assert 'instance "one" from flow was restarted successfully' in text
    assert after["start"] > before["start"]


@both
def test_instances_restart_from_a_step(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    before = fresh.until_status("flow", "one", "waiting")
    fresh.advance(1_000)
    origin = ("--from-step-name", "nap", "--from-step-count", "1", "--from-step-type", "sleep")

    said(wrangler("instances", "restart", "flow", "one", *origin))
    after = fresh.until_status("flow", "one", "waiting")

    assert after["steps"][:2] == [{**step, "carried": "restart"} for step in before["steps"][:2]]
    assert after["steps"][2]["start"] > before["steps"][2]["start"]


@both
def test_instances_restart_from_a_step_that_never_ran(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")

    ran = wrangler("instances", "restart", "flow", "one", "--from-step-name", "never")

    assert ran.code == 1
    assert 'Step "never" not found in execution history' in ran.out + ran.err


@both
def test_instances_send_event(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"wait": "go"})
    fresh.until_status("flow", "one", "waiting")

    text = said(wrangler("instances", "send-event", "flow", "one", "--type", "go", "--payload", '{"by":"me"}'))

    assert 'The event with type "go" and payload "{"by":"me"}" was sent to the instance "one" from flow' in text
    assert fresh.until_status("flow", "one", "complete")["output"]["received"] == {"by": "me"}


@both
def test_instances_delete(wrangler: Any, fresh: DevProcess) -> None:
    for one in ("a", "b"):
        fresh.create("quick", one)

    text = said(wrangler("instances", "delete", "quick", "a", "b"))

    assert 'Deleted workflow instances from "quick": "a", "b"' in text
    assert fresh.get("/client/v4/accounts/x/workflows/quick/instances")["result"] == []


@both
def test_instances_delete_by_a_file(wrangler: Any, fresh: DevProcess, tmp_path: Path) -> None:
    for one in ("a", "b", "c"):
        fresh.create("quick", one)
    (tmp_path / "ids.json").write_text('["a", "c"]')

    text = said(wrangler("instances", "delete", "quick", "--filename", "ids.json"))

    assert 'Deleted workflow instances from "quick": "a", "c"' in text
    assert [row["id"] for row in fresh.get("/client/v4/accounts/x/workflows/quick/instances")["result"]] == ["b"]


@both
def test_instances_delete_of_one_that_is_missing(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("quick", "a")

    ran = wrangler("instances", "delete", "quick", "a", "missing")

    assert ran.code == 1
    assert "Failed to delete 1 workflow instance(s):" in ran.out + ran.err
    assert "- missing: workflows.api.error.instance.not_found" in ran.out + ran.err


@remote
def test_instances_terminate_all(wrangler: Any, fresh: DevProcess) -> None:
    for one in ("a", "b"):
        fresh.create("flow", one, {"nap": "1 day"})
        fresh.until_status("flow", one, "waiting")

    text = said(wrangler("instances", "terminate-all", "flow"))

    assert 'A job to terminate instances from Workflow "flow" has been started.' in text
    assert {fresh.instance("flow", one)["status"] for one in ("a", "b")} == {"terminated"}


@remote
def test_instances_terminate_all_in_one_status(wrangler: Any, fresh: DevProcess) -> None:
    for one in ("asleep", "held"):
        fresh.create("flow", one, {"nap": "1 day"})
        fresh.until_status("flow", one, "waiting")
    fresh.command("flow", "held", "pause")

    said(wrangler("instances", "terminate-all", "flow", "--status", "paused"))

    assert [fresh.instance("flow", one)["status"] for one in ("asleep", "held")] == ["waiting", "terminated"]


@both
def test_delete(wrangler: Any, fresh: DevProcess) -> None:
    fresh.create("quick", "one")

    text = said(wrangler("delete", "quick"))

    assert re.search(r'Workflow "quick" (instances )?removed successfully', text)
    assert fresh.get("/client/v4/accounts/x/workflows/quick/instances")["result"] == []
