"""What the terminal shows, and what it does not."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess
from tests.e2e.projects import ANSWERS

Project = Callable[..., Path]
Start = Callable[..., DevProcess]

PRINTS = """
import sys


async def note(step, name):
    @step.do(name)
    async def noted():
        print("in", name)
        return name

    return await noted()


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        print("outside of steps")
        for name in ("one", "two", "three"):
            await note(step, name)


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        print("asked")
        print("to stderr", file=sys.stderr)
        return Response("hello")
"""
#: What a line may look like: the Ready line, a change of an instance, a print with where it came from, a plain one.
KNOWN = re.compile(
    r"Ready on http://\S+|\d\d:\d\d:\d\d flow/\S+ .*|\[\S+ (one|two|three)-1\] in \w+|\[\S+\] outside of steps|"
    r"\.\.\. and updates for \d+ more instances"
)


def test_a_clean_run_prints_a_line_per_change_and_the_user_s_own_output(dev: Start, project: Project) -> None:
    server = dev(project(PRINTS))
    for n in range(20):
        server.create("flow", f"i-{n}")
    for n in range(20):
        server.until_status("flow", f"i-{n}", "complete")

    server.stop()

    assert [line for line in server.output.splitlines() if not KNOWN.fullmatch(line)] == []
    assert server.output.count("in two") == 20


def test_a_clean_start_and_stop_prints_one_line(dev: Start, project: Project) -> None:
    server = dev(project(PRINTS))
    url = server.url

    server.stop()

    assert server.output == f"Ready on {url}\n"


def test_an_event_timeout_that_is_caught_is_no_alarm(dev: Start, project: Project) -> None:
    server = dev(
        project("""
            class Flow(WorkflowEntrypoint):
                async def run(self, event, step):
                    try:
                        await step.wait_for_event("answer", "answer", timeout="1 second")
                    except Exception as error:
                        return {"nobody": "answered"}
        """)
    )
    server.create("flow", "one")
    server.until_status("flow", "one", "waiting")

    server.advance(1_000)
    server.until_output("flow/one complete")

    assert server.instance("flow", "one")["output"] == {"nobody": "answered"}
    assert not re.search("warn|error|exception|traceback", server.output, re.IGNORECASE)


def test_a_print_names_its_instance_and_step(dev: Start, project: Project) -> None:
    server = dev(project(PRINTS))

    server.create("flow", "one")

    server.until_output(r"^\[one two-1\] in two$")


def test_prints_of_many_instances_keep_apart(dev: Start, project: Project) -> None:
    server = dev(project(PRINTS))

    for n in range(10):
        server.create("flow", f"i-{n}")

    for n in range(10):
        server.until_output(rf"^\[i-{n} three-1\] in three$")


def test_what_a_handler_prints_is_shown_as_it_is(dev: Start, project: Project) -> None:
    server = dev(project(PRINTS))

    server.http.get("/")

    server.until_output("^asked$")
    server.until_output("^to stderr$")


def test_an_error_in_a_handler_shows_the_user_s_traceback_and_answers_500(dev: Start, project: Project) -> None:
    server = dev(
        project(
            """
            def fail():
                raise LookupError("nothing here")


            class Default(WorkerEntrypoint):
                async def fetch(self, request):
                    return fail()
            """,
            workflows=None,
        )
    )

    answer = server.http.get("/")

    assert answer.status_code == 500
    server.until_output(r'entry\.py", line \d+, in fail')
    server.until_output("LookupError: nothing here")
    assert not re.search(r"(emulator|bindings|site-packages)/", server.output), server.output


def test_a_failed_step_shows_the_user_s_traceback_and_none_of_ours(dev: Start, project: Project) -> None:
    server = dev(
        project("""
            class Flow(WorkflowEntrypoint):
                async def run(self, event, step):
                    @step.do("s", config={"retries": {"limit": 0, "delay": 0}})
                    async def s():
                        return {}["key"]

                    await s()
        """)
    )

    server.create("flow", "one")

    server.until_output(r"flow/one errored")
    server.until_output("KeyError: 'key'")
    assert server.output.count('entry.py", line 7, in s') == 1, "the instance fails with the step's traceback"
    assert server.output.count("errored") == 1
    assert not re.search(r"(emulator|bindings|site-packages)/", server.output), server.output


@pytest.mark.parametrize(("variable", "coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_colours_are_for_those_who_want_them(dev: Start, project: Project, variable: str, coloured: bool) -> None:
    server = dev(project(PRINTS), env={variable: "1"})

    server.until_output("Ready on")

    assert ("\x1b[" in server.output) is coloured


def test_a_request_while_the_server_starts_is_none_that_is_lost(dev: Start, project: Project) -> None:
    """Ready means ready: the first request after the line is answered by the Worker."""
    server = dev(project(ANSWERS, workflows=None))

    assert server.http.get("/").text == "hello"


ODD_TEXTS = (
    """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("prints")
        async def prints():
            print("smile \\U0001f600, half \\ud800")

        @step.do("raises", config={"retries": {"limit": 0, "delay": 0}})
        async def raises():
            raise ValueError("half \\ud800")

        await prints()
        await raises()
