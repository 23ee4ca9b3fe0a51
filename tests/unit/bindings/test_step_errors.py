"""Which exception user code catches when a step or a wait fails, and what is stored when it does not."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.bindings.errors import JsException, NonRetryableError, error_info
from stepwell.bindings.step import ImplicitStep

pytestmark = pytest.mark.anyio


async def caught_from(step: ImplicitStep, error: BaseException, config: Any = None) -> Exception:
    @step.do("it", config=config)
    async def it() -> None:
        raise error

    with pytest.raises(Exception) as caught:
        await it()
    return caught.value


@pytest.mark.parametrize("kind", [TypeError, ValueError])
async def test_type_and_value_errors_come_back_with_their_names_in_the_text(
    step: ImplicitStep, kind: type[Exception]
) -> None:
    error = await caught_from(step, kind("Intentional error"))

    assert type(error) is kind
    assert str(error) == f"{kind.__name__}: Intentional error"


async def test_an_empty_message_leaves_the_name(step: ImplicitStep) -> None:
    assert str(await caught_from(step, TypeError())) == "TypeError"


async def test_a_type_error_that_nobody_catches_is_stored_plainly(step: ImplicitStep) -> None:
    info = error_info(await caught_from(step, TypeError("bad")))

    assert (info.name, info.message) == ("TypeError", "bad")
    assert info.stack is not None
    assert "raise error" in info.stack


async def test_a_subclass_of_value_error_is_no_value_error_any_more(step: ImplicitStep) -> None:
    class TooMany(ValueError):
        pass

    error = await caught_from(step, TooMany("5"))

    assert type(error) is JsException
    assert str(error) == "TooMany: 5"


class Mine(Exception):
    pass


async def test_a_class_of_user_code_does_not_come_back(step: ImplicitStep) -> None:
    error = await caught_from(step, Mine("text"))

    assert type(error) is JsException
    assert not isinstance(error, Mine)
    assert (error.name, error.message) == ("Mine", "text")


async def test_name_and_message_are_what_the_instance_is_errored_with(step: ImplicitStep) -> None:
    info = error_info(await caught_from(step, Mine("text")))

    assert (info.name, info.message) == ("Mine", "text")


async def test_an_exception_without_a_class_of_its_own_is_an_error(step: ImplicitStep) -> None:
    error = await caught_from(step, Exception("x"))

    assert str(error) == "Error: x"


async def test_a_range_error_of_user_code_is_no_value_error(step: ImplicitStep) -> None:
    error = await caught_from(step, type("RangeError", (Exception,), {})("x"))

    assert type(error) is JsException


async def test_a_non_retryable_error_comes_back_as_itself(step: ImplicitStep) -> None:
    error = await caught_from(step, NonRetryableError("do not retry"))

    assert type(error) is NonRetryableError
    assert str(error) == "do not retry"


async def test_a_non_retryable_error_keeps_the_stack_of_the_step(step: ImplicitStep) -> None:
    info = error_info(await caught_from(step, NonRetryableError("stop")))

    assert info.stack is not None
    assert "raise error" in info.stack


async def test_a_non_retryable_error_ends_the_step_at_its_first_attempt(step: ImplicitStep) -> None:
    calls: list[int] = []

    @step.do("d", config={"retries": {"limit": 3, "delay": 50}})
    async def d() -> None:
        calls.append(1)
        raise NonRetryableError("no")

    with pytest.raises(NonRetryableError, match=r"^no$"):
        await d()
    assert len(calls) == 1


async def test_a_subclass_with_a_name_of_its_own_is_retried_as_on_cloudflare(step: ImplicitStep) -> None:
    class Fatal(NonRetryableError):
        pass

    calls: list[int] = []

    @step.do("d", config={"retries": {"limit": 3, "delay": 50}})
    async def d() -> None:
        calls.append(1)
        raise Fatal("no")

    with pytest.raises(JsException, match=r"^Fatal: no$"):
        await d()
    assert len(calls) == 4


async def test_an_error_of_the_engine_looks_as_in_javascript(step: ImplicitStep) -> None:
    @step.do("it")
    async def it() -> Any:
        return lambda: 1

    with pytest.raises(JsException) as caught:
        await it()

    assert caught.value.name == "Error"
    assert caught.value.message == 'WorkflowFatalError: Value returned from step "it" is not serialisable'


async def test_a_tuple_is_refused_with_the_sdks_type_error(step: ImplicitStep) -> None:
    @step.do("it")
    async def it() -> Any:
        return (1, 2)

    with pytest.raises(TypeError, match=r"^TypeError: <class 'tuple'> cannot be sent over RPC\.$"):
        await it()


async def test_the_traceback_of_the_caller_is_not_ours(step: ImplicitStep) -> None:
    error = await caught_from(step, KeyError("x"))

    assert error.__cause__ is None
    assert error.__suppress_context__


async def test_a_bad_duration_is_a_js_exception_called_type_error(step: ImplicitStep) -> None:
    with pytest.raises(JsException) as caught:
        await step.sleep("z", "bad")

    assert (caught.value.name, caught.value.message) == ("TypeError", 'Invalid duration "bad"')


async def test_a_wait_that_times_out_raises_the_folded_error(step: ImplicitStep) -> None:
    with pytest.raises(JsException) as caught:
        await step.wait_for_event("w", "go")

    assert (caught.value.name, caught.value.message) == (
        "Error",
        "WorkflowTimeoutError: Execution timed out after 1000ms",
    )


async def test_an_exception_that_is_no_error_of_a_step_passes_as_it_is(step: ImplicitStep, port: Any) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("of the engine itself")

    port.do = broken

    with pytest.raises(RuntimeError):
        await step.do("it")(lambda: 1)()
