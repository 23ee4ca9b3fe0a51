"""`stepwell workflows` and `stepwell clock` on a running emulator: what they print, and what they do."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from stepwell.emulator.cli.main import main
from tests.e2e.process import DevProcess

Run = Callable[..., Result]


@pytest.fixture
def run(fresh: DevProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command against the emulator, from a folder that is no project."""
    monkeypatch.chdir(tmp_path)
    port = fresh.url.rpartition(":")[2]

    def invoke(*arguments: str, code: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(main, [*arguments, "--port", port], input=stdin)
        assert result.exit_code == code, result.output
        return result

    return invoke


def said(result: Result) -> str:
    """What was printed, blanks made one."""
    return " ".join(result.output.split())


def test_list(run: Run) -> None:
    text = said(run("workflows", "list"))

    assert text.startswith("Name Class Script Instances Triggered flow Flow worker 0")


def test_list_in_json_is_the_result_as_it_is(run: Run, fresh: DevProcess) -> None:
    printed = json.loads(run("workflows", "list", "--json").output)

    assert printed == fresh.get("/client/v4/accounts/any/workflows")["result"]


def test_describe(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one")
    fresh.until_status("flow", "one", "complete")

    text = said(run("workflows", "describe", "flow"))

    assert "Name: flow" in text
    assert "Language: python" in text
    assert "complete: 1" in text


def test_trigger(run: Run, fresh: DevProcess) -> None:
    result = run("workflows", "trigger", "flow", '{"a": 1}', "--id", "mine")

    assert said(result).startswith('Instance "mine" of flow is ')
    assert fresh.until_status("flow", "mine", "complete")["params"] == {"a": 1}


@pytest.mark.parametrize("params", ['"text"', "5", "null", "[1]", "{}"])
def test_trigger_with_any_json(run: Run, fresh: DevProcess, params: str) -> None:
    run("workflows", "trigger", "quick", params, "--id", "mine")

    assert fresh.until_status("quick", "mine", "complete")["params"] == json.loads(params)


def test_trigger_with_what_is_no_json_does_nothing(run: Run, fresh: DevProcess) -> None:
    result = run("workflows", "trigger", "quick", "{a:1}", code=2)

    assert "PARAMS is not valid JSON: '{a:1}'" in said(result)
    assert fresh.get("/client/v4/accounts/any/workflows/quick/instances")["result"] == []


def test_a_refusal_is_told_with_cloudflares_text_and_what_to_do(run: Run, fresh: DevProcess) -> None:
    text = said(run("workflows", "describe", "nope", code=1))

    assert text == (
        'workflows.api.error.workflow.not_found [code: 10200] Workflow "nope" not found in this Worker.'
    )


def test_delete(run: Run, fresh: DevProcess) -> None:
    fresh.create("quick", "one")

    text = said(run("workflows", "delete", "quick", "--yes"))

    assert text.startswith('Deleted all instances of "quick".')
    assert fresh.get("/client/v4/accounts/any/workflows/quick/instances")["result"] == []


@pytest.mark.parametrize(
    ("flags", "left"), [((), set()), (("--finished",), {"waiting"}), (("--terminate",), {"terminated", "complete"})]
)
def test_wipe(run: Run, fresh: DevProcess, flags: tuple[str, ...], left: set[str]) -> None:
    """One command to terminate all, to delete what has finished, or to delete everything."""
    fresh.create("flow", "asleep", {"nap": "1 day"})
    fresh.create("quick", "done")
    fresh.until_status("flow", "asleep", "waiting")
    fresh.until_status("quick", "done", "complete")

    run("workflows", "wipe", "--yes", *flags)

    rows = [
        row
        for name in ("flow", "quick")
        for row in fresh.get(f"/client/v4/accounts/any/workflows/{name}/instances")["result"]
    ]
    assert {row["status"] for row in rows} == left


def test_wipe_asks_first(run: Run, fresh: DevProcess) -> None:
    fresh.create("quick", "one")

    result = run("workflows", "wipe", "quick", code=1, stdin="n\n")

    assert "Delete all instances of quick?" in result.output
    assert fresh.until_status("quick", "one", "complete")


def test_instances_list(run: Run, fresh: DevProcess) -> None:
    for one in ("first", "second"):
        fresh.create("quick", one)
        fresh.until_status("quick", one)

    down = said(run("workflows", "instances", "list", "quick"))
    up = said(run("workflows", "instances", "list", "quick", "--reverse"))

    assert down.index("second complete") < down.index("first complete")
    assert up.index("first complete") < up.index("second complete")


def test_instances_list_of_all_workflows_is_newest_first(run: Run, fresh: DevProcess) -> None:
    for workflow, instance in (("quick", "a"), ("flow", "b"), ("quick", "c")):
        fresh.create(workflow, instance)

    rows = json.loads(run("workflows", "instances", "list", "--json").output)
    second = json.loads(run("workflows", "instances", "list", "--json", "--per-page", "2", "--page", "2").output)

    assert [(row["workflow_name"], row["id"]) for row in rows] == [("quick", "c"), ("flow", "b"), ("quick", "a")]
    assert [row["id"] for row in second] == ["a"]
    assert said(run("workflows", "instances", "list")).startswith("Workflow Instance Status")


def test_instances_list_by_pages_and_filters(run: Run, fresh: DevProcess) -> None:
    for n in range(5):
        fresh.create("quick", f"i{n}")
        fresh.until_status("quick", f"i{n}")

    def ids(*flags: str) -> list[str]:
        rows = json.loads(run("workflows", "instances", "list", "quick", "--json", *flags).output)
        return [row["id"] for row in rows]

    assert ids("--page", "2", "--per-page", "2") == ["i2", "i1"]
    assert ids("--page", "4", "--per-page", "2") == []
    assert ids("--status", "errored") == []
    assert ids("--date-end", "2020-01-01") == []
    assert len(ids("--date-start", "2020-01-01T12:00:00Z")) == 5


def test_a_list_keeps_to_a_narrow_width_and_only_its_ids_are_folded(
    run: Run, fresh: DevProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    fresh.create("quick", "i" * 60)
    version = fresh.until_status("quick", "i" * 60)["versionId"]

    lines = run("workflows", "instances", "list", "quick").output.splitlines()

    assert max(map(len, lines)) <= 72
    assert re.search(rf"i  complete  \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d .* {version[:8]} *$", lines[1])
    assert sum(line.count("i") for line in lines[1:]) >= 60
    assert version not in "".join(lines)


def test_no_instances_are_told_with_how_to_make_one(run: Run) -> None:
    text = said(run("workflows", "instances", "list", "quick"))

    assert text == 'No instances of "quick" match. Create one with `stepwell workflows trigger quick`.'


def test_instances_describe(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"fail": 1, "nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")
    fresh.advance(60_000)

    text = said(run("workflows", "instances", "describe", "flow", "one"))

    assert "Instance: one" in text
    assert "Status: waiting" in text
    assert "error ValueError: attempt 1 failed" in text
    assert 'Output: {"prepared": {"fail": 1, "nap": "1 day"}}' in text
    assert 'Output: "[REDACTED]"' in text
    assert "Name: nap-1 Type: sleep" in text


def test_instances_describe_of_the_latest_in_short(run: Run, fresh: DevProcess) -> None:
    fresh.create("quick", "first")
    fresh.create("quick", "second")
    fresh.create("flow", "one", {"text": "x" * 50})
    fresh.until_status("flow", "one")

    assert "Instance: second" in said(run("workflows", "instances", "describe", "quick"))
    cut = run("workflows", "instances", "describe", "flow", "--truncate-output-limit", "20")
    assert '{"prepared": {"text"[...output truncated]' in said(cut)
    assert "prepared" not in run("workflows", "instances", "describe", "flow", "--no-step-output").output.partition(
        "Steps:"
    )[2].replace("prepare-1", "")


def test_an_instance_of_nothing_has_no_latest(run: Run) -> None:
    assert "There are no instances in workflow" in said(run("workflows", "instances", "describe", "flow", code=1))


def test_instances_are_paused_resumed_and_terminated(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")

    printed = [
        said(run("workflows", "instances", word, "flow", "latest")) for word in ("pause", "resume", "terminate")
    ]

    assert printed == [f'Instance "one" of flow is {status}.' for status in ("paused", "waiting", "terminated")]


def test_instances_restart_from_a_step(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    before = fresh.until_status("flow", "one", "waiting")
    fresh.advance(1_000)

    run("workflows", "instances", "restart", "flow", "one", "--from-step-name", "nap", "--from-step-type", "sleep")

    after = fresh.until_status("flow", "one", "waiting")
    assert after["steps"][:2] == [{**step, "carried": "restart"} for step in before["steps"][:2]]
    assert after["steps"][2]["start"] > before["steps"][2]["start"]


def test_a_count_without_a_step_is_refused(run: Run) -> None:
    result = run("workflows", "instances", "restart", "flow", "one", "--from-step-count", "2", code=2)

    assert "need --from-step-name" in said(result)


def test_instances_skip_sleep(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")

    run("workflows", "instances", "skip-sleep", "flow", "one", "--name", "nap")

    fresh.until_status("flow", "one", "complete")


def test_instances_time_out(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"wait": "go"})
    fresh.until_status("flow", "one", "waiting")

    run("workflows", "instances", "time-out", "flow", "one")

    fresh.until_status("flow", "one", "errored")


def test_instances_send_event(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"wait": "go"})
    fresh.until_status("flow", "one", "waiting")

    run("workflows", "instances", "send-event", "flow", "one", "--type", "go", "--payload", '{"by": "me"}')

    assert fresh.until_status("flow", "one", "complete")["output"]["received"] == {"by": "me"}


def test_instances_terminate_all(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")

    assert (
        said(run("workflows", "instances", "terminate-all", "flow", "--yes"))
        == 'Terminated all unfinished instances of "flow".'
    )
    assert fresh.instance("flow", "one")["status"] == "terminated"


def test_instances_delete(run: Run, fresh: DevProcess, tmp_path: Path) -> None:
    for one in ("a", "b", "c"):
        fresh.create("quick", one)
    listed = tmp_path / "ids.json"
    listed.write_text('["b", "missing"]')

    result = run("workflows", "instances", "delete", "quick", "a", "--filename", str(listed), code=1)

    assert said(result) == (
        'Deleted instances of quick: "a", "b" Not deleted: missing: workflows.api.error.instance.not_found'
    )


@pytest.mark.parametrize("arguments", [(), tuple(f"i{n}" for n in range(101))])
def test_a_hundred_instances_are_deleted_at_once_at_most(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("workflows", "instances", "delete", "quick", *arguments, code=2)

    assert f"Pass 1 to 100 instance ids (got {len(arguments)})." in said(result)


def test_the_clock_is_shown_and_moved(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")
    before: Any = json.loads(run("clock", "show", "--json").output)

    after = json.loads(run("clock", "advance", "2", "hours", "--json").output)

    assert before["next_at"] is not None
    assert abs(after["skew_ms"] - before["skew_ms"] - 7_200_000) < 1_000
    assert fresh.instance("flow", "one")["status"] == "waiting"


def test_the_clock_is_moved_to_what_is_due(run: Run, fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"nap": "1 day"})
    fresh.until_status("flow", "one", "waiting")

    text = said(run("clock", "next"))

    assert text.endswith("Next: nothing scheduled")
    assert fresh.instance("flow", "one")["status"] == "complete"


def test_the_clock_without_a_word_is_shown_with_its_zone(
    run: Run, fresh: DevProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "XXX+03")
    time.tzset()

    text = said(run("clock"))

    monkeypatch.undo()
    time.tzset()
    assert re.match(r"Time: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC-03:00 ", text), text


def test_options_of_the_clock_may_stand_before_the_word(fresh: DevProcess, tmp_path: Path) -> None:
    port = fresh.url.rpartition(":")[2]

    result = CliRunner().invoke(main, ["clock", "--port", port, "--json", "show"])

    assert json.loads(result.output)["skew_ms"] >= 0