"""
    + ANSWERS
)


@pytest.mark.parametrize("encoding", ["utf-8", "latin1"])
def test_a_text_that_the_terminal_cannot_show_fails_no_step_and_silences_nothing(
    dev: Start, project: Project, encoding: str
) -> None:
    server = dev(project(ODD_TEXTS), env={"PYTHONIOENCODING": encoding})
    server.create("flow", "odd")

    server.until_output(r"prints-1\] smile .*, half \\ud800$")
    server.until_output(r"flow/odd prints-1 done in")
    server.until_output(r"flow/odd errored: .*ValueError: half \\ud800$")


SLEEPS = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        await step.sleep("nap", "2 days")
"""


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "XXX-05:30"])
def test_times_are_those_of_the_machine_s_zone_and_a_new_day_is_told(
    dev: Start, project: Project, zone: str
) -> None:
    server = dev(project(SLEEPS), env={"TZ": zone})
    server.create("flow", "one")
    server.until_output(r"flow/one nap-1 sleeping until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\+05:30$")
    until = re.search(r"sleeping until (\S+) (\S+):", server.output)
    assert until is not None

    server.advance(2 * 86_400_000)

    server.until_output(r"^The clock was moved by 2 days: it is now \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\+05:30\.$")
    server.until_output(rf"^{until[1]} {until[2]}:\d\d flow/one nap-1 woke up$")
    server.until_output(r"^\d\d:\d\d:\d\d flow/one complete$")


def test_a_start_with_a_moved_clock_says_what_time_it_is(dev: Start, project: Project) -> None:
    folder = project(SLEEPS)
    first = dev(folder)
    first.advance(86_400_000)
    first.stop()

    dev(folder).until_output(r"^The clock is 1 day ahead of real time: \S+ \S+ UTC\S*\.$")


def test_requests_to_the_worker_get_a_line_each_when_asked_for(dev: Start, project: Project) -> None:
    server = dev(project(ANSWERS, workflows=None), "--log-requests")

    server.http.get("/a%20path?q=1")
    server.get("/cdn-cgi/local/stepwell/clock")
    server.http.post("/other")

    server.until_output(r"^GET /a%20path\?q=1 200 \d+ ms$")
    server.until_output(r"^POST /other 200 \d+ ms$")
    assert "cdn-cgi" not in server.output


def test_what_is_no_http_is_told_with_its_time_and_what_to_do(dev: Start, project: Project) -> None:
    server = dev(project(ANSWERS, workflows=None))
    address = ("127.0.0.1", int(server.url.rpartition(":")[2]))

    with socket.create_connection(address) as client:
        client.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")

        server.until_output(r"^\d\d:\d\d:\d\d Rejected a non-HTTP request .400.*use http:// instead\.$")


BEGINS = (
    """
import asyncio
import logging


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("write")
        async def write():
            print("begun by", end=" ")
            await asyncio.sleep(0.02)
            print(event.instanceId, end="")
            logging.warning("logged by %s", event.instanceId)

        await write()
"""
    + ANSWERS
)


def test_begun_lines_and_logs_are_known_by_their_instance(dev: Start, project: Project) -> None:
    server = dev(project(BEGINS))
    for n in range(5):
        server.create("flow", f"i-{n}")
    for n in range(5):
        server.until_status("flow", f"i-{n}", "complete")

    said = server.output
    assert [n for n in range(5) if f"[i-{n} write-1] begun by i-{n}\n" not in said] == []
    assert [n for n in range(5) if f"[i-{n} write-1] WARNING:root:logged by i-{n}\n" not in said] == []


ORDERED = (
    """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        print("run begins")

        @step.do("first")
        async def first():
            print("in first")

        await first()
        print("after first")
"""
    + ANSWERS
)


