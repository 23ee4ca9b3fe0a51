"""What code of a Worker cannot do to Stepwell: run it twice by a fork, or cancel it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess, until

Project = Callable[..., Path]
Start = Callable[..., DevProcess]

#: A step per way in which a child process may come back from where it was made; the parent goes on alone.
FORKS = """
import asyncio
import os
import sys
import threading
from pathlib import Path


def fork():
    child = os.fork()
    if child:
        print("parent of", child)
    return child


async def leave(how):
    if how == "returns":
        fork()
    elif how == "goes on":
        fork()
        await asyncio.sleep(0)
    elif how == "raises":
        if not fork():
            raise ValueError("the child")
    elif how == "exits":
        if not fork():
            sys.exit(0)
    elif how == "thread":
        await asyncio.to_thread(fork)
    elif how == "calls back":
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        def in_a_thread():
            fork()
            loop.call_soon_threadsafe(done.set)
        threading.Thread(target=in_a_thread).start()
        await done.wait()
    elif how == "prints":
        if not fork():
            print("printed by the child")
            os._exit(0)


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        marks = Path(event.payload.marks)

        @step.do("leave")
        async def first():
            await leave(event.payload.how)
            return os.getpid()

        @step.do("after")
        async def after():
            with marks.open("a") as file:
                print(os.getpid(), file=file)

        if event.payload.how == "in run":
            fork()
        await first()
        await after()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        fork()
        return Response(str(os.getpid()))
"""


@pytest.mark.parametrize(
    "how", ["returns", "goes on", "raises", "exits", "thread", "calls back", "in run", "prints"]
)
def test_a_forked_child_that_comes_back_is_ended_and_the_parent_goes_on(
    dev: Start, project: Project, tmp_path: Path, how: str
) -> None:
    server = dev(project(FORKS))
    marks = tmp_path / "marks"

    server.create("flow", "one", {"how": how, "marks": str(marks)})

    server.until_status("flow", "one", "complete")
    child = int(server.until_output(r"parent of (\d+)")[1])
    until("the child has ended", lambda: has_ended(child))
    assert marks.read_text() == f"{server.pid}\n"
    if how == "prints":
        server.until_output("printed by the child")
    else:
        server.until_output(rf"^The process {child} was created with os[.]fork\(\)")
    assert server.stop() == 0


def test_a_forked_child_of_a_handler_does_not_answer(dev: Start, project: Project) -> None:
    server = dev(project(FORKS))

    answers = {server.http.get("/").text for _ in range(3)}

    assert answers == {str(server.pid)}
    server.until_output(r"was created with os[.]fork\(\)")


#: Children that are meant to be: they never come back.
CHILDREN = """
import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor


def double(n):
    print("doubling", n)
    return 2 * n


def put(queue):
    async def main():
        await asyncio.sleep(0)
        return asyncio.get_running_loop() is not None

    queue.put(asyncio.run(main()))


async def work(how):
    context = multiprocessing.get_context("fork")
    if how == "pool":
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            loop = asyncio.get_running_loop()
            return await asyncio.gather(*(loop.run_in_executor(pool, double, n) for n in range(4)))
    if how == "process":
        queue = context.SimpleQueue()
        process = context.Process(target=put, args=(queue,))
        process.start()
        process.join()
        return [queue.get(), process.exitcode]
    if how == "terminated":
        process = context.Process(target=signal.pause)
        process.start()
        process.terminate()
        process.join()
        return process.exitcode
    if how == "exec":
        child = os.fork()
        if not child:
            os.execv(sys.executable, [sys.executable, "-c", "raise SystemExit(7)"])
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if how == "exit":
        child = os.fork()
        if not child:
            os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if how == "subprocess":
        run = subprocess.run(["echo", "hello"], capture_output=True, preexec_fn=os.getpid)
        process = await asyncio.create_subprocess_exec("echo", "again", stdout=subprocess.PIPE)
        out, _ = await process.communicate()
        return [run.stdout.decode(), out.decode()]


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("work")
        async def step_of_work():
            return await work(event.payload.how)

        return await step_of_work()
"""


@pytest.mark.parametrize(
    ("how", "output"),
    [
        ("pool", [0, 2, 4, 6]),
        ("process", [True, 0]),
        ("terminated", -signal.SIGTERM),
        ("exec", 7),
        ("exit", 7),
        ("subprocess", ["hello\n", "again\n"]),
    ],
)
def test_child_processes_that_do_not_come_back_work(dev: Start, project: Project, how: str, output: object) -> None:
    server = dev(project(CHILDREN))

    server.create("flow", "one", {"how": how})

    assert server.until_status("flow", "one", "complete")["output"] == output
    assert "os.fork()" not in server.output


OUTLIVES = """
import os
import signal


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("fork")
        def fork():
            child = os.fork()
            if not child:
                nowhere = os.open(os.devnull, os.O_RDWR)
                os.dup2(nowhere, 1)  # the test reads to the end of the output
                os.dup2(nowhere, 2)
                signal.pause()
            return child

        return await fork()
