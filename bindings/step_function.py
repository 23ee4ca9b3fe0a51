"""A function decorated with `step.do`: runs the step, remembers its result, feeds the steps that depend on it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from types import CoroutineType, FunctionType
from typing import Any, Final, Protocol

from stepwell.bindings.errors import EngineError, WorkerError
from stepwell.bindings.ports import CallSite, RollbackOptions, StepCallback, StepContext, StepPort, StepResult
from stepwell.bindings.sites import encode_returned, site_of_caller, site_of_function
from stepwell.bindings.step_config import js_context, plain_config
from stepwell.bindings.step_errors import from_step
from stepwell.bindings.values import Encoded, Value, decode

#: Stands for the `ctx` parameter among the arguments of a step.
CONTEXT: Final = object()
_NOTHING: Final = object()


class Pass(Protocol):
    """What a step function needs of the `step` that made it."""

    port: StepPort

    def sources(self, parameters: tuple[str, ...], depends: Any) -> list[Any]:
        """What fills each parameter: `CONTEXT` or a `StepFunction`.

        Raises `TypeError` for a parameter that cannot be filled.
        """
        ...


class StepFunction:
    """Calling it, without arguments, and awaiting that runs the step.

    Written for speed: one object and one coroutine for each step of an instance that may run thousands, and no
    task, no signature and no wrapper at a call.
    """

    __slots__ = (
        "_calls",
        "_concurrent",
        "_config",
        "_depends",
        "_func",
        "_name",
        "_parameters",
        "_pass",
        "_result",
        "_undo",
        "_waiters",
    )

    def __init__(
        self,
        of_pass: Pass,
        name: object,
        func: Callable[..., Any],
        depends: Any,
        concurrent: bool,
        config: object,
        undo: RollbackOptions | None,
    ) -> None:
        self._pass = of_pass
        self._name = name
        self._func = func
        self._parameters = parameter_names(func)
        self._depends = depends
        self._concurrent = concurrent
        self._config = config
        self._undo = undo
        self._result: Value = _NOTHING
        self._calls = 0
        self._waiters: list[asyncio.Future[Value]] | None = None

    def __call__(self, *arguments: object, **keywords: object) -> Coroutine[Any, Any, Value]:
        # Not async itself: called in gather(), its caller is gone by the time it runs.
        if arguments or keywords:
            raise TypeError(
                f"step {self._name!r} was called with arguments. Call it without arguments: its parameters are "
                "filled with the results of steps, and it can read the variables around it"
            )
        site = site_of_caller()
        coroutine: Any = self._run(site)
        # Python warns by this name of a step that was never awaited, perhaps when other code runs.
        place = "" if site is None else f" ({site.file}:{site.line})"
        coroutine.__qualname__ = f"step {self._name}{place}"
        called: Coroutine[Any, Any, Value] = coroutine
        return called

    async def _run(self, site: CallSite | None) -> Value:
        self._calls += 1
        try:
            arguments: Sequence[Any] = ()
            if self._parameters or self._depends is not None:
                sources = self._pass.sources(self._parameters, self._depends)
                arguments = await self._arguments(sources)
                site = _with_needs(site, sources)
            callback = callback_of(self._func, arguments)
            config = None if self._config is None else plain_config(self._config)
            try:
                result = await self._pass.port.do(self._name, config, callback, self._undo, site)
            except (EngineError, WorkerError) as error:
                raise from_step(error) from None
            value = decode(result) if isinstance(result, str) else result
        except BaseException as ended:
            self._failed(ended)
            raise
        self._calls -= 1
        self._result = value
        if self._waiters is not None:
            self._feed(value)
        return value

    async def _arguments(self, sources: Sequence[Any]) -> list[Any]:
        if self._concurrent and sum(map(_is_unfinished, sources)) > 1:
            return await asyncio.gather(*map(_argument, sources))
        return [await _argument(source) for source in sources]

    @property
    def is_finished(self) -> bool:
        return self._result is not _NOTHING

    async def result(self) -> Value:
        """The result for a dependent: of the last call, of the one under way, or of a new one."""
        if self._result is not _NOTHING:
            return self._result
        if not self._calls:
            return await self._run(site_of_function(self._func))
        waiter: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
        if self._waiters is None:
            self._waiters = []
        self._waiters.append(waiter)
        return await waiter

    def _feed(self, value: Value) -> None:
        for waiter in self._take_waiters():
            waiter.set_result(value)

    def _failed(self, error: BaseException) -> None:
        """A failed step is not remembered: the next dependent runs it again."""
        self._calls -= 1
        for waiter in self._take_waiters():
            if issubclass(type(error), asyncio.CancelledError):
                waiter.cancel()
            else:
                waiter.set_exception(error)

    def _take_waiters(self) -> list[asyncio.Future[Value]]:
        waiters, self._waiters = self._waiters or [], None
        return [waiter for waiter in waiters if not waiter.done()]


def _with_needs(site: CallSite | None, sources: Sequence[Any]) -> CallSite | None:
    needs = tuple(str(source._name) for source in sources if isinstance(source, StepFunction))
    return site._replace(needs=needs) if site is not None and needs else site


def _is_unfinished(source: Any) -> bool:
    return isinstance(source, StepFunction) and not source.is_finished


async def _argument(source: Any) -> Any:
    return await source.result() if isinstance(source, StepFunction) else source


def callback_of(func: Callable[..., Any], arguments: Sequence[Any]) -> StepCallback | None:
    """What the engine calls for each attempt; None, which the engine refuses, for what is no function."""
    if not callable(func):
        return None

    def callback(context: StepContext) -> StepResult | Coroutine[Any, Any, StepResult]:
        if not arguments:
            returned = func()
        else:
            returned = func(*(js_context(context) if x is CONTEXT else x for x in arguments))
        most = context.most
        if type(returned) is CoroutineType:
            return _encoded(returned, func, most)
        return encode_returned(returned, func, most)

    return callback


async def _encoded(coroutine: Coroutine[Any, Any, Any], func: Callable[..., Any], most: int | None) -> Encoded:
    return encode_returned(await coroutine, func, most)


def parameter_names(func: Any) -> tuple[str, ...]:
    """The parameters that `inspect.signature` shows; none for what is no function."""
    if type(func) is FunctionType and getattr(func, "__wrapped__", None) is None:
        code = func.__code__  # a signature costs as much as the step
        if not code.co_varnames:
            return ()
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        return code.co_varnames[:count]
    return tuple(inspect.signature(func).parameters) if callable(func) else ()
