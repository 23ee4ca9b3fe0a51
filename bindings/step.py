"""`step` in Python Workers: the decorator `do`, and the waits.

Cloudflare's two modes are two classes. They differ in how a step finds what it depends on: by the names of its
parameters (`ImplicitStep`, compatibility date 2026-02-25 and later) or by a list (`LegacyStep`, `depends=`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeAlias

from stepwell.bindings.errors import EngineError, WorkerError
from stepwell.bindings.ports import RollbackOptions, StepPort
from stepwell.bindings.sites import site_of_caller
from stepwell.bindings.step_config import rollback_options
from stepwell.bindings.step_errors import from_wait
from stepwell.bindings.step_function import CONTEXT, StepFunction
from stepwell.bindings.values import Value, decode

Decorator: TypeAlias = Callable[[Callable[..., Any]], StepFunction]
_ABSENT: Final = object()

#: Names from JavaScript, and from a draft of the documentation that no SDK followed.
_INSTEAD: Final = {
    "sleepUntil": "in Python it is sleep_until(name, timestamp)",
    "waitForEvent": "in Python it is wait_for_event(name, event_type, timeout=...)",
    "with_rollback": "Stepwell takes a handler as do(name, rollback=handler), an extension",
    "rollback_all": "handlers given as do(name, rollback=handler) run by themselves when run() fails",
    "run": "a step is made with the decorator do(name)",
}


class WorkflowStep:
    """One pass's `step`. `do` is in the subclasses; `step_of` picks the one for the mode."""

    __slots__ = ("_declared", "port")

    def __init__(self, port: StepPort) -> None:
        self.port = port
        self._declared: dict[str, StepFunction] = {}

    async def sleep(self, name: object, duration: object, /) -> None:
        """Milliseconds, or a text such as "10 seconds"."""
        try:
            await self.port.sleep(name, duration, site_of_caller())
        except (EngineError, WorkerError) as error:
            raise from_wait(error) from None

    async def sleep_until(self, name: object, timestamp: object) -> None:
        """A `datetime` (naive: UTC), milliseconds since the epoch, or a date text."""
        try:
            await self.port.sleep_until(name, timestamp, site_of_caller())
        except (EngineError, WorkerError) as error:
            raise from_wait(error) from None

    async def wait_for_event(self, name: object, event_type: object, /, timeout: object = "24 hours") -> Value:
        """A dict of `type`, `payload` and `timestamp` (a datetime); raises when the timeout passes."""
        options = {"type": event_type}
        if timeout is not None:
            options["timeout"] = timeout
        try:
            return decode(await self.port.wait_for_event(name, options, site_of_caller()))
        except (EngineError, WorkerError) as error:
            raise from_wait(error) from None

    def __getattr__(self, name: str) -> NoReturn:
        hint = _INSTEAD.get(name)
        raise AttributeError(f"step has no {name!r}" + (f": {hint}" if hint else ""), name=name, obj=self)

    def _declare(self, declared: StepFunction, name: object) -> StepFunction:
        if isinstance(name, str):
            self._declared[name] = declared
        return declared


class ImplicitStep(WorkflowStep):
    """`step` where parameters name the steps they depend on."""

    __slots__ = ()

    def do(
        self,
        name: object = None,
        *positional: object,
        concurrent: bool = False,
        config: object = None,
        rollback: object = _ABSENT,
        rollback_config: object = _ABSENT,
    ) -> Decorator:
        """Makes a step of a function; awaiting a call of what it returns runs the step.

        Each parameter of the function is `ctx` or the name of a step declared before. `rollback` and
        `rollback_config` are an extension of ours: a handler, called with one dict of `ctx`, `error`, `output` and
        `stepName`, and its config, as in the last argument of JavaScript's `step.do`.
        """
        _refuse_function(name, *positional)
        if positional:
            raise TypeError("step.do takes one positional argument, the name; config= and concurrent= are keywords")
        undo = None if rollback is _ABSENT else _undo(rollback, rollback_config)

        def decorate(func: Callable[..., Any]) -> StepFunction:
            step_name = func.__name__ if name is None else name
            return self._declare(StepFunction(self, step_name, func, None, concurrent, config, undo), step_name)

        return decorate

    def sources(self, parameters: tuple[str, ...], depends: Any) -> list[Any]:
        return [self._source(parameter) for parameter in parameters]

    def _source(self, parameter: str) -> Any:
        if parameter in self._declared:
            return self._declared[parameter]
        if parameter == "ctx":
            return CONTEXT
        declared = ", ".join(self._declared) or "none yet"
        raise TypeError(
            f"Received unexpected parameter {parameter}: each parameter of a step is ctx or the name of a step "
            f"declared before it ({declared})"
        )


class LegacyStep(WorkflowStep):
    """`step` where `depends=` lists the steps whose results fill the parameters, in order."""

    __slots__ = ()

    def do(
        self,
        name: object,
        depends: Any = None,
        concurrent: bool = False,
        config: object = None,
        *,
        rollback: object = _ABSENT,
        rollback_config: object = _ABSENT,
    ) -> Decorator:
        """As `ImplicitStep.do`, but the parameters other than `ctx` are filled from `depends`."""
        _refuse_function(name, depends, concurrent)
        undo = None if rollback is _ABSENT else _undo(rollback, rollback_config)

        def decorate(func: Callable[..., Any]) -> StepFunction:
            step_name = func.__name__ if name is None else name
            return self._declare(StepFunction(self, step_name, func, depends, concurrent, config, undo), step_name)

        return decorate

    def sources(self, parameters: tuple[str, ...], depends: Any) -> list[Any]:
        own = [parameter for parameter in parameters if parameter != "ctx"]
        if depends is None and own:
            raise TypeError(f"Step has {len(own)} non-ctx parameter(s) but no 'depends' list provided")
        entries = depends or []
        if len(entries) != len(own):
            raise TypeError(
                f"Step declares {len(own)} non-ctx parameter(s) but 'depends' has {len(entries)} item(s)"
            )
        for parameter, entry in zip(own, entries, strict=True):
            if not isinstance(entry, StepFunction):
                raise TypeError(
                    f"'depends' entry for parameter '{parameter}' is not a function decorated with step.do"
                )
        filling = iter(entries)
        return [CONTEXT if parameter == "ctx" else next(filling) for parameter in parameters]


def step_of(port: StepPort, *, implicit: bool) -> ImplicitStep | LegacyStep:
    return ImplicitStep(port) if implicit else LegacyStep(port)


def _undo(rollback: object, config: object) -> RollbackOptions:
    has_config = config is not _ABSENT
    return rollback_options(rollback, config if has_config else None, has_config=has_config)


def _refuse_function(name: object, *more: object) -> None:
    """`@step.do` without a call, or a callback as in JavaScript, would make a step that never runs the function."""
    if type(name) is not str and callable(name):
        raise TypeError('step.do is called before it decorates: write @step.do() or @step.do("name")')
    if more and any(callable(one) and not isinstance(one, StepFunction) for one in more):
        raise TypeError(
            f"step.do({name!r}, callback) is JavaScript. In Python, decorate the function with @step.do({name!r}) "
            "and await a call of it"
        )


def _name_for_users(kind: type) -> None:
    """Python's errors and warnings about calls name the methods as user code writes them: `step.do`."""
    for name, member in vars(kind).items():
        if inspect.isfunction(member):
            member.__qualname__ = f"step.{name}"


for _kind in (WorkflowStep, ImplicitStep, LegacyStep):
    _name_for_users(_kind)
