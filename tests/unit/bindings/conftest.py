"""An engine in miniature for tests of what user code sees: it keeps all in memory, and waits for nothing."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

import pytest

from stepwell.bindings.environment import Env
from stepwell.bindings.errors import (
    EngineError,
    ErrorInfo,
    NotSerialisable,
    WorkerError,
    WorkflowError,
    WorkflowFatalError,
    WorkflowTimeoutError,
    error_info,
)
from stepwell.bindings.ports import (
    CallSite,
    DelayInput,
    InstanceStatus,
    RollbackInput,
    RollbackOptions,
    SizeLimits,
    StepCallback,
    StepContext,
    StepResult,
)
from stepwell.bindings.runtime import Runtime, enter_runtime
from stepwell.bindings.step import ImplicitStep, LegacyStep
from stepwell.bindings.values import Encoded, decode, encode

NOW_MS = 4_102_444_800_000  # 2100-01-01: no test can mistake it for today


@dataclass
class Do:
    """A call of `do`: what the engine was given."""

    name: object
    count: int
    config: Any
    rollback: RollbackOptions | None
    attempts: int = 0
    delays: list[object] = field(default_factory=list)


class MemoryStepPort:
    """Tries a callback as often as its config says, at once. `events` answers waits by their type."""

    def __init__(self) -> None:
        self.calls: list[Do] = []
        self.sleeps: list[tuple[object, object]] = []
        self.waits: list[tuple[object, object]] = []
        self.sites: list[CallSite | None] = []
        self.events: dict[str, Any] = {}
        self.undone: list[str] = []
        self._counts: Counter[object] = Counter()
        self._outputs: dict[int, StepResult] = {}

    def names(self) -> list[object]:
        return [call.name for call in self.calls]

    @property
    def size_limits(self) -> SizeLimits:
        return SizeLimits()

    async def do(
        self,
        name: object,
        config: object,
        callback: StepCallback | None,
        rollback: RollbackOptions | None = None,
        site: CallSite | None = None,
    ) -> StepResult:
        self.sites.append(site)
        if callback is None:
            raise WorkflowFatalError(f'Step "{name}" requires a callback function')
        self._counts[name] += 1
        call = Do(name, self._counts[name], config, rollback)
        self.calls.append(call)
        result = await self._tried(call, callback)
        self._outputs[id(call)] = result
        return result

    async def _tried(self, call: Do, callback: StepCallback) -> StepResult:
        retries = call.config.get("retries", {}) if isinstance(call.config, Mapping) else {}
        while True:
            call.attempts += 1
            context = StepContext(
                str(call.name), call.count, call.attempts, {"retries": {"limit": 0}, "timeout": 1}
            )
            try:
                result = callback(context)
                return result if isinstance(result, str) else await result  # type: ignore[misc]
            except NotSerialisable:
                raise WorkflowFatalError(f'Value returned from step "{call.name}" is not serialisable') from None
            except Exception as error:  # noqa: BLE001 - as an engine does
                info = error_info(error)
            if info.name == "NonRetryableError" or call.attempts > retries.get("limit", 0):
                raise WorkerError(info)
            if callable(retries.get("delay")):
                call.delays.append(await retries["delay"](DelayInput(context, info)))

    async def sleep(self, name: object, duration: object, site: CallSite | None = None) -> None:
        if duration == "bad":
            raise EngineError('Invalid duration "bad"', name="TypeError")
        self.sites.append(site)
        self.sleeps.append((name, duration))

    async def sleep_until(self, name: object, timestamp: object, site: CallSite | None = None) -> None:
        self.sites.append(site)
        self.sleeps.append((name, timestamp))

    async def wait_for_event(self, name: object, options: object, site: CallSite | None = None) -> Encoded:
        assert isinstance(options, Mapping)
        self.sites.append(site)
        self.waits.append((name, options))
        if options["type"] not in self.events:
            raise WorkflowTimeoutError(1000)
        return encode({"type": options["type"], "payload": self.events[options["type"]], "timestamp": 0})

    async def roll_back(self, error: Exception) -> None:
        """Calls the handlers that were registered, newest first."""
        for call in reversed(self.calls):
            if call.rollback is not None:
                context = StepContext(str(call.name), call.count, call.attempts, {})
                output = self._outputs.get(id(call))
                given = RollbackInput(context, error_info(error), output, f"{call.name}-{call.count}")
                await call.rollback.handler(given)


@dataclass
class Kept:
    """An instance of the miniature engine."""

    params: Any
    status: str = "queued"
    output: Encoded | None = None
    error: ErrorInfo | None = None
    events: list[Any] = field(default_factory=list)


class MemorySubscription:
    def __init__(self, events: Sequence[Mapping[str, object]]) -> None:
        self._events = list(events)
        self.is_closed = False

    async def next(self) -> Mapping[str, object] | None:
        return self._events.pop(0) if self._events and not self.is_closed else None

    def close(self) -> None:
        self.is_closed = True


class MemoryWorkflowPort:
    """Keeps instances by id; its `calls` are what reached the engine, after the binding's conversions."""

    workflow_name = "orders"
    payload_bytes = 1_000

    def __init__(self) -> None:
        self.instances: dict[str, Kept] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.history: list[Mapping[str, object]] = []

    async def create(self, options: object = None) -> str:
        self.calls.append(("create", options))
        given: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
        instance_id = given.get("id", f"made-{len(self.instances)}")
        if instance_id in self.instances:
            raise WorkflowError(
                f'(instance.already_exists) Workflow instance with id "{instance_id}" already exists'
            )
        self.instances[instance_id] = Kept(decode(given.get("params", Encoded("{}"))))
        return str(instance_id)

    async def create_batch(self, options: object) -> Sequence[str] | Mapping[str, object]:
        self.calls.append(("create_batch", options))
        if isinstance(options, list):
            return [await self.create(entry) for entry in options]
        if not isinstance(options, Mapping):
            raise WorkflowError("(body) Provided argument is invalid")
        entries = options.get("instances") or [{}] * options["count"]
        return {"created": [await self.create(entry) for entry in entries], "errors": [{"index": 9}]}

    async def delete_batch(self, ids: object) -> Mapping[str, object]:
        self.calls.append(("delete_batch", ids))
        return {"deleted": ids, "errors": []}

    async def get(self, instance_id: object) -> str:
        if instance_id not in self.instances:
            raise EngineError("instance.not_found", code="instance.not_found")
        return str(instance_id)

    async def status(self, instance_id: str) -> InstanceStatus:
        kept = self.instances[instance_id]
        return InstanceStatus(kept.status, kept.output, kept.error)

    async def pause(self, instance_id: str) -> None:
        self.calls.append(("pause", instance_id))

    async def resume(self, instance_id: str) -> None:
        raise WorkflowError(f'(instance.cannot_resume) Cannot resume instance with status "{instance_id}"')

    async def terminate(self, instance_id: str, options: object = None) -> None:
        self.calls.append(("terminate", instance_id, options))

    async def restart(self, instance_id: str, options: object = None) -> None:
        self.calls.append(("restart", instance_id, options))

    async def delete(self, instance_id: str) -> None:
        del self.instances[instance_id]

    async def send_event(self, instance_id: str, event: object) -> None:
        self.calls.append(("send_event", instance_id, event))

    async def skip_sleep(self, instance_id: str, name: object = None) -> None:
        self.calls.append(("skip_sleep", instance_id, name))

    async def subscribe(self, instance_id: str, options: object = None) -> MemorySubscription:
        self.calls.append(("subscribe", instance_id, options))
        return MemorySubscription(self.history)


