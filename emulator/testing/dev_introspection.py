"""Cloudflare's introspection API for tests in vitest: its calls of a binding, by the rules of our own test toolkit.

`bindings/javascript/introspection.mjs` makes the calls. A session is open for one Workflow; its operations come
as a whole list each time. What one instance is told is kept until the instance is disposed of.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from stepwell.bindings.errors import EngineError
from stepwell.bindings.ports import InstanceStatus, WorkflowPort
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded, Value, encode
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.storage.records import StepState
from stepwell.emulator.testing.errors import IntrospectionError
from stepwell.emulator.testing.modifier import WorkflowInstanceModifier
from stepwell.emulator.testing.registry import Registry, Session

_FINITE: Final = ("complete", "errored", "terminated")


class DevIntrospection:
    """The engine's half of the API. Belongs to the engine's loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._registry = Registry()
        self._sessions: dict[str, Session] = {}
        self._changed = asyncio.Event()
        engine.introspection.modifications = self._registry.look_up
        engine.observe(lambda _: self._changed.set())

    async def __call__(self, workflow_name: str, call: Value) -> Encoded:
        """The answer to one call, `[method, ...arguments]`. Raises `EngineError`."""
        method, *arguments = _list(call)
        port = self._engine.find_workflow(workflow_name)
        if port is None:
            raise EngineError(f'The Workflow "{workflow_name}" is not running here; start its Worker too.')
        try:
            if method == "start":
                return encode(self._start(workflow_name))
            if method in ("stop", "operations", "instances"):
                return self._of_session(method, *arguments)
            return await self._of_instance(port, workflow_name, method, *arguments)
        except IntrospectionError as error:
            raise EngineError(str(error)) from None

    # -- sessions
    def _start(self, workflow_name: str) -> str:
        if any(session.workflow_name == workflow_name for session in self._sessions.values()):
            raise EngineError(f'Workflow "{workflow_name}" already has an active introspection session.')
        key = secrets.token_hex(8)
        self._sessions[key] = self._registry.open(workflow_name)
        return key

    def _of_session(self, method: str, key: str, operations: Any = ()) -> Encoded:
        session = self._sessions[key]
        if method == "instances":
            return encode(list(session.instance_ids))
        if method == "stop":
            self._registry.close(self._sessions.pop(key))
        else:
            session.changes.clear()
            for operation in operations:
                _apply(WorkflowInstanceModifier(session.add), operation)
        return UNDEFINED_TEXT

    # -- instances
    async def _of_instance(
        self, port: WorkflowPort, workflow_name: str, method: str, instance_id: str, *arguments: Any
    ) -> Encoded:
        if method == "modify":
            changes = self._registry.of(workflow_name, instance_id)
            _apply(WorkflowInstanceModifier(lambda change, _: change(changes)), arguments[0])
        elif method == "abort":
            await self._abort(port, workflow_name, instance_id)
        elif method == "stepResult":
            return await self._step_result(workflow_name, instance_id, *arguments)
        elif method == "status":
            await self._reach(port, instance_id, arguments[0])
        else:
            return await self._end_of(port, instance_id, is_output=method == "output")
        return UNDEFINED_TEXT

    async def _abort(self, port: WorkflowPort, workflow_name: str, instance_id: str) -> None:
        """End the instance and free its id."""
        status = await _status(port, instance_id)
        if status is not None:
            if status.status not in _FINITE:
                await port.terminate(instance_id, None)
            await port.delete(instance_id)
        self._registry.forget(workflow_name, instance_id)

    async def _reach(self, port: WorkflowPort, instance_id: str, expected: str) -> None:
        while True:
            self._changed.clear()
            status = await _status(port, instance_id)
            if status is not None and status.status == expected:
                return
            if status is not None and status.status in _FINITE:
                raise EngineError(
                    f"[WorkflowIntrospector] The Workflow instance {instance_id} has reached status "
                    f"'{status.status}'. This is a finite status that prevents it from ever reaching the expected "
                    f"status of '{expected}'."
                )
            await self._changed.wait()

    async def _end_of(self, port: WorkflowPort, instance_id: str, *, is_output: bool) -> Encoded:
        status = await port.status(instance_id)
        if is_output:
            return status.output or UNDEFINED_TEXT
        return encode(status.error.public() if status.error is not None else None)

    async def _step_result(self, workflow_name: str, instance_id: str, name: str, index: float) -> Encoded:
        while True:
            self._changed.clear()
            for row in self._steps(workflow_name, instance_id):
                if (row.name, row.count) == (name, index) and row.state is StepState.COMPLETED:
                    return Encoded(row.output or UNDEFINED_TEXT)
            await self._changed.wait()

    def _steps(self, workflow_name: str, instance_id: str) -> Sequence[Any]:
        workflow = next(state for state in self._engine.workflows() if state.name == workflow_name)
        key = self._engine.store.find(workflow.key, instance_id)
        return self._engine.store.steps(key) if key is not None else ()


def _list(value: Value) -> list[Any]:
    if not isinstance(value, list):
        raise EngineError("An introspection call is a list of a method and its arguments.")
    return value


async def _status(port: WorkflowPort, instance_id: str) -> InstanceStatus | None:
    """The status of an instance, which may not be created yet."""
    try:
        return await port.status(instance_id)
    except EngineError:
        return None


def _apply(modifier: WorkflowInstanceModifier, operation: Mapping[str, Any]) -> None:
    """Make the change that an operation of the API describes."""
    kind = operation["type"]
    if kind in ("disableSleeps", "disableRetryDelays"):
        getattr(modifier, kind)(operation.get("steps"))
    elif kind == "mockStepResult":
        modifier.mock_step_result(operation["step"], operation.get("stepResult"))
    elif kind == "mockStepError":
        modifier.mock_step_error(operation["step"], operation["error"], _times(operation))
    elif kind == "forceStepTimeout":
        modifier.force_step_timeout(operation["step"], _times(operation))
    elif kind == "mockEvent":
        modifier.mock_event(operation["event"])
    elif kind == "forceEventTimeout":
        modifier.force_event_timeout(operation["step"])
    else:
        raise EngineError(f'Unknown introspection operation "{kind}".')


def _times(operation: Mapping[str, Any]) -> int | None:
    times = operation.get("times")
    return None if times is None else int(times)
