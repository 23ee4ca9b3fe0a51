"""The delay before the next attempt, of steps and of rollback handlers."""

from __future__ import annotations

from stepwell.bindings.errors import (
    NON_RETRYABLE,
    ErrorInfo,
    NonRetryableDelayError,
    WorkflowTimeoutError,
    error_info,
)
from stepwell.bindings.ports import DelayInput, StepContext
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.passes.retries import StepConfig, dynamic_delay
from stepwell.emulator.limits import Limits


def is_non_retryable(error: ErrorInfo) -> bool:
    """By name, or by how the message starts (cases retries-non-retryable-*)."""
    return error.name == NON_RETRYABLE or error.message.startswith(NON_RETRYABLE)


def unprefixed(error: ErrorInfo) -> ErrorInfo:
    """A non-retryable error by its name, without what its message began with."""
    if error.name == NON_RETRYABLE:
        return error
    message = error.message.removeprefix(NON_RETRYABLE).removeprefix(":").lstrip()
    return ErrorInfo(NON_RETRYABLE, message, error.stack, error.cause)


async def delay_before_retry(
    core: Core, limits: Limits, config: StepConfig, context: StepContext, error: ErrorInfo
) -> int:
    """Milliseconds until the attempt after `context.attempt`.

    Asks the delay function where there is one. Raises `NonRetryableDelayError` when it throws, is too slow, or
    answers with something that is no delay (cases retries-dynamic-*).
    """
    if config.delay_function is None:
        return config.delay_after(context.attempt)
    public_name = f"{context.name}-{context.count}"
    limit_ms = limits.delay_function_ms
    try:
        answer = await core.callbacks.within(limit_ms, _ask(config, DelayInput(context, error)))
    except WorkflowTimeoutError:
        raise NonRetryableDelayError(
            f'The delay function for step "{public_name}" did not return within {limit_ms // 1000} seconds'
        ) from None
    except Exception as broken:
        message = error_info(broken).message
        raise NonRetryableDelayError(
            f'The delay function for step "{public_name}" threw an error: {message}'
        ) from broken
    return dynamic_delay(public_name, answer, config, context.attempt, core.compat)


async def _ask(config: StepConfig, given: DelayInput) -> object:
    assert config.delay_function is not None
    answer = config.delay_function(given)
    return await answer if hasattr(answer, "__await__") else answer
