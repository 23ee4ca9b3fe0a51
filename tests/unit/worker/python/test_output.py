"""What user code prints is known by where it runs; everything else prints as ever."""

from __future__ import annotations

import asyncio
import io
import logging
import pdb
import sys
import threading
from contextvars import copy_context
from typing import Any

import pytest

from stepwell.bindings.context import StepFrame, at_attempt_end, current_step
from stepwell.emulator.worker.console import ConsoleLine
from stepwell.emulator.worker.python.output import (
    RoutedStream,
    end_output,
    enter_output,
    is_of_user_code,
    routed_output,
)

pytestmark = pytest.mark.anyio


def in_worker(emit: Any, function: Any, frame: StepFrame | None = None) -> None:
    def inside() -> None:
        enter_output(emit)
        current_step.set(frame)
        function()

    copy_context().run(inside)


@pytest.fixture
def lines() -> list[ConsoleLine]:
    return []


def test_what_a_worker_prints_is_passed_on_line_by_line(lines: list[ConsoleLine]) -> None:
    with routed_output():
        in_worker(lines.append, lambda: print("a", 1, "\nb"))

    assert lines == [ConsoleLine(logging.INFO, "a 1 "), ConsoleLine(logging.INFO, "b")]


def test_what_goes_to_standard_error_is_a_warning(lines: list[ConsoleLine]) -> None:
    with routed_output():
        in_worker(lines.append, lambda: print("a", file=sys.stderr))

    assert lines == [ConsoleLine(logging.WARNING, "a")]


def test_a_line_is_known_by_its_instance_and_step(lines: list[ConsoleLine]) -> None:
    frame = StepFrame("orders", "i-1", 1, "charge-1", 1, 1)
    with routed_output():
        in_worker(lines.append, lambda: print("a"), frame)

    assert lines == [ConsoleLine(logging.INFO, "a", "i-1", "charge-1")]


def test_a_line_is_passed_on_when_it_is_whole(lines: list[ConsoleLine]) -> None:
    def dots() -> None:
        print(".", end="")
        print(".", end="", flush=True)
        assert lines == []
        print()

    with routed_output():
        in_worker(lines.append, dots)

    assert [line.text for line in lines] == [".."]


def test_what_is_no_user_code_prints_as_ever(lines: list[ConsoleLine], capsys: pytest.CaptureFixture[str]) -> None:
    with routed_output():
        print("ours", flush=True)
        in_worker(lines.append, lambda: None)

    assert capsys.readouterr().out == "ours\n"
    assert lines == []


def test_whoever_is_told_may_print_too(capsys: pytest.CaptureFixture[str]) -> None:
    with routed_output():
        in_worker(lambda line: print(f"[i-1] {line.text}"), lambda: print("a"))

    assert capsys.readouterr().out == "[i-1] a\n"


def test_a_debugger_in_user_code_talks_to_the_terminal(
    lines: list[ConsoleLine], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("p total\ncontinue\n"))

    def step() -> None:
        total = 41 + 1
        breakpoint()
        print("after", total)

    with routed_output():
        in_worker(lines.append, lambda: plain_breakpoint(step))

    assert [line.text for line in lines] == ["after 42"]
    assert "(Pdb) 42\n" in capsys.readouterr().out


def plain_breakpoint(function: Any) -> None:
    """Calls with Python's own breakpoint(): pytest puts one of its own in its place."""

    def stop() -> None:
        pdb.Pdb(nosigint=True).set_trace(sys._getframe(1))

    hook, sys.breakpointhook = sys.breakpointhook, stop
    try:
        function()
    finally:
        sys.breakpointhook = hook


def test_the_streams_are_given_back() -> None:
    before = sys.stdout, sys.stderr

    with routed_output(), routed_output():
        assert isinstance(sys.stdout, RoutedStream)

    assert (sys.stdout, sys.stderr) == before


def test_logging_of_user_code_is_its_output(lines: list[ConsoleLine]) -> None:
    with routed_output():
        handler = logging.StreamHandler()  # as user code's basicConfig makes it
        logger = logging.Logger("user")
        logger.addHandler(handler)
        in_worker(lines.append, lambda: logger.warning("low stock"))

    assert [line.text for line in lines] == ["low stock"]


def test_a_routed_stream_is_otherwise_the_stream() -> None:
    plain = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", errors="replace")
    stream = RoutedStream(plain, logging.INFO)

    assert (stream.encoding, stream.errors, stream.writable(), stream.isatty()) == (
        "latin-1",
        "replace",
        True,
        False,
    )
    assert stream.line_buffering is plain.line_buffering
    with pytest.raises(io.UnsupportedOperation):
        stream.fileno()


