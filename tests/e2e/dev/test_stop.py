"""Ctrl-C, once and twice."""

from __future__ import annotations

import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess, until

Project = Callable[..., Path]
Start = Callable[..., DevProcess]

#: A step that works until a file is there; what it has done is in another.
WORKS = """
import asyncio
from pathlib import Path


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        here = Path(event.payload["here"])

        @step.do("work")
        async def work():
            with (here / "done").open("a") as done:
                print("working", file=done)
            print("working")
            while not (here / "go").exists():
                await asyncio.sleep(0.005)
            return "worked"

        return await work()


class Blocks(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("block")
        def block():
            print("blocking")
            while True:
                pass

        await block()
"""


@pytest.fixture
def folder(project: Project) -> Path:
    blocks = {"name": "blocks", "binding": "BLOCKS", "class_name": "Blocks"}
    return project(WORKS, workflows=[{"name": "flow", "binding": "FLOW", "class_name": "Flow"}, blocks])


@pytest.fixture
def server(dev: Start, folder: Path) -> DevProcess:
    return dev(folder)


def impatient(server: DevProcess) -> int:
    """Ctrl-C again and again (two that come at once are one to the operating system); gives the exit code."""

    def ended() -> bool:
        if server.is_running:
            server.signal()
        return not server.is_running

    until("the end", ended)
    return server.wait()


def test_ctrl_c_ends_it_with_exit_code_0_and_no_traceback(server: DevProcess) -> None:
    assert server.url

    assert server.stop() == 0
    assert "Traceback" not in server.output


def test_sigterm_ends_it_like_ctrl_c(server: DevProcess) -> None:
    assert server.url

    server.signal(signal.SIGTERM)

    assert server.wait() == 0


def test_a_step_in_flight_may_end_and_does_not_run_again(
    dev: Start, folder: Path, server: DevProcess, tmp_path: Path
) -> None:
    server.create("flow", "one", {"here": str(tmp_path)})
    server.until_output("working")
    server.signal()
    server.until_output("^Stopping: waiting up to 5 s for 1 step[.] Press Ctrl-C again to stop now[.]$")

    (tmp_path / "go").touch()

    assert server.wait() == 0
    again = dev(folder)
    assert again.until_status("flow", "one", "complete")["output"] == "worked"
    assert (tmp_path / "done").read_text() == "working\n"


def test_a_second_ctrl_c_ends_it_at_once_and_the_step_runs_again_at_the_next_start(
    dev: Start, folder: Path, server: DevProcess, tmp_path: Path
) -> None:
    server.create("flow", "one", {"here": str(tmp_path)})
    server.until_output("working")
    asked_at = time.monotonic()

    assert impatient(server) == 130
    assert time.monotonic() - asked_at < 2
    (tmp_path / "go").touch()
    again = dev(folder).until_status("flow", "one", "complete")
    assert [attempt["success"] for attempt in again["steps"][0]["attempts"]] == [False, True]
    assert (tmp_path / "done").read_text() == "working\nworking\n"


def test_code_that_blocks_everything_is_ended_by_the_second_ctrl_c(server: DevProcess) -> None:
    server.create("blocks", "one")
    server.until_output("blocking")

    assert impatient(server) == 130


def test_code_that_blocks_everything_is_named_and_ended_at_the_first_signal(server: DevProcess) -> None:
    server.create("blocks", "one")
    server.until_output(r'^The step "block-1" of blocks/one [(].*:\d+ in block[)] has blocked the event loop')

    server.signal(signal.SIGTERM)

    assert server.wait() == 1
    assert re.search(
        r'^Forced exit: The step "block-1" of blocks/one .* was still blocking', server.output, re.MULTILINE
    )


def test_the_dashboard_says_at_its_first_opening_what_holds_everything(server: DevProcess) -> None:
    server.create("blocks", "one")
    server.until_output("has blocked the event loop")

    page = server.http.get("/__dashboard/workflows/blocks/instances/one").text

    assert "Its own code" in page
    assert re.findall(r"<li><code>[^<]*entry.py:\d+ in ([^<]+)</code>", page)[-1] == "block"
    assert "bin/stepwell" not in page
    assert impatient(server) == 130


def test_a_stopped_server_leaves_no_word_of_where_it_answers(server: DevProcess, tmp_path: Path) -> None:
    assert server.url

    server.stop()

    assert not (tmp_path / "state" / "server.json").exists()


def test_an_instance_that_sleeps_does_not_hold_up_the_stop(dev: Start, project: Project) -> None:
    folder = project(
        "class Flow(WorkflowEntrypoint):\n    async def run(self, event, step):\n"
        "        await step.sleep('nap', '1 day')\n"
    )
    server = dev(folder)
    server.create("flow", "one")
    server.until_status("flow", "one", "waiting")
    asked_at = time.monotonic()

    assert server.stop() == 0
    assert time.monotonic() - asked_at < 2


def test_an_open_page_of_the_dashboard_does_not_hold_up_the_stop(server: DevProcess) -> None:
    with server.http.stream("GET", "/__dashboard/stream", params={"watch": "list"}) as stream:
        events = stream.iter_lines()
        assert next(events) == "retry: 1000"
        asked_at = time.monotonic()

        assert server.stop() == 0
        assert time.monotonic() - asked_at < 1.5
        assert "event: stopped" in list(events)


