"""What user code gives to and gets from `step.do` beside the result: config, delay functions, ctx, rollback."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from stepwell.bindings.errors import JsException
from stepwell.bindings.ports import DelayFunction, DelayInput, RollbackInput, RollbackOptions, StepContext
from stepwell.bindings.values import JsDict, decode


def plain_config(config: object) -> object:
    """The config as JavaScript would see it: members that are None are absent, `jsnull` is null.

    A Python function as `retries.delay` becomes a `DelayFunction`. What is no dict is handed on for the engine to
    refuse.
    """
    if not isinstance(config, dict):
        return config
    plain = _without_none(config)
    retries = plain.get("retries")
    if isinstance(retries, dict) and callable(retries.get("delay")):
        retries["delay"] = delay_function(retries["delay"])
    return plain


def _without_none(value: dict[Any, Any]) -> dict[Any, Any]:
    return {key: _member(item) for key, item in value.items() if item is not None}


def _member(value: Any) -> Any:
    return _without_none(value) if isinstance(value, dict) else value


def delay_function(function: Callable[[Any], Any]) -> DelayFunction:
    """Calls the user's function with one object that has `ctx` and `error`."""

    async def delay(given: DelayInput) -> object:
        argument = JsDict(ctx=js_context(given.context), error=JsException(given.error))
        return await _result(function(argument))

    return delay


def rollback_options(handler: Any, config: object, *, has_config: bool) -> RollbackOptions:
    """The options as the port takes them; a handler that is no function is handed on for the engine to refuse."""
    called = _rollback_handler(handler) if callable(handler) else handler
    return RollbackOptions(called, plain_config(config) if has_config else None, has_config)


def _rollback_handler(function: Callable[[Any], Any]) -> Callable[[RollbackInput], Any]:
    async def handler(given: RollbackInput) -> None:
        output = decode(given.output) if isinstance(given.output, str) else given.output
        argument = JsDict(
            ctx=js_context(given.context),
            error=JsException(given.error),
            output=output,
            stepName=given.step_name,
        )
        await _result(function(argument))

    return handler


async def _result(returned: Any) -> Any:
    return await returned if inspect.isawaitable(returned) else returned


def js_context(context: StepContext) -> JsDict:
    """`ctx`: a fresh copy with attribute access, so that changing it changes nothing."""
    return _object(context.to_json())


def _object(members: dict[str, Any]) -> JsDict:
    return JsDict((key, _object(item) if isinstance(item, dict) else item) for key, item in members.items())
