"""What threads of a step print is output of the step."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest

from stepwell.bindings.context import StepFrame, current_step
from stepwell.emulator.worker.console import ConsoleLine
from stepwell.emulator.worker.python.output import enter_output, routed_output

pytestmark = pytest.mark.anyio

FRAME = StepFrame("orders", "i-1", 1, "charge-1", 1, 1)
OTHER = StepFrame("orders", "i-2", 2, "ship-1", 1, 1)


def in_step(emit: Any, function: Callable[[], Any], frame: StepFrame = FRAME) -> Any:
    def inside() -> Any:
        enter_output(emit)
        current_step.set(frame)
        return function()

    return copy_context().run(inside)


def a_thread() -> None:
    thread = threading.Thread(target=print, args=["said"])
    thread.start()
    thread.join()


def a_subclass() -> None:
    class Own(threading.Thread):
        def run(self) -> None:
            print("said")

    thread = Own()
    thread.start()
    thread.join()


def a_timer() -> None:
    timer = threading.Timer(0, print, ["said"])
    timer.start()
    timer.join()


def a_thread_of_a_thread() -> None:
    thread = threading.Thread(target=a_thread)
    thread.start()
    thread.join()


def a_pool() -> None:
    with ThreadPoolExecutor() as pool:
        pool.submit(print, "said").result()


def a_mapped_pool() -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(print, ["said"]))


def a_pool_of_multiprocessing() -> None:
    with ThreadPool(1) as pool:
        pool.apply(print, ("said",))


def an_executor_of_the_loop() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().run_in_executor(None, print, "said")

    asyncio.run(main())


def a_log_record() -> None:
    logger = logging.Logger("user")
    logger.addHandler(logging.StreamHandler())
    thread = threading.Thread(target=logger.info, args=["said"])
    thread.start()
    thread.join()


KINDS = [
    a_thread,
    a_subclass,
    a_timer,
    a_thread_of_a_thread,
    a_pool,
    a_mapped_pool,
    a_pool_of_multiprocessing,
    an_executor_of_the_loop,
    a_log_record,
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_from_a_thread_is_known_by_its_instance_and_step(kind: Callable[[], None]) -> None:
    lines: list[ConsoleLine] = []
    with routed_output():
        in_step(lines.append, kind)

    assert lines == [ConsoleLine(logging.INFO, "said", "i-1", "charge-1")]


def test_tasks_of_one_pool_belong_to_the_steps_that_submitted_them() -> None:
    lines: list[ConsoleLine] = []
    with routed_output(), ThreadPoolExecutor(1) as pool:
        for frame in (FRAME, OTHER, FRAME):
            in_step(lines.append, lambda: pool.submit(print, "said").result(), frame)

    assert [line.instance_id for line in lines] == ["i-1", "i-2", "i-1"]


def test_lines_of_several_threads_are_whole() -> None:
    lines: list[ConsoleLine] = []
    both = threading.Barrier(2)

    def say(text: str) -> None:
        print(text, end="")
        both.wait()
        print("!")

    def step() -> None:
        with ThreadPoolExecutor() as pool:
            list(pool.map(say, ["one", "two"]))

    with routed_output():
        in_step(lines.append, step)

    assert sorted(line.text for line in lines) == ["one!", "two!"]


def test_context_variables_of_user_code_stay_out_of_its_threads() -> None:
    own: ContextVar[str] = ContextVar("own", default="unset")
    seen: list[str] = []

    def step() -> None:
        own.set("set")
        thread = threading.Thread(target=lambda: seen.append(own.get()))
        thread.start()
        thread.join()

    with routed_output():
        in_step(print, step)

    assert seen == ["unset"]


def test_threads_of_which_nothing_is_known_print_whole_lines_as_user_output() -> None:
    lines: list[ConsoleLine] = []
    with routed_output(lines.append):
        a_thread()

    assert lines == [ConsoleLine(logging.INFO, "said")]


def test_whoever_emits_a_line_of_such_a_thread_may_print(capsys: pytest.CaptureFixture[str]) -> None:
    with routed_output(lambda line: print(f"[{line.text}]")):
        a_thread()

    assert capsys.readouterr().out == "[said]\n"


def test_threads_and_pools_are_given_back() -> None:
    before = threading.Thread.start, ThreadPoolExecutor.submit
    with routed_output():
        assert threading.Thread.start is not before[0]

    assert (threading.Thread.start, ThreadPoolExecutor.submit) == before
