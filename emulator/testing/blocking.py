"""The same objects for plain tests without `async`: each call runs on a loop of the test's own until it is done."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from stepwell.emulator.testing.control import ClockControl, EngineControl
from stepwell.emulator.testing.instance import Observed
from stepwell.emulator.testing.introspection import WorkflowIntrospector
from stepwell.emulator.testing.modifier import WorkflowInstanceModifier
from stepwell.emulator.testing.remote import RemoteInstance, RemoteWorkflow, RemoteWorkflows
from stepwell.emulator.testing.workflow import TestedWorkflow
from stepwell.emulator.testing.workflows import Workflows

T = TypeVar("T")

_WRAPPED: Final = (
    Workflows,
    TestedWorkflow,
    WorkflowInstanceModifier,
    Observed,
    WorkflowIntrospector,
    ClockControl,
    EngineControl,
    RemoteWorkflows,
    RemoteWorkflow,
    RemoteInstance,
)


class BlockingLoop:
    """The loop of one plain test; made when it is first needed."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None

    def run(self, awaitable: Awaitable[T]) -> T:
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(_await(awaitable))

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()
            self._runner = None


async def _await(awaitable: Awaitable[T]) -> T:
    return await awaitable


class Blocking:
    """Stands for an object of this package; what is awaited in an async test is simply called here."""

    def __init__(self, behind: Any, loop: BlockingLoop) -> None:
        object.__setattr__(self, "_behind", behind)
        object.__setattr__(self, "_loop", loop)

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        return _shown(getattr(self._behind, name), self._loop)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._behind, name, value)

    def __getitem__(self, name: str) -> Any:
        return _shown(self._behind[name], self._loop)

    def __enter__(self) -> Blocking:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run(self._behind.dispose())

    def __bool__(self) -> bool:
        return True

    def __dir__(self) -> list[str]:
        return dir(self._behind)

    def __repr__(self) -> str:
        return repr(self._behind)


def _shown(value: Any, loop: BlockingLoop) -> Any:
    """A value as a plain test sees it: methods block, and what they give is shown in the same way."""
    if inspect.ismethod(value) and isinstance(value.__self__, _WRAPPED):
        return _calling(value, loop)
    if isinstance(value, _WRAPPED):
        return Blocking(value, loop)
    if isinstance(value, list):  # of instances; what user code has returned may be any list, with cycles too
        return [Blocking(one, loop) if isinstance(one, _WRAPPED) else one for one in value]
    return value


def _calling(method: Callable[..., Any], loop: BlockingLoop) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        result = method(*args, **kwargs)
        return _shown(loop.run(result) if inspect.isawaitable(result) else result, loop)

    return call


def unwrapped(given: Any) -> tuple[Any, BlockingLoop | None]:
    """What a `Blocking` stands for, with its loop; any other object as it is."""
    return (given._behind, given._loop) if isinstance(given, Blocking) else (given, None)


def blocking(value: Any, loop: BlockingLoop | None) -> Any:
    """What a function of this package gives to a plain test."""
    if loop is None:
        return value
    return _shown(loop.run(value) if inspect.isawaitable(value) else value, loop)
