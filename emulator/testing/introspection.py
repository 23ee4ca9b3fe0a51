"""Cloudflare's own test API: introspectors of one instance, and of all that are still to be created.

Names, rules and messages are those of `introspectWorkflowInstance` and `introspectWorkflow` of its Vitest plugin;
each name exists in snake_case as well.
"""

# ruff: noqa: N815, N816 - Cloudflare's spelling is part of the interface

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

from stepwell.emulator.testing.emulation import Emulation
from stepwell.emulator.testing.errors import IntrospectionError, UnusedMocks
from stepwell.emulator.testing.instance import Observed
from stepwell.emulator.testing.modifications import Mention
from stepwell.emulator.testing.modifier import Change, WorkflowInstanceModifier
from stepwell.emulator.testing.registry import Session
from stepwell.emulator.testing.remote import RemoteWorkflow
from stepwell.emulator.testing.unused import unused_of_instance, unused_of_session
from stepwell.emulator.testing.workflow import TestedWorkflow

#: Makes changes; may be a plain or an async function.
ModifierCallback: TypeAlias = Callable[[WorkflowInstanceModifier], Awaitable[Any] | None]


class _Disposable:
    """For `async with`: disposed of at the end of the block."""

    async def dispose(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.dispose()


class WorkflowInstanceIntrospector(Observed, _Disposable):
    """Changes and watches one instance, from before it is created."""

    @property
    def id(self) -> str:
        return self._instance_id

    async def modify(self, fn: ModifierCallback) -> Self:
        """Calls `fn` with the modifier of this instance; gives the introspector."""
        await _finished(fn(WorkflowInstanceModifier(self._change)))
        if (key := self._key) is not None and self._emulation.runs:
            self._emulation.engine.look_again(key)
        return self

    def _change(self, change: Change, mentions: list[Mention]) -> None:
        registry = self._emulation.registry
        change(registry.of(self._workflow_name, self._instance_id))
        registry.mention(self._workflow_name, self._instance_id, mentions)

    async def dispose(self) -> None:
        """Removes the instance with all it has stored; its id can be used anew.

        Raises `UnusedMocks` for changes of steps that it never came to.
        """
        emulation, name, instance_id = self._emulation, self._workflow_name, self._instance_id
        unused = unused_of_instance(emulation, name, instance_id)
        key = self._key
        if key is not None and emulation.runs:
            await emulation.engine.commands.delete(key)
        emulation.registry.forget(name, instance_id)
        if unused and emulation.options.check_mocks:
            raise UnusedMocks("\n".join(unused))

    def __repr__(self) -> str:
        return f"<introspector of {self._instance_id!r} of {self._workflow_name}>"


class WorkflowIntrospector(_Disposable):
    """Changes and watches all instances of a Workflow that are created while it exists."""

    def __init__(self, emulation: Emulation, session: Session) -> None:
        self._emulation = emulation
        self._session = session
        self._introspectors: dict[str, WorkflowInstanceIntrospector] = {}

    async def modify_all(self, fn: ModifierCallback) -> None:
        """Calls `fn` once, and makes its changes to every instance that is created from now on."""
        await _finished(fn(WorkflowInstanceModifier(self._session.add)))

    async def get(self) -> list[WorkflowInstanceIntrospector]:
        """An introspector for each instance so far, in order of creation."""
        for instance_id in self._session.instance_ids:
            if instance_id not in self._introspectors:
                self._introspectors[instance_id] = WorkflowInstanceIntrospector(
                    self._emulation, self._session.workflow_name, instance_id
                )
        return list(self._introspectors.values())

    async def dispose(self) -> None:
        """Ends the changes, and disposes of all introspectors.

        Raises `UnusedMocks` for changes of steps that no instance came to.
        """
        registry = self._emulation.registry
        if self._session not in registry.sessions:
            return
        unused = unused_of_session(self._emulation, self._session)
        introspectors = await self.get()
        registry.close(self._session)
        for introspector in introspectors:
            await introspector.dispose()
        self._introspectors.clear()
        if unused and self._emulation.options.check_mocks:
            raise UnusedMocks("\n".join(unused))

    modifyAll = modify_all


_D = TypeVar("_D", bound=_Disposable)


class _Opening(Generic[_D]):
    """To be awaited, as in JavaScript, or used in an `async with` at once."""

    def __init__(self, made: _D) -> None:
        self._made = made

    def __await__(self) -> Generator[Any, None, _D]:
        return self._ready().__await__()

    async def _ready(self) -> _D:
        return self._made

    async def __aenter__(self) -> _D:
        return self._made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self._made.dispose()


def introspect_workflow_instance(
    workflow: TestedWorkflow, instance_id: str
) -> _Opening[WorkflowInstanceIntrospector]:
    """An introspector of the instance with this id, which is usually created afterwards."""
    if isinstance(workflow, RemoteWorkflow):
        return _Opening(workflow.introspect(instance_id))
    if not workflow or not instance_id:
        raise IntrospectionError("[WorkflowIntrospector] Workflow binding and instance id are required.")
    return _Opening(WorkflowInstanceIntrospector(workflow.emulation, workflow.name, instance_id))


def introspect_workflow(workflow: TestedWorkflow) -> _Opening[WorkflowIntrospector]:
    """An introspector of all instances of the Workflow that are created from now on."""
    if not workflow:
        raise IntrospectionError("[WorkflowIntrospector] Workflow binding is required.")
    session = workflow.emulation.registry.open(workflow.name)
    return _Opening(WorkflowIntrospector(workflow.emulation, session))


async def _finished(result: Awaitable[Any] | None) -> None:
    if result is not None:
        await result


introspectWorkflowInstance = introspect_workflow_instance
introspectWorkflow = introspect_workflow