@pytest.fixture
def port() -> MemoryStepPort:
    return MemoryStepPort()


@pytest.fixture
def step(port: MemoryStepPort) -> ImplicitStep:
    return ImplicitStep(port)


@pytest.fixture
def legacy_step(port: MemoryStepPort) -> LegacyStep:
    return LegacyStep(port)


@pytest.fixture
def workflow_port() -> MemoryWorkflowPort:
    return MemoryWorkflowPort()


class Background:
    """What a Worker's background work came to."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Future[Any]] = []

    def add(self, awaitable: Any) -> None:
        self.tasks.append(asyncio.ensure_future(awaitable))

    async def finished(self) -> list[Any]:
        return await asyncio.gather(*self.tasks, return_exceptions=True)


@pytest.fixture
def background() -> Background:
    return Background()


@pytest.fixture
async def runtime(background: Background) -> Runtime:
    """The test runs inside of a Worker whose env has GREETING, at NOW_MS."""
    env = Env({"GREETING": "hello"})
    return Runtime("test-worker", env, asyncio.get_running_loop(), lambda: NOW_MS, background.add)


@pytest.fixture
def in_worker(runtime: Runtime) -> Any:
    """Runs a function or coroutine function as code of that Worker, in a context of its own."""

    async def run(function: Any, *args: Any) -> Any:
        async def inside() -> Any:
            enter_runtime(runtime)
            returned = function(*args)
            return await returned if inspect.isawaitable(returned) else returned

        return await asyncio.create_task(inside(), context=copy_context())

    return run
