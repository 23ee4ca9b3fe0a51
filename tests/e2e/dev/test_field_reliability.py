"""Field cases of reliability: stopped processes, failing constructors, large results, classes that are gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import ANSWERS, config, workflow, write_config, write_entry

Project = Callable[..., Path]
Start = Callable[..., DevProcess]

#: Four ways to be unfinished, each for a fraction of a second.
UNFINISHED = """
import asyncio
from pathlib import Path


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        kind, file = event.payload.kind, Path(event.payload.file)
        short = event.payload.short

        def note(word):
            with file.open("a") as marks:
                print(event.instanceId, word, file=marks)

        @step.do("before")
        async def before():
            note("before")

        @step.do("work", config={"retries": {"limit": 3, "delay": short, "backoff": "constant"}})
        async def work(ctx):
            note(f"attempt {ctx.attempt}")
            if kind == "retry" and ctx.attempt == 1:
                raise ValueError("not yet")
            if kind == "step" and ctx.attempt == 1:
                await asyncio.Event().wait()
            return ctx.attempt

        await before()
        if kind == "sleep":
            await step.sleep("nap", short)
        if kind == "event":
            try:
                await step.wait_for_event("answer", "answer", timeout=short)
            except Exception as error:
                return str(error)
        return await work()
"""
KINDS = ("sleep", "step", "retry", "event")
SHORT_MS = 1_500


def test_every_unfinished_instance_goes_on_after_a_restart_with_no_call_made(
    dev: Start, project: Project, tmp_path: Path
) -> None:
    folder, marks = project(UNFINISHED), tmp_path / "marks"
    first = dev(folder)
    for kind in KINDS:
        first.create("flow", kind, {"kind": kind, "file": str(marks), "short": SHORT_MS})
    for kind in ("sleep", "retry", "event"):
        first.until_status("flow", kind, "waiting")
    first.until_output("step before-1 done")
    first.kill()
    killed_at = time.monotonic()

    again = dev(folder)
    ends = {kind: again.until_output(rf"flow/{kind} (complete|errored)")[1] for kind in KINDS}

    assert ends == dict.fromkeys(KINDS, "complete")
    assert time.monotonic() - killed_at < 10
    outputs = {kind: again.instance("flow", kind)["output"] for kind in KINDS}
    assert outputs == {"sleep": 1, "step": 2, "retry": 2, "event": outputs["event"]}
    assert f"timed out after {SHORT_MS}ms" in outputs["event"]
    assert sorted(marks.read_text().splitlines()) == [
        "event before",
        "retry attempt 1",
        "retry attempt 2",
        "retry before",
        "sleep attempt 1",
        "sleep before",
        "step attempt 1",
        "step attempt 2",
        "step before",
    ]


def test_a_wait_that_is_overdue_at_the_start_ends_at_once(dev: Start, project: Project) -> None:
    folder = project("""
        class Flow(WorkflowEntrypoint):
            async def run(self, event, step):
                await step.sleep("nap", 50)
                await step.sleep("night", "10 hours")
                await step.sleep("winter", "100 days")
    """)
    first = dev(folder)
    first.create("flow", "one")
    first.until_output("night-1 sleeping")
    first.advance(3_600_000)
    first.kill()

    again = dev(folder)
    again.advance(9 * 3_600_000)

    again.until_output("winter-1 sleeping")


def test_a_constructor_that_raises_fails_its_instance_and_nothing_else(dev: Start, project: Project) -> None:
    server = dev(
        project(
            """
            class Bad(WorkflowEntrypoint):
                def __init__(self, ctx, env):
                    super().__init__(ctx, env)
                    raise ValueError("ctor")

                async def run(self, event, step):
                    return 1


            class Flow(WorkflowEntrypoint):
                async def run(self, event, step):
                    await step.sleep("nap", "1 hour")
                    return 1
            """,
            workflows=[workflow(), workflow(name="bad", binding="BAD", class_name="Bad")],
        )
    )
    server.create("flow", "other")
    server.until_status("flow", "other", "waiting")

    server.create("bad", "one")

    assert "ctor" in server.until_status("bad", "one", "errored")["error"]["message"]
    server.advance(3_600_000)
    server.until_status("flow", "other", "complete")


LARGE = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("large", config={"retries": {"limit": 0, "delay": 0}})
        async def large():
            return "x" * event.payload.characters

        return len(await large())
"""


def test_a_result_of_a_million_characters_passes(dev: Start, project: Project) -> None:
    server = dev(project(LARGE))

    server.create("flow", "one", {"characters": 1_000_000})

    assert server.until_status("flow", "one", "complete")["output"] == 1_000_000


def test_a_result_over_a_mebibyte_fails_with_the_name_of_the_step_and_the_limit(
    dev: Start, project: Project
) -> None:
    server = dev(project(LARGE))

    server.create("flow", "one", {"characters": 1_100_000})

    message = server.until_status("flow", "one", "errored")["error"]["message"]
    assert "Step large-1 output is too large. Maximum allowed size is 1MiB." in message


def test_the_limit_can_be_changed(dev: Start, project: Project) -> None:
    server = dev(project(LARGE), "--limits", f"step_result_bytes={2 * 1024 * 1024}")

    server.create("flow", "one", {"characters": 1_100_000})

    assert server.until_status("flow", "one", "complete")["output"] == 1_100_000


SLEEPER = """
class {name}(WorkflowEntrypoint):
    async def run(self, event, step):
        await step.sleep("nap", "1 hour")
        return "{name}"
"""


@pytest.fixture
def parked(dev: Start, project: Project) -> Path:
    """A project with an instance that sleeps, its server stopped."""
    folder = project(SLEEPER.format(name="Flow") + ANSWERS)
    server = dev(folder)
    server.create("flow", "parked")
    server.until_status("flow", "parked", "waiting")
    server.stop()
    return folder


def test_an_instance_whose_class_was_renamed_goes_on_with_the_new_one(dev: Start, parked: Path) -> None:
    write_entry(parked, SLEEPER.format(name="Renamed"))
    write_config(parked, config(workflows=[workflow(class_name="Renamed")]))

    server = dev(parked)
    server.advance(3_600_000)

    assert server.until_status("flow", "parked", "complete")["output"] == "Renamed"


def test_an_instance_whose_workflow_is_gone_stays_and_goes_on_when_it_is_back(dev: Start, parked: Path) -> None:
    write_config(parked, config(workflows=[]))
    without = dev(parked)
    without.advance(3_600_000)
    assert without.http.get("/").text == "hello"
    assert without.instance("flow", "parked")["status"] == "waiting"
    assert without.stop() == 0

    write_config(parked, config())
    server = dev(parked)

    assert server.until_status("flow", "parked", "complete")["output"] == "Flow"