@pytest.mark.parametrize("gone", ["state", "state/stepwell.sqlite"])
def test_a_state_folder_that_is_deleted_while_it_is_in_use_ends_the_run_in_one_paragraph(
    server: DevProcess, tmp_path: Path, gone: str
) -> None:
    ready = f"Ready on {server.url}\n"
    path = tmp_path / gone

    shutil.rmtree(path) if path.is_dir() else path.unlink()

    assert server.wait() == 1
    said = server.output.removeprefix(ready)
    assert said.startswith(f"The state folder {tmp_path / 'state'} was deleted or moved, so Stepwell has stopped")
    assert "Start Stepwell again" in said
    assert said.count("\n") == 1


def test_a_state_folder_that_another_process_has_made_anew_is_left_alone(
    dev: Start, folder: Path, server: DevProcess, tmp_path: Path
) -> None:
    assert server.url
    (tmp_path / "state").rename(tmp_path / "moved")
    other = dev(folder)
    other.create("flow", "kept", {"here": str(tmp_path)})

    assert server.wait() == 1
    other.kill()

    assert (tmp_path / "state" / "server.json").exists()
    assert dev(folder).instance("flow", "kept")["status"] == "running"


ENDS = """
import asyncio


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("end")
        async def end():
            if event.payload.how == "interrupt":
                raise KeyboardInterrupt
            if event.payload.how == "stop":
                asyncio.get_running_loop().stop()

            async def beside():
                raise SystemExit(3)

            asyncio.create_task(beside())
            await asyncio.sleep(0)
            raise ValueError("after the task")

        await end()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        raise KeyboardInterrupt
"""


@pytest.mark.parametrize(
    ("how", "told"),
    [("interrupt", "KeyboardInterrupt"), ("stop", "A Worker can't stop"), ("exit in a task", "after the task")],
)
def test_a_step_cannot_end_the_emulator(dev: Start, project: Project, how: str, told: str) -> None:
    server = dev(project(ENDS))
    server.create("flow", "ends", {"how": how})

    server.until_output(rf"end-1 attempt 1 failed: .*{told}")

    assert server.instance("flow", "ends")["status"] == "waiting"


def test_a_handler_cannot_end_the_emulator(dev: Start, project: Project) -> None:
    server = dev(project(ENDS))

    assert server.http.get("/").status_code == 500
    assert server.http.get("/").status_code == 500


def test_a_step_that_ends_during_the_stop_is_reported_without_a_traceback(
    server: DevProcess, tmp_path: Path
) -> None:
    server.create("flow", "one", {"here": str(tmp_path)})
    server.until_output("working")
    server.signal(signal.SIGTERM)
    server.until_output("^Stopping: ")

    (tmp_path / "go").touch()

    assert server.wait() == 0
    assert re.search(r"flow/one work-1 done in ", server.output)
    assert re.search(r"flow/one complete", server.output)
    assert "Traceback" not in server.output


#: Each way in which code of a Worker may refuse to end.
REFUSES = """
import asyncio
import threading
import time


async def closes_slowly():
    try:
        yield 1
    finally:
        await asyncio.sleep(60)


async def refuse(how):
    if how == "threads":
        await asyncio.gather(*(asyncio.to_thread(time.sleep, 60) for _ in range(50)))
    elif how == "own threads":
        for _ in range(50):
            threading.Thread(target=time.sleep, args=(60,)).start()
    elif how == "swallows":
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass
    elif how == "generator":
        async for _ in closes_slowly():
            await asyncio.sleep(60)
    elif how == "prints":
        while True:
            print("still here")
            await asyncio.to_thread(time.sleep, 0.01)


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("work")
        async def work():
            print(f"begins {event.payload.how}")
            await refuse(event.payload.how)

        await work()
"""


def test_code_that_refuses_to_end_does_not_outlast_the_promised_time(dev: Start, project: Project) -> None:
    server = dev(project(REFUSES))
    for n, how in enumerate(["threads", "own threads", "swallows", "generator", "prints"]):
        server.create("flow", f"i{n}", {"how": how})
        server.until_output(f"begins {how}")
    asked_at = time.monotonic()

    server.signal(signal.SIGTERM)

    assert server.wait() == 0
    assert time.monotonic() - asked_at < 8
    assert "4 steps did not finish in time." in server.output
    assert re.search(r"^\d+ threads of the Worker were still running and ended", server.output, re.MULTILINE)
    assert "Traceback" not in server.output


ROLLS_BACK = """
import asyncio
from pathlib import Path


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        here = Path(event.payload["here"])

        async def undo(given):
            with (here / "undone").open("a") as undone:
                print(given["stepName"], file=undone)
            print("undoing", given["stepName"])
            while given["stepName"] == "b-1" and not (here / "go").exists():
                await asyncio.sleep(0.005)

        for name in "abc":
            @step.do(name, rollback=undo)
            async def work():
                return name

            await work()
        raise ValueError("undo")
"""


@pytest.mark.parametrize("compat", ["on", "off"])
def test_a_stop_during_a_rollback_runs_the_remaining_handlers_at_the_next_start(
    dev: Start, project: Project, tmp_path: Path, compat: str
) -> None:
    folder = project(ROLLS_BACK)
    server = dev(folder)
    server.create("flow", "one", {"here": str(tmp_path)})
    server.until_output("undoing b-1")

    assert impatient(server) == 130
    (tmp_path / "go").touch()
    again = dev(folder, "--compat", f"resume_rollbacks={compat}")
    found = again.until_status("flow", "one", "errored")

    undone = (tmp_path / "undone").read_text().split()
    if compat == "on":
        assert undone == ["c-1", "b-1", "b-1", "a-1"]
        assert found["rollback"] == {"outcome": "complete", "error": None}
    else:
        assert undone == ["c-1", "b-1"]
        assert found["rollback"] == {"outcome": "failed", "error": None}
        again.until_output("its remaining handlers do not run")
