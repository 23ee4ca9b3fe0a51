"""Whatever fails while an attempt or a run is settled, it is settled: nothing stays in `running` without code."""

from __future__ import annotations

import pytest

from stepwell.bindings.context import at_attempt_end
from stepwell.bindings.errors import ErrorInfo, NonRetryableError, WorkerError

pytestmark = pytest.mark.anyio

ONCE = {"retries": {"limit": 0, "delay": 1}}


def chained(count: int, *, explicit: bool) -> Exception:
    error: Exception = ValueError("0")
    for n in range(1, count):
        try:
            if explicit:
                raise ValueError(str(n)) from error
            try:
                raise error
            except ValueError:
                raise ValueError(str(n))  # noqa: B904 - an implicit chain is the point
        except ValueError as outer:
            error = outer
    return error


def of_class(**members: object) -> Exception:
    kind = type("Odd", (Exception,), members)
    return kind("odd")


def raising(error: BaseException):
    def fail(*_: object) -> object:
        raise error

    return fail


def cyclic() -> Exception:
    error = ValueError("cycle")
    error.__cause__ = error
    return error


def nested_groups(depth: int) -> Exception:
    error: Exception = ValueError("innermost")
    for _ in range(depth):
        error = ExceptionGroup("group", [error])
    return error


class OddInfo(NonRetryableError):
    @property
    def info(self):
        raise RuntimeError("no info")


class OddMeta(type):
    @property
    def __name__(cls):
        raise RuntimeError("no name")


class Nameless(Exception, metaclass=OddMeta):
    pass


def deep_info(depth: int) -> ErrorInfo:
    info = ErrorInfo("Error", "innermost")
    for n in range(depth):
        info = ErrorInfo("Error", str(n), cause=info)
    return info


ODD = {
    "1,000 causes": lambda: chained(1_000, explicit=True),
    "1,000 contexts": lambda: chained(1_000, explicit=False),
    "its own cause": cyclic,
    "groups in groups": lambda: nested_groups(900),
    "a text that raises": lambda: of_class(__str__=raising(RuntimeError("no text"))),
    "a text that exits": lambda: of_class(__str__=raising(SystemExit(3))),
    "a text that is none": lambda: of_class(__str__=lambda self: 5),
    "notes that are none": lambda: of_class(__notes__=raising(RuntimeError("no notes"))),
    "a bad syntax error": lambda: SyntaxError("bad", ("file", None, "a", b"b")),
    "a name that raises": lambda: Nameless("nameless"),
    "an info that raises": lambda: OddInfo("odd"),
    "an info of 5,000 causes": lambda: WorkerError(deep_info(5_000)),
    "lone surrogates": lambda: ValueError("\ud800"),
    "a long text": lambda: ValueError("x" * 3_000_000),
}


@pytest.mark.parametrize("odd", ODD)
async def test_an_attempt_that_ends_with_an_odd_error_has_failed(world, caught, odd) -> None:
    async def flow(params, step):
        def fail():
            raise ODD[odd]()

        await caught(step.do("a", fail, ONCE))
        return "settled"

    await world.start(flow)
    await world.create()

    assert await world.output() == "settled"
    assert [line for line in world.trace() if "errored" in line] == ["attempt_errored a-1 1", "step_errored a-1"]


# Surrogates in what is logged would end a process of pytest-xdist.
@pytest.mark.parametrize("odd", [odd for odd in ODD if odd != "lone surrogates"])
async def test_a_run_that_ends_with_an_odd_error_has_errored(world, odd) -> None:
    async def flow(params, step):
        raise ODD[odd]()

    await world.start(flow)
    await world.create()

    assert world.status() == "errored"


@pytest.mark.parametrize("odd", ODD)
async def test_a_handler_that_ends_with_an_odd_error_has_failed(world, odd) -> None:
    async def flow(params, step):
        def fail():
            raise ODD[odd]()

        await step.do("a", 1, rollback=fail, rollback_config=ONCE)
        raise ValueError("undo")

    await world.start(flow)
    await world.create()

    assert world.trace()[-2:] == ["rollback_errored", "workflow_errored"]


async def test_the_message_and_the_first_causes_of_a_long_chain_are_kept(world) -> None:
    async def flow(params, step):
        raise chained(1_000, explicit=True)

    await world.start(flow)
    await world.create()

    assert await world.error() == ("Error", "ValueError: 999")


async def test_output_that_cannot_be_written_at_the_end_of_an_attempt_does_not_stop_the_run(world) -> None:
    def refuse(frame):
        raise OSError("no space left")

    async def flow(params, step):
        at_attempt_end.set(refuse)
        return await step.do("a", 1)

    await world.start(flow)
    await world.create()

    assert await world.output() == 1


async def test_a_result_that_cannot_be_written_fails_the_attempt_and_not_the_engine(world, caught) -> None:
    class Odd(dict):
        def items(self):
            raise RuntimeError("no items")

    async def flow(params, step):
        return await caught(step.do("a", lambda: Odd(a=1), ONCE))

    await world.start(flow)
    await world.create()

    assert world.status() == "complete"
