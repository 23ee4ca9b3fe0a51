"""A Workflow class that a test defines or imports, run by the test's engine."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from stepwell.bindings.entrypoints import ExecutionContext, WorkflowEntrypoint
from stepwell.bindings.environment import Env
from stepwell.bindings.ports import RunEvent, Runner, StepPort, is_checked
from stepwell.bindings.runtime import Runtime, enter_runtime
from stepwell.bindings.sites import encode_returned
from stepwell.bindings.step import step_of
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded
from stepwell.bindings.workflow import Workflow
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.testing.code import Ports
from stepwell.emulator.testing.output import print_tagged
from stepwell.emulator.worker.python.generation import js_event
from stepwell.emulator.worker.python.impure import reads_noted
from stepwell.emulator.worker.python.output import end_output, enter_output, routed_output


@dataclass
class ClassCode:
    """One class that the test defines or imports, with what its `env` holds besides the Workflows."""

    kind: type
    binding: str
    definition: WorkflowDefinition
    env: Mapping[str, object]
    implicit: bool
    _background: set[asyncio.Future[Any]] = field(default_factory=set)
    _closing: ExitStack = field(default_factory=ExitStack)

    @property
    def bindings(self) -> Mapping[str, str]:
        return {self.binding: self.definition.name}

    @property
    def definitions(self) -> Sequence[WorkflowDefinition]:
        return [self.definition]

    async def load(self, engine: Engine, ports: Ports) -> None:
        self._closing.enter_context(routed_output(print_tagged))
        version = Version(f"{self.definition.name}-test")
        engine.define(self.definition, self._runner(engine, ports), version)

    def _runner(self, engine: Engine, ports: Ports) -> Runner:
        async def run(event: RunEvent, port: StepPort) -> Encoded:
            runtime = self._runtime(engine, ports)
            enter_runtime(runtime)
            enter_output(print_tagged)
            try:
                with reads_noted(port.note_read) if is_checked(port) else nullcontext():
                    workflow = self.kind(ExecutionContext(), runtime.env)
                    result = workflow.run(js_event(event), step_of(port, implicit=self.implicit))
                    if inspect.isawaitable(result):
                        result = await result
            finally:
                end_output()
            return UNDEFINED_TEXT if result is None else encode_returned(result, getattr(self.kind, "run", None))

        return run

    def _runtime(self, engine: Engine, ports: Ports) -> Runtime:
        env = Env({**{name: Workflow(port) for name, port in ports().items()}, **self.env})
        loop, now_ms = asyncio.get_running_loop(), engine.clock.now
        return Runtime(self.definition.script_name, env, loop, now_ms, self._wait_until)

    def _wait_until(self, awaitable: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(awaitable)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def again(self) -> ClassCode:
        return replace(self, _background=set(), _closing=ExitStack())

    async def stop(self) -> None:
        for task in list(self._background):
            task.cancel()
        self._closing.close()


def check_class(kind: object) -> type:
    """Raises `TypeError` unless Cloudflare would accept the class as a Workflow."""
    if not isinstance(kind, type):
        raise TypeError(f"expected a subclass of WorkflowEntrypoint, got {kind!r}")
    names = {base.__name__ for base in kind.__mro__}
    if not issubclass(kind, WorkflowEntrypoint) and WorkflowEntrypoint.__name__ not in names:
        raise TypeError(
            f"{kind.__name__} does not derive from WorkflowEntrypoint: `from workers import WorkflowEntrypoint`"
        )
    if not callable(getattr(kind, "run", None)):
        raise TypeError(f"{kind.__name__} has no method run(self, event, step)")
    return kind


def _words(class_name: str) -> list[str]:
    return re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+|\d+", class_name)


def binding_name(class_name: str) -> str:
    """`OrderWorkflow` -> `ORDER_WORKFLOW`."""
    return "_".join(word.upper() for word in _words(class_name))


def workflow_name(class_name: str) -> str:
    """`OrderWorkflow` -> `order-workflow`."""
    return "-".join(word.lower() for word in _words(class_name))
