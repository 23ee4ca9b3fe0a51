"""`step.do` as it is since compatibility date 2026-02-25: parameters name the steps they depend on."""

from __future__ import annotations

import asyncio
import functools
import re
from typing import Any

import pytest

from stepwell.bindings.step import ImplicitStep, LegacyStep, step_of
from stepwell.bindings.values import JsDict

pytestmark = pytest.mark.anyio


async def test_decorating_runs_nothing(step: ImplicitStep, port: Any) -> None:
    @step.do("greet")
    async def greet() -> str:
        raise AssertionError("not called")

    assert port.calls == []


async def test_awaiting_the_call_runs_the_step(step: ImplicitStep, port: Any) -> None:
    @step.do("greet")
    async def greet() -> str:
        return "hello"

    assert await greet() == "hello"
    assert port.names() == ["greet"]


async def test_a_step_without_a_name_is_called_like_its_function(step: ImplicitStep, port: Any) -> None:
    @step.do()
    def greet() -> str:
        return "hello"

    await greet()

    assert port.names() == ["greet"]


async def test_a_step_may_be_a_plain_function(step: ImplicitStep) -> None:
    @step.do("add")
    def add() -> int:
        return 1 + 1

    assert await add() == 2


async def test_a_plain_function_may_return_a_coroutine(step: ImplicitStep) -> None:
    async def later() -> int:
        return 3

    assert await step.do("later")(lambda: later())() == 3


async def test_the_result_is_a_converted_copy(step: ImplicitStep) -> None:
    made = {"tags": ["a"]}

    @step.do("make")
    async def make() -> Any:
        return made

    result = await make()
    result.tags.append("b")

    assert isinstance(result, JsDict)
    assert made == {"tags": ["a"]}


async def test_a_step_that_returns_nothing_gives_none(step: ImplicitStep) -> None:
    @step.do("nothing")
    async def nothing() -> None:
        pass

    assert await nothing() is None


async def test_a_step_function_takes_no_arguments(step: ImplicitStep) -> None:
    @step.do("greet")
    async def greet() -> None:
        pass

    with pytest.raises(TypeError, match="step 'greet' was called with arguments"):
        await greet("world")


async def test_calling_it_twice_is_two_steps(step: ImplicitStep, port: Any) -> None:
    @step.do("greet")
    async def greet() -> str:
        return "hello"

    await greet()
    await greet()

    assert [(call.name, call.count) for call in port.calls] == [("greet", 1), ("greet", 2)]


async def test_ctx_is_given_where_it_is_asked_for(step: ImplicitStep) -> None:
    @step.do("look")
    async def look(ctx: Any) -> Any:
        return [ctx["step"]["name"], ctx.step.count, ctx.attempt, "config" in ctx]

    assert await look() == ["look", 1, 1, True]


async def test_changing_ctx_changes_nothing_for_the_next_attempt(step: ImplicitStep) -> None:
    seen: list[Any] = []

    @step.do("look", config={"retries": {"limit": 1, "delay": 0}})
    async def look(ctx: Any) -> None:
        seen.append(ctx.config.retries.limit)
        ctx.config.retries.limit = 99
        if ctx.attempt == 1:
            raise ValueError("again")

    await look()

    assert seen == [0, 0]


async def test_a_parameter_is_the_result_of_the_step_of_that_name(step: ImplicitStep, port: Any) -> None:
    @step.do()
    async def base() -> int:
        return 10

    @step.do("total")
    async def total(base: int) -> int:
        return base + 5

    assert await total() == 15
    assert port.names() == ["base", "total"]


async def test_the_name_that_counts_is_the_steps(step: ImplicitStep) -> None:
    @step.do("base")
    async def compute_base() -> int:
        return 10

    @step.do()
    async def by_function(compute_base: int) -> int:
        return compute_base

    @step.do()
    async def by_step(base: int) -> int:
        return base

    assert await by_step() == 10
    with pytest.raises(TypeError, match=r"^Received unexpected parameter compute_base: each parameter"):
        await by_function()


@pytest.mark.parametrize("position", ["first", "middle", "last"])
async def test_ctx_may_stand_anywhere_beside_dependencies(step: ImplicitStep, position: str) -> None:
    @step.do()
    def a() -> int:
        return 1

    @step.do()
    def b() -> int:
        return 2

    def first(ctx: Any, a: int, b: int) -> Any:
        return [ctx.attempt, a, b]

    def middle(a: int, ctx: Any, b: int) -> Any:
        return [ctx.attempt, a, b]

    def last(a: int, b: int, ctx: Any) -> Any:
        return [ctx.attempt, a, b]

    chosen = {"first": first, "middle": middle, "last": last}[position]

    assert await step.do("sum")(chosen)() == [1, 1, 2]


async def test_an_unknown_parameter_is_an_error_of_the_call(step: ImplicitStep, port: Any) -> None:
    @step.do("total")
    async def total(base: int = 3) -> int:
        return base

    with pytest.raises(TypeError, match=r"^Received unexpected parameter base: .*declared before it \(total\)$"):
        await total()
    assert port.calls == []