async def test_tasks_and_threads_of_a_worker_print_as_it_does(lines: list[ConsoleLine]) -> None:
    async def work() -> None:
        enter_output(lines.append)
        await asyncio.gather(asyncio.to_thread(print, "thread"), asyncio.create_task(say("task")))

    async def say(text: str) -> None:
        print(text)

    with routed_output():
        await asyncio.create_task(work())
        print("outside", file=sys.__stderr__)

    assert sorted(line.text for line in lines) == ["task", "thread"]


async def test_prints_of_run_and_of_steps_are_told_apart(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")
    loaded = worker()
    await loaded.load(
        {
            "src/entry.py": "from workers import WorkflowEntrypoint\nprint('loading')\n"
            "class Orders(WorkflowEntrypoint):\n    async def run(self, event, step):\n"
            "        print('in run')\n        @step.do('charge')\n        async def charge(): print('in step')\n"
            "        await charge()\n"
        }
    )

    await loaded.run("Orders")

    assert [(line.text, line.instance_id, line.step) for line in loaded.lines] == [
        ("loading", None, None),
        ("in run", None, None),
        ("in step", "i-1", "charge-1"),
    ]


async def test_a_load_does_not_make_its_caller_user_code(worker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = worker()
    await loaded.load({"src/entry.py": ""})

    print("ours")

    assert capsys.readouterr().out == "ours\n"
    assert loaded.lines == []


def test_begun_lines_of_two_steps_keep_apart(lines: list[ConsoleLine]) -> None:
    one, two = StepFrame("orders", "i-1", 1, "a-1", 1, 1), StepFrame("orders", "i-2", 2, "a-1", 1, 1)

    def both() -> None:
        for frame in (one, two, one, two):
            current_step.set(frame)
            print(frame.instance_id, end=" ")
        current_step.set(one)
        print()

    with routed_output():
        in_worker(lines.append, both)

    assert lines == [ConsoleLine(logging.INFO, "i-1 i-1 ", "i-1", "a-1")]


def test_a_begun_line_is_whole_at_the_end_of_its_attempt(lines: list[ConsoleLine]) -> None:
    frame = StepFrame("orders", "i-1", 1, "a-1", 1, 1)

    def attempt() -> None:
        print("begun", end="")
        end = at_attempt_end.get()
        assert end is not None
        end(frame)

    with routed_output():
        in_worker(lines.append, attempt, frame)

    assert lines == [ConsoleLine(logging.INFO, "begun", "i-1", "a-1")]


def test_what_a_handler_begins_to_print_is_shown_at_its_end(lines: list[ConsoleLine]) -> None:
    def handler() -> None:
        print("begun", end="")
        end_output()

    with routed_output():
        in_worker(lines.append, handler)

    assert [line.text for line in lines] == ["begun"]


def test_a_record_that_user_code_logs_to_a_stream_keeps_its_level(lines: list[ConsoleLine]) -> None:
    with routed_output():
        logger = logging.Logger("user")
        logger.addHandler(logging.StreamHandler())
        frame = StepFrame("orders", "i-1", 1, "a-1", 1, 1)
        in_worker(lines.append, lambda: logger.error("no stock"), frame)

    assert lines == [ConsoleLine(logging.ERROR, "no stock", "i-1", "a-1")]


def test_whose_a_record_is(lines: list[ConsoleLine]) -> None:
    whose: dict[str, bool] = {}

    def note(by: str) -> None:
        record = logging.makeLogRecord({"name": "httpx"})
        record.thread, record.threadName = threading.get_ident(), threading.current_thread().name
        whose[by] = is_of_user_code(record)

    note("the machinery")
    in_worker(lines.append, lambda: note("user code"))
    for name in ("stepwell-server", "Thread-1"):
        thread = threading.Thread(target=note, args=[name], name=name)
        thread.start()
        thread.join()

    assert whose == {"the machinery": False, "user code": True, "stepwell-server": False, "Thread-1": True}


def test_bytes_that_a_step_prints_are_output_of_the_step(lines: list[ConsoleLine]) -> None:
    with routed_output():
        in_worker(lines.append, lambda: sys.stdout.buffer.write(b"caf\xc3\xa9\n"))

    assert [line.text for line in lines] == ["café"]


def test_a_thread_of_user_code_controls_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with routed_output():
        print("\x1b]52;c;AAAA\x07 \x1b[31mred\x1b[0m")

    assert capsys.readouterr().out == "\\x1b]52;c;AAAA\\x07 \x1b[31mred\x1b[0m\n"
