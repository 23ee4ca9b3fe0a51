"""Each step that others depend on runs once; whoever comes while it runs waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stepwell.bindings.errors import RunAborted
from stepwell.bindings.step import ImplicitStep, LegacyStep

pytestmark = pytest.mark.anyio


class Gate:
    """A step that starts, and ends when it is told to."""

    def __init__(self) -> None:
        self.started = 0
        self.open = asyncio.Event()

    async def run(self) -> int:
        self.started += 1
        await self.open.wait()
        return self.started


async def until(true: Callable[[], bool]) -> None:
    for _ in range(100):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came true")


async def test_a_dependency_runs_once_for_all_dependents(step: ImplicitStep, port: Any) -> None:
    @step.do()
    def base() -> int:
        return 1

    @step.do()
    def left(base: int) -> int:
        return base + 1

    @step.do()
    def right(base: int) -> int:
        return base + 2

    @step.do()
    def both(left: int, right: int) -> int:
        return left + right

    assert await both() == 5
    assert port.names() == ["base", "left", "right", "both"]


async def test_dependencies_run_one_after_the_other(step: ImplicitStep) -> None:
    first, second = Gate(), Gate()
    step.do("a")(first.run)
    step.do("b")(second.run)

    @step.do()
    async def both(a: int, b: int) -> int:
        return a + b

    running = asyncio.create_task(both())
    await until(lambda: first.started == 1)
    await asyncio.sleep(0)

    assert second.started == 0
    first.open.set()
    second.open.set()
    assert await running == 2


async def test_concurrent_starts_them_together(step: ImplicitStep) -> None:
    first, second = Gate(), Gate()
    step.do("a")(first.run)
    step.do("b")(second.run)

    @step.do(concurrent=True)
    async def both(a: int, b: int) -> int:
        return a + b

    running = asyncio.create_task(both())
    await until(lambda: first.started == 1 and second.started == 1)

    first.open.set()
    second.open.set()
    assert await running == 2


async def test_concurrent_dependents_share_a_dependency_in_flight(step: ImplicitStep) -> None:
    gate = Gate()
    step.do("base")(gate.run)

    @step.do()
    async def left(base: int) -> int:
        return base

    @step.do()
    async def right(base: int) -> int:
        return base

    @step.do(concurrent=True)
    async def both(left: int, right: int) -> list[int]:
        return [left, right]

    running = asyncio.create_task(both())
    await until(lambda: gate.started == 1)
    gate.open.set()

    assert await running == [1, 1]
    assert gate.started == 1


async def test_a_step_in_flight_is_awaited_by_its_dependent(step: ImplicitStep) -> None:
    gate = Gate()
    base = step.do("base")(gate.run)

    @step.do()
    async def total(base: int) -> int:
        return base + 10

    awaited = asyncio.create_task(base())
    await until(lambda: gate.started == 1)
    dependent = asyncio.create_task(total())
    await asyncio.sleep(0)
    gate.open.set()

    assert await dependent == 11
    assert await awaited == 1
    assert gate.started == 1


async def test_the_last_result_is_the_one_that_dependents_get(step: ImplicitStep) -> None:
    numbers = iter([1, 2])

    @step.do("base")
    def base() -> int:
        return next(numbers)

    @step.do()
    def total(base: int) -> int:
        return base

    await base()
    await base()

    assert await total() == 2


async def test_a_failed_dependency_fails_its_dependent(step: ImplicitStep, port: Any) -> None:
    @step.do()
    def base() -> int:
        raise ValueError("no")

    @step.do()
    def total(base: int) -> int:
        return base

    with pytest.raises(ValueError, match=r"^ValueError: no$"):
        await total()
    assert port.names() == ["base"]


async def test_a_failed_step_is_tried_again_by_the_next_dependent(step: ImplicitStep) -> None:
    outcomes = iter([ValueError("no"), 7])

    @step.do()
    def base() -> int:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return int(str(outcome))

    @step.do()
    def total(base: int) -> int:
        return base

    with pytest.raises(ValueError):
        await base()

    assert await total() == 7


async def test_whoever_waits_for_a_step_gets_its_error(step: ImplicitStep) -> None:
    gate = Gate()

    @step.do("base")
    async def base() -> int:
        await gate.run()
        raise ValueError("no")

    @step.do()
    async def total(base: int) -> int:
        return base

    both = asyncio.gather(base(), total(), return_exceptions=True)
    await until(lambda: gate.started == 1)
    gate.open.set()

    assert [str(error) for error in await both] == ["ValueError: no", "ValueError: no"]


async def test_whoever_waits_for_a_step_that_is_taken_away_is_cancelled(step: ImplicitStep) -> None:
    gate = Gate()

    @step.do("base")
    async def base() -> int:
        await gate.run()
        raise RunAborted

    @step.do()
    async def total(base: int) -> int:
        return base

    both = asyncio.gather(base(), total(), return_exceptions=True)
    await until(lambda: gate.started == 1)
    gate.open.set()

    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in await both)


async def test_a_cancelled_waiter_leaves_the_step_alone(step: ImplicitStep) -> None:
    gate = Gate()
    base = step.do("base")(gate.run)

    @step.do()
    async def total(base: int) -> int:
        return base

    awaited = asyncio.create_task(base())
    await until(lambda: gate.started == 1)
    dependent = asyncio.create_task(total())
    await asyncio.sleep(0)
    dependent.cancel()
    await asyncio.sleep(0)
    gate.open.set()

    assert await awaited == 1


# -- the older mode


async def test_depends_fills_the_parameters_in_order(legacy_step: LegacyStep) -> None:
    step = legacy_step

    @step.do("a")
    def a() -> int:
        return 1

    @step.do("b")
    def b() -> int:
        return 2

    @step.do("sum", depends=[b, a], concurrent=True)
    def total(first: int = 0, second: int = 0) -> list[int]:
        return [first, second]

    assert await total() == [2, 1]


async def test_every_option_of_the_older_mode_may_be_positional(legacy_step: LegacyStep, port: Any) -> None:
    step = legacy_step

    @step.do("a")
    def a() -> int:
        return 1

    @step.do("sum", [a], True, {"timeout": "1 second"})
    def total(first: int) -> int:
        return first

    assert await total() == 1
    assert port.calls[-1].config == {"timeout": "1 second"}


async def test_ctx_stands_anywhere_in_the_older_mode(legacy_step: LegacyStep) -> None:
    step = legacy_step

    @step.do("a")
    def a() -> int:
        return 1

    @step.do("sum", depends=[a])
    def total(ctx: Any, first: int) -> list[int]:
        return [ctx.attempt, first]

    assert await total() == [1, 1]


async def test_the_older_mode_needs_a_name(legacy_step: LegacyStep) -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        legacy_step.do()  # type: ignore[call-arg]


def one(a: int) -> None: ...


def two(a: int, b: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "depends", "text"),
    [
        (one, None, "Step has 1 non-ctx parameter(s) but no 'depends' list provided"),
        (two, None, "Step has 2 non-ctx parameter(s) but no 'depends' list provided"),
        (two, [1], "Step declares 2 non-ctx parameter(s) but 'depends' has 1 item(s)"),
        (lambda: None, [1], "Step declares 0 non-ctx parameter(s) but 'depends' has 1 item(s)"),
        (one, [len], "'depends' entry for parameter 'a' is not a function decorated with step.do"),
    ],
)
async def test_a_list_that_does_not_fit_is_an_error_of_the_call(
    legacy_step: LegacyStep, port: Any, function: Any, depends: Any, text: str
) -> None:
    declared = legacy_step.do("it", depends=depends)(function)

    with pytest.raises(TypeError) as refused:
        await declared()

    assert str(refused.value) == text
    assert port.calls == []


async def test_an_empty_list_is_no_dependency(legacy_step: LegacyStep) -> None:
    assert await legacy_step.do("it", depends=[])(lambda: 1)() == 1