@pytest.mark.parametrize("name", ["args", "options"])
async def test_collecting_parameters_are_parameters_too(step: ImplicitStep, name: str) -> None:
    def collects(*args: int) -> None: ...
    def accepts(**options: int) -> None: ...

    declared = step.do("it")(collects if name == "args" else accepts)

    with pytest.raises(TypeError, match=f"^Received unexpected parameter {name}: "):
        await declared()


async def test_a_later_step_of_the_same_name_is_the_one_that_counts(step: ImplicitStep) -> None:
    @step.do("base")
    def first() -> int:
        return 1

    @step.do("base")
    def second() -> int:
        return 2

    @step.do()
    def total(base: int) -> int:
        return base

    await first()

    assert await total() == 2


async def test_depends_is_gone(step: ImplicitStep) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'depends'"):
        step.do("total", depends=[])  # type: ignore[call-arg]


async def test_options_are_keywords_only(step: ImplicitStep) -> None:
    with pytest.raises(TypeError):
        step.do("total", True)  # type: ignore[call-arg]


@pytest.mark.parametrize("implicit", [True, False])
async def test_the_decorator_must_be_called(port: Any, implicit: bool) -> None:
    step = step_of(port, implicit=implicit)

    with pytest.raises(TypeError, match=r"write @step\.do\(\)"):
        step.do(len)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sleepUntil", "in Python it is sleep_until"),
        ("waitForEvent", "in Python it is wait_for_event"),
        ("with_rollback", r"do\(name, rollback=handler\)"),
    ],
)
async def test_names_that_step_does_not_have_are_errors_that_help(step: ImplicitStep, name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=f"^step has no '{name}': .*{hint}"):
        getattr(step, name)


async def test_any_other_name_is_a_plain_attribute_error(step: ImplicitStep) -> None:
    with pytest.raises(AttributeError, match=r"^step has no 'nope'$"):
        step.nope


async def test_steps_defined_in_a_loop_each_have_their_own_function(step: ImplicitStep, port: Any) -> None:
    results = []
    for number in range(3):

        @step.do(f"work {number}")
        async def work(number: int = number) -> int:
            return number

        with pytest.raises(TypeError):
            await work()  # a parameter with a default is a parameter

        @step.do(f"count {number}")
        async def count() -> int:
            return number  # noqa: B023 - as user code has it: the step runs before the next round

        results.append(await count())

    assert results == [0, 1, 2]


async def test_methods_partials_and_wrapped_functions_can_be_steps(step: ImplicitStep) -> None:
    class Shop:
        def price(self) -> int:
            return 3

    def wrapped(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            return function(*args)

        return wrapper

    @step.do()
    def base() -> int:
        return 4

    @step.do("wrapped")
    @wrapped
    def total(base: int) -> int:
        return base

    assert await step.do("method")(Shop().price)() == 3
    assert await step.do("partial")(functools.partial(lambda a, b: a + b, 1, 1))() == 2
    assert await total() == 4


async def test_what_is_no_function_is_left_to_the_engine_to_refuse(step: ImplicitStep) -> None:
    declared = step.do("a")(42)  # type: ignore[arg-type]

    with pytest.raises(Exception, match='WorkflowFatalError: Step "a" requires a callback function'):
        await declared()


async def test_the_mode_decides_which_step_it_is(port: Any) -> None:
    assert isinstance(step_of(port, implicit=True), ImplicitStep)
    assert isinstance(step_of(port, implicit=False), LegacyStep)


async def test_steps_can_be_gathered(step: ImplicitStep, port: Any) -> None:
    @step.do("a")
    async def a() -> int:
        return 1

    @step.do("b")
    async def b() -> int:
        return 2

    assert list(await asyncio.gather(a(), b())) == [1, 2]
    assert port.names() == ["a", "b"]


@pytest.mark.parametrize("mode", [ImplicitStep, LegacyStep])
def test_a_callback_as_in_javascript_gets_a_hint(port: Any, mode: Any) -> None:
    with pytest.raises(TypeError, match=r"is JavaScript\. In Python, decorate the function with @step\.do\('a'\)"):
        mode(port).do("a", lambda: 1)


def test_config_after_the_name_is_refused_with_the_keywords(step: ImplicitStep) -> None:
    with pytest.raises(TypeError, match="takes one positional argument, the name; config="):
        step.do("a", {"retries": {"limit": 1}})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda step: step.do("a", retries=3), "step.do() got an unexpected keyword argument 'retries'"),
        (lambda step: step.sleep("nap"), "step.sleep() missing 1 required positional argument: 'duration'"),
        (lambda step: step.wait_for_event("e"), "step.wait_for_event() missing 1 required positional argument"),
    ],
)
def test_errors_of_calls_name_the_methods_as_user_code_does(step: ImplicitStep, call: Any, text: str) -> None:
    with pytest.raises(TypeError, match="^" + re.escape(text)):
        call(step)


def test_a_step_that_is_never_awaited_is_warned_of_with_its_place(step: ImplicitStep) -> None:
    @step.do("charge")
    async def charge() -> None: ...

    with pytest.warns(RuntimeWarning, match=r"coroutine 'step charge \(.*test_step\.py:\d+\)' was never awaited"):
        charge()
    with pytest.warns(RuntimeWarning, match=r"coroutine 'step\.sleep' was never awaited"):
        step.sleep("nap", 5)
