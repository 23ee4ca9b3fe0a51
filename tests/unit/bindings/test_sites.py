"""Where user code calls a step, as its host tells the engine."""

from __future__ import annotations

import asyncio
import inspect
from types import FrameType
from typing import Any

import pytest

from stepwell.bindings.errors import NotSerialisable
from stepwell.bindings.ports import CallSite
from stepwell.bindings.sites import encode_returned, site_of_caller
from stepwell.bindings.step import ImplicitStep, LegacyStep

pytestmark = pytest.mark.anyio


def line() -> int:
    """The line that calls."""
    frame = inspect.currentframe()
    assert frame is not None
    assert isinstance(frame.f_back, FrameType)
    return frame.f_back.f_lineno


async def test_a_step_is_called_where_its_call_is_written(step: ImplicitStep, port: Any) -> None:
    @step.do("greet")
    async def greet() -> str:
        return "hello"

    at = line() + 1
    await greet()

    assert port.sites == [CallSite(__file__, at)]


async def test_side_by_side_too(step: ImplicitStep, port: Any) -> None:
    @step.do("one")
    async def one() -> None: ...

    @step.do("two")
    async def two() -> None: ...

    at = line() + 2
    await asyncio.gather(
        one(),
        two(),
    )

    assert [site.line for site in port.sites] == [at, at + 1]


async def test_one_name_called_in_two_places_has_two(step: ImplicitStep, port: Any) -> None:
    @step.do("greet")
    async def greet() -> None: ...

    at = line() + 1
    await greet()
    await greet()

    assert [site.line for site in port.sites] == [at, at + 1]


async def test_a_step_that_another_needs_is_where_its_function_is_written(step: ImplicitStep, port: Any) -> None:
    at = line() + 2

    @step.do("first")
    async def first() -> int:
        return 1

    @step.do("second")
    async def second(first: int) -> int:
        return first + 1

    await second()

    assert port.sites == [CallSite(__file__, at), CallSite(__file__, at + 8, ("first",))]


async def test_the_list_of_what_a_step_depends_on_is_told(legacy_step: LegacyStep, port: Any) -> None:
    @legacy_step.do("first")
    async def first() -> int:
        return 1

    @legacy_step.do("second", depends=[first])
    async def second(number: int, ctx: Any) -> int:
        return number + 1

    await second()

    assert port.sites[-1].needs == ("first",)


async def test_waits_are_called_somewhere_too(step: ImplicitStep, port: Any) -> None:
    port.events["go"] = 1
    at = line() + 1
    await step.sleep("nap", 5)
    await step.sleep_until("then", 5)
    await step.wait_for_event("approval", "go")

    assert port.sites == [CallSite(__file__, at + n) for n in range(3)]


async def test_a_task_of_its_own_has_no_caller() -> None:
    async def asks() -> CallSite | None:
        return site_of_caller()

    assert await asyncio.create_task(asks()) is None
    assert await asks() is not None


def test_a_result_that_cannot_be_stored_names_the_function_and_its_line() -> None:
    def list_orders() -> None: ...

    with pytest.raises(NotSerialisable, match=r"\.orders\[0\], returned by list_orders \(.*test_sites\.py:\d+"):
        encode_returned({"orders": [len]}, list_orders)
