"""Whatever fails while an attempt or a run is settled, it is settled: nothing stays in `running` without code."""

from __future__ import annotations

import logging

import pytest

from stepwell.bindings.context import at_attempt_end
from stepwell.bindings.errors import ErrorInfo, NonRetryableError, WorkerError
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition

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


def cyclic_pair() -> Exception:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def cyclic_group() -> Exception:
    inner = ValueError("inner")
    group = ExceptionGroup("group", [inner])
    inner.__cause__ = group
    return group


def recursing() -> Exception:
    def recurse(depth: int) -> int:
        return recurse(depth + 1) + 1

    try:
        recurse(0)
    except RecursionError as error:
        return error
    raise AssertionError


class OddText(str):
    """A text that fails in whatever is done with it."""

    __slots__ = ()

    def __getitem__(self, _: object) -> str:
        raise RuntimeError("no part")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def encode(self, *_: object) -> bytes:
        raise RuntimeError("no bytes")

    def splitlines(self, *_: object) -> list[str]:
        raise RuntimeError("no lines")


def noted(*notes: object) -> Exception:
    error = ValueError("noted")
    error.__notes__ = list(notes)
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
    "two that cause one another": cyclic_pair,
    "a group that causes its part": cyclic_group,
    "a group of 5,000": lambda: ExceptionGroup("many", [ValueError(str(n)) for n in range(5_000)]),
    "a group of 1,000 with causes": lambda: ExceptionGroup("many", [chained(50, explicit=True)] * 1_000),
    "a recursion without end": recursing,
    "no memory": lambda: MemoryError("none left"),
    "an odd text": lambda: of_class(__str__=lambda self: OddText("odd")),
    "a text that recurses": lambda: of_class(__str__=lambda self: str(self)),
    "a cause that raises": lambda: of_class(__cause__=property(raising(RuntimeError("no cause")))),
    "a context that raises": lambda: of_class(__context__=property(raising(RuntimeError("no context")))),
    "a traceback that raises": lambda: of_class(__traceback__=property(raising(RuntimeError("no traceback")))),
    "a class that raises": lambda: of_class(__class__=property(raising(RuntimeError("no class")))),
    "a repr that raises": lambda: of_class(__repr__=raising(RuntimeError("no repr"))),
    "a hash that raises": lambda: of_class(__hash__=raising(RuntimeError("no hash"))),
    "an equality that raises": lambda: of_class(__eq__=raising(RuntimeError("not equal"))),
    "a truth that raises": lambda: of_class(__bool__=raising(RuntimeError("not true"))),
    "members that raise": lambda: of_class(__getattribute__=raising(RuntimeError("no member"))),
    "a million notes": lambda: noted(*["note"] * 1_000_000),
    "notes of all kinds": lambda: noted(5, None, OddText("odd")),
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


class TooLarge(Encoded):
    """A result that there is no memory for."""

    __slots__ = ()

    def __len__(self) -> int:
        raise MemoryError("none left")


async def test_a_result_that_there_is_no_memory_for_fails_its_attempt(world, caught) -> None:
    async def flow(params, step):
        return await caught(step.do("a", lambda: TooLarge('"a"'), ONCE))

    await world.start(flow)
    await world.create()

    assert "none left" in str(await world.output())


async def test_an_output_that_there_is_no_memory_for_errors_the_instance(world) -> None:
    async def run(event, port):
        return TooLarge('"a"')

    world.engine.define(WorkflowDefinition("flow", "Flow"), run, Version("flow-v1"))
    await world.start()
    await world.create()

    assert await world.error() == (
        "WorkflowInternalError",
        "The end of run() could not be recorded: MemoryError: none left",
    )


class Unwritable(logging.Handler):
    """A log that nothing can be written to."""

    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("no log")


async def test_a_log_that_cannot_be_written_keeps_no_run_from_its_end(world) -> None:
    async def flow(params, step):
        raise ValueError("no luck")

    handler, log = Unwritable(logging.ERROR), logging.getLogger("stepwell.engine")
    await world.start(flow)
    log.addHandler(handler)
    try:
        await world.create()
    finally:
        log.removeHandler(handler)

    assert await world.error() == ("Error", "ValueError: no luck")
    assert world.engine.is_idle