"""


def test_a_child_that_outlives_stepwell_holds_neither_its_folder_nor_its_port(dev: Start, project: Project) -> None:
    folder = project(OUTLIVES)
    server = dev(folder)
    server.create("flow", "one")
    child = server.until_status("flow", "one", "complete")["output"]
    port = server.url.rpartition(":")[2]
    server.kill()
    try:
        again = dev(folder, "--port", port)

        assert again.url == server.url
    finally:
        os.kill(child, signal.SIGKILL)


def has_ended(pid: int) -> bool:
    """Whether a process has ended, even if its parent has not asked for its exit code."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


CANCELS = """
import asyncio


async def cancel_everything():
    cancelled = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in cancelled:
        task.cancel()
    await asyncio.sleep(0)
    return len(cancelled)


class Cancels(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("cancel")
        async def cancel():
            own = asyncio.create_task(asyncio.sleep(60))
            return [await cancel_everything(), own.cancelled()]

        return await cancel()


class Itself(WorkflowEntrypoint):
    runs = 0

    async def run(self, event, step):
        @step.do("first")
        async def first():
            return 1

        await first()
        Itself.runs += 1
        if Itself.runs == 1:
            asyncio.current_task().cancel()
        await step.sleep("nap", 10)

        @step.do("last")
        async def last():
            return Itself.runs

        return await last()


class Works(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("work")
        async def work():
            print("working")
            await asyncio.sleep(1)
            return "worked"

        await step.wait_for_event("go", "go")
        return await work()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(str(await cancel_everything()))
"""
CANCELLING = [
    {"name": name, "binding": name.upper(), "class_name": name.title()} for name in ("cancels", "works", "itself")
]


def test_code_that_cancels_all_tasks_reaches_only_its_own(dev: Start, project: Project) -> None:
    server = dev(project(CANCELS, workflows=CANCELLING))
    server.create("works", "one")
    server.until_status("works", "one", "waiting")

    server.create("cancels", "one")
    answer = server.http.get("/")

    assert server.until_status("cancels", "one", "complete")["output"] == [1, True]
    assert answer.text == "0"
    server.http.post("/cdn-cgi/local/explorer/api/workflows/works/instances/one/events/go", json={})
    assert server.until_status("works", "one", "complete")["output"] == "worked"
    assert server.stop() == 0


def test_files_are_watched_after_code_has_cancelled_all_tasks(dev: Start, project: Project) -> None:
    folder = project(CANCELS, workflows=CANCELLING)
    server = dev(folder)
    server.http.get("/")

    (folder / "src" / "entry.py").write_text((folder / "src" / "entry.py").read_text() + "\n# changed\n")

    server.until_output("^Reloaded worker")


def test_a_run_that_cancels_itself_goes_on_at_once(dev: Start, project: Project) -> None:
    server = dev(project(CANCELS, workflows=CANCELLING))

    server.create("itself", "one")

    assert server.until_status("itself", "one", "complete")["output"] == 2


TASKS = """
import asyncio

from workers import WorkflowEntrypoint


def others():
    tasks = asyncio.all_tasks()
    tasks.remove(asyncio.current_task())
    return len(tasks)


class Tasks(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("count")
        async def count():
            await asyncio.sleep(0)
            return others()

        return [others(), await count()]
"""


def test_all_tasks_has_the_current_one_as_in_any_program(dev: Start, project: Project) -> None:
    server = dev(project(TASKS, workflows=[{"name": "tasks", "binding": "TASKS", "class_name": "Tasks"}]))

    server.create("tasks", "one")

    assert server.until_status("tasks", "one", "complete")["output"] == [0, 0]


LOOPS = """
import time

from workers import WorkflowEntrypoint


class Loops(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("first")
        async def first():
            return 1

        await first()
        print("loops", flush=True)
        while True:
            time.sleep(0.01)
"""


def test_an_unfinished_run_with_an_endless_loop_does_not_keep_stepwell_from_starting(
    dev: Start, project: Project
) -> None:
    folder = project(LOOPS, workflows=[{"name": "loops", "binding": "LOOPS", "class_name": "Loops"}])
    server = dev(folder)
    server.create("loops", "one")
    server.until_output("loops")
    server.kill()

    again = dev(folder)  # which waits for Ready

    again.until_output("loops")
    again.kill()