def test_what_is_printed_stands_among_the_events_in_the_order_of_both(dev: Start, project: Project) -> None:
    server = dev(project(ORDERED))
    server.create("flow", "i-1")
    server.until_output("i-1 complete")

    texts = ["i-1 started", "[i-1] run begins", "[i-1 first-1] in first", "i-1 first-1 done", "[i-1] after first"]
    places = [server.output.find(text) for text in [*texts, "i-1 complete"]]
    assert -1 not in places
    assert places == sorted(places)


CONFIGURES = (
    """
import logging

logging.basicConfig(level=logging.DEBUG, format="<%(name)s> %(levelname)s %(message)s")
log = logging.getLogger(__name__)
EDITS = 0


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("write")
        async def write():
            log.info("written %s", EDITS)

        await write()
"""
    + ANSWERS
)


def test_user_code_sets_logging_up_and_sees_only_its_own_records(dev: Start, project: Project) -> None:
    folder = project(CONFIGURES)
    server = dev(folder)
    server.create("flow", "i-1")
    server.until_output(r"\[i-1 write-1\] <entry> INFO written 0")
    source = folder / "src" / "entry.py"
    source.write_text(source.read_text().replace("EDITS = 0", "EDITS = 1"))
    server.until_output("Reloaded")
    server.create("flow", "i-2")
    server.until_output(r"\[i-2 write-1\] <entry> INFO written 1")

    assert [line for line in server.output.splitlines() if "<" in line and "<entry>" not in line] == []
    assert len([line for line in server.output.splitlines() if "<entry>" in line]) == 2


RAISES = """
import json
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def scheduled(self, controller, env, ctx):
        json.loads("{")

    async def fetch(self, request):
        json.loads("{")
"""


@pytest.mark.parametrize(("path", "handler"), [("/cdn-cgi/handler/scheduled", "scheduled"), ("/", "fetch")])
def test_an_error_that_leaves_a_handler_is_told_by_the_users_frames(
    dev: Start, project: Project, path: str, handler: str
) -> None:
    server = dev(project(RAISES, workflows=None))

    server.http.get(path)
    server.until_output("JSONDecodeError")

    told = server.output.partition(f"Uncaught (in {handler})")[2]
    assert re.search(rf'src/entry\.py", line \d+, in {handler}\n', told)
    assert "  ... 3 frames in json\n" in told
    assert told.count("File ") == 1


RAW = """
import asyncio, ctypes, os, subprocess, sys, threading
from concurrent.futures import ThreadPoolExecutor

KINDS = {}


def kind(function):
    KINDS[function.__name__] = function


@kind
async def thread():
    running = threading.Thread(target=print, args=["said"])
    running.start()
    running.join()


@kind
async def pool():
    with ThreadPoolExecutor() as pool:
        pool.submit(print, "said").result()


@kind
async def child():
    subprocess.run([sys.executable, "-c", "print('said')"], check=True)


@kind
async def child_to_stderr():
    subprocess.run([sys.executable, "-c", "import sys; print('said', file=sys.stderr)"], check=True)


@kind
async def child_of_the_loop():
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('said')")
    await child.wait()


@kind
async def shell():
    os.system("echo said")


@kind
async def descriptor():
    os.write(1, b"said\\n")


@kind
async def c_code():
    ctypes.CDLL(None).write(1, b"said\\n", 5)


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        for name, function in KINDS.items():
            async def call():
                print("before")
                await function()
                print("after")

            await step.do(name)(call)()

        @step.do("half_a_line")
        async def half_a_line():
            os.write(1, b"said")

        await half_a_line()
"""
RAW_KINDS = [
    "thread",
    "pool",
    "child",
    "child_to_stderr",
    "child_of_the_loop",
    "shell",
    "descriptor",
    "c_code",
]


def test_output_that_passes_python_by_is_in_order_and_known_by_its_step(dev: Start, project: Project) -> None:
    server = dev(project(RAW))
    server.create("flow", "one")
    server.until_status("flow", "one", "complete")
    server.stop()

    said = [line for line in server.output.splitlines() if line.startswith(("[one", "said"))]
    assert said[:-1] == [f"[one {name}-1] {text}" for name in RAW_KINDS for text in ("before", "said", "after")]


def test_a_line_that_passes_python_by_ends_with_its_step(dev: Start, project: Project) -> None:
    server = dev(project(RAW))
    server.create("flow", "one")

    server.until_output(r"^\[one half_a_line-1\] said$")
