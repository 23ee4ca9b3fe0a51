"""Errors as they are stored, and as they look to whoever catches them."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.bindings.errors import (
    LONGEST_STORED_TEXT,
    EngineError,
    ErrorInfo,
    JsException,
    NonRetryableError,
    WorkerError,
    WorkflowTimeoutError,
    error_info,
    stands_for,
)
from stepwell.bindings.escapes import as_ordinary


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    with pytest.raises(BaseException) as caught:
        raise error from cause
    return caught.value


class OutOfStock(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (Exception("a"), "Error", "a"),
        (TypeError("a"), "TypeError", "a"),
        (KeyError("a"), "KeyError", "'a'"),
        (OutOfStock("none left"), "OutOfStock", "none left"),
        (Exception(), "Error", ""),
        (Exception("a", 1), "Error", "('a', 1)"),
    ],
)
def test_an_exception_keeps_its_class_and_text(error: Exception, name: str, message: str) -> None:
    info = error_info(error)

    assert (info.name, info.message) == (name, message)


def test_an_exception_whose_text_fails_is_described() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert error_info(Broken()).message == "<Broken whose text cannot be made: RuntimeError>"


def test_the_stack_is_that_of_user_code() -> None:
    info = error_info(raised(OutOfStock("none")))

    assert info.stack is not None
    assert info.stack.startswith("Traceback (most recent call last):\n")
    assert "raise error from cause" in info.stack
    assert info.stack.endswith("OutOfStock: none\n")


def test_an_error_that_was_never_raised_has_no_stack() -> None:
    assert error_info(OutOfStock("none")).stack is None


def test_causes_are_kept() -> None:
    info = error_info(raised(OutOfStock("none"), raised(KeyError("sku"))))

    assert info.cause is not None
    assert (info.cause.name, info.cause.message) == ("KeyError", "'sku'")


def test_causes_in_a_circle_come_to_an_end() -> None:
    first, second = Exception("1"), Exception("2")
    first.__cause__, second.__cause__ = second, first

    assert error_info(first).name == "Error"


def test_an_error_with_cloudflares_form_is_stored_as_it_is() -> None:
    info = ErrorInfo("QuotaError", "no more", "at line 3")

    assert error_info(WorkerError(info)) == info


def test_an_error_that_stands_for_another_is_stored_as_that() -> None:
    info = ErrorInfo("TypeError", "bad", "user's stack")

    assert error_info(raised(stands_for(TypeError("TypeError: bad"), info))) == info


@pytest.mark.parametrize("name", ["Error", "TypeError", "RangeError", "AggregateError", "DataCloneError"])
def test_built_in_names_survive_the_boundary(name: str) -> None:
    assert ErrorInfo(name, "m").folded() == ErrorInfo(name, "m")


def test_an_exception_of_the_web_keeps_its_name_and_a_class_of_the_same_name_does_not() -> None:
    aborted = ErrorInfo("AbortError", "m", dom=True)

    assert aborted.folded() == aborted
    assert ErrorInfo.from_json(aborted.to_json()) == aborted
    assert ErrorInfo("AbortError", "m").folded() == ErrorInfo("Error", "AbortError: m")


def test_other_names_lead_the_message_behind_the_boundary() -> None:
    assert ErrorInfo("QuotaError", "m").folded() == ErrorInfo("Error", "QuotaError: m")
    assert ErrorInfo("QuotaError", "").folded() == ErrorInfo("Error", "QuotaError")


infos: st.SearchStrategy[ErrorInfo] = st.deferred(
    lambda: st.builds(ErrorInfo, st.text(), st.text(), st.none() | st.text(), st.none() | infos, st.booleans())
)


@given(infos)
def test_an_error_comes_back_from_storage(info: ErrorInfo) -> None:
    assert ErrorInfo.from_json(info.to_json()) == info


@given(infos)
def test_folding_twice_changes_nothing_more(info: ErrorInfo) -> None:
    assert info.folded().folded() == info.folded()


def test_only_name_and_message_are_public() -> None:
    assert ErrorInfo("E", "m", "stack", ErrorInfo("C", "c")).public() == {"name": "E", "message": "m"}


def test_a_js_exception_says_name_and_message() -> None:
    error = JsException(ErrorInfo("QuotaError", "no more"))

    assert (str(error), error.name, error.message) == ("QuotaError: no more", "QuotaError", "no more")


def test_a_non_retryable_error_has_its_message() -> None:
    error = NonRetryableError("stop")

    assert (str(error), error.name, error.message) == ("stop", "NonRetryableError", "stop")


def test_a_non_retryable_error_may_carry_another_name() -> None:
    assert NonRetryableError("stop", "QuotaError").info == ErrorInfo("QuotaError", "stop")


def test_a_subclass_has_a_name_of_its_own() -> None:
    class Fatal(NonRetryableError):
        pass

    assert Fatal("stop").name == "Fatal"


def test_a_subclass_need_not_call_the_constructor() -> None:
    class Declined(NonRetryableError):
        def __init__(self, code: int) -> None:
            self.code = code

    assert Declined(7).info == ErrorInfo("Declined", "7")


@pytest.mark.parametrize(
    "error",
    [NonRetryableError("stop", "QuotaError"), JsException(ErrorInfo("E", "m")), WorkerError(ErrorInfo("E", "m"))],
)
@pytest.mark.parametrize("copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
def test_errors_can_be_copied(error: WorkerError, copied: Any) -> None:
    twin = copied(error)

    assert type(twin) is type(error)
    assert (twin.info, str(twin)) == (error.info, str(error))


def test_an_engine_error_carries_cloudflares_code() -> None:
    error = EngineError("instance.not_found", code="instance.not_found")

    assert (error.info, error.code) == (ErrorInfo("Error", "instance.not_found"), "instance.not_found")


def test_a_timeout_says_how_long_it_waited() -> None:
    assert WorkflowTimeoutError(50).info == ErrorInfo("WorkflowTimeoutError", "Execution timed out after 50ms")


def test_an_exception_that_hides_its_class_and_text_can_be_made_ordinary() -> None:
    class Mean(BaseException):
        @property
        def __class__(self) -> type:  # type: ignore[override]
            raise RuntimeError("no class")

        def __str__(self) -> str:
            raise RuntimeError("no text")

    ordinary = as_ordinary(Mean())

    assert error_info(ordinary).name == "Mean"


def test_texts_of_a_stored_error_are_cut_at_a_million_characters() -> None:
    stored = ErrorInfo("Error", "m" * 3_000_000, "s" * 3_000_000, ErrorInfo("Error", "c" * 3_000_000)).to_json()

    most = LONGEST_STORED_TEXT
    assert stored["message"] == "m" * most + f"… ({3_000_000 - most:,} more characters)"
    assert str(stored["stack"]).startswith("s" * most + "…")
    assert stored["cause"]["message"].startswith("c" * (most // 2) + "…")


def test_a_long_chain_of_long_errors_stays_small() -> None:
    error = ErrorInfo("Error", "m" * 2_000_000)
    for _ in range(200):
        error = ErrorInfo("Error", error.message, cause=error)

    assert len(json.dumps(error.to_json())) < 5 * LONGEST_STORED_TEXT
