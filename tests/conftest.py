"""What tests of the engine share: a world of one engine on virtual time, and a host that runs functions."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from stepwell.bindings.errors import WorkerError
from stepwell.bindings.ports import RollbackInput, RollbackOptions, RunEvent, StepContext, StepPort, StreamOutput
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded, decode, encode
from stepwell.emulator.clock import VirtualClock, turns
from stepwell.emulator.engine.binding import Binding
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.limits import Limits
from stepwell.emulator.storage.records import HistoryRow, StepRow
from stepwell.emulator.storage.sqlite import SqliteStore
from stepwell.emulator.switches import Switches

# Tests start hundreds of processes, each of which would compile everything anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("NODE_COMPILE_CACHE", str(Path(tempfile.gettempdir()) / f"stepwell-tests-node-{os.getuid()}"))

# How long one example takes depends on what else the machine does.
settings.register_profile("stepwell", deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("stepwell")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--older-dev-servers", action="store_true", help="also run the oldest supported dev servers")


def pytest_collection_finish() -> None:
    """Modules and collected tests stay to the end of the run: collections of garbage need not look at them."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class HostStep:
    """The step of a pass as a host shows it: plain values go in and come out."""

    def __init__(self, port: StepPort) -> None:
        self.port = port

    async def do(self, name: object, callback: object, config: object = None, **undo: Any) -> Any:
        """`callback` is a plain or an async function of the context or of nothing, or the value itself.

        Keywords: `rollback` (a function of the input or of nothing), `rollback_config`.
        """
        result = await self.port.do(name, config, _callback(callback), _rollback(undo))
        return result if isinstance(result, StreamOutput) else decode(result)

    async def sleep(self, name: object, duration: object) -> None:
        await self.port.sleep(name, duration)

    async def sleep_until(self, name: object, timestamp: object) -> None:
        await self.port.sleep_until(name, timestamp)

    async def wait(self, name: object, kind: object, timeout: object = "24 hours") -> Any:
        """The payload of the event."""
        event = decode(await self.port.wait_for_event(name, {"type": kind, "timeout": timeout}))
        return event.get("payload")  # type: ignore[union-attr]


def _callback(given: object) -> Any:
    def call(context: StepContext) -> Any:
        result = _call(given, context) if callable(given) else given
        return _stored_later(result) if inspect.iscoroutine(result) else _stored(result)

    return call


async def _stored_later(result: Awaitable[object]) -> object:
    return _stored(await result)


def _call(function: Any, argument: object) -> Any:
    return function(argument) if inspect.signature(function).parameters else function()


def _stored(value: object) -> object:
    return value if isinstance(value, StreamOutput | Encoded) else encode(value)


def _rollback(undo: Mapping[str, Any]) -> RollbackOptions | None:
    if "rollback" not in undo:
        return None

    async def handler(given: RollbackInput) -> None:
        answer = _call(undo["rollback"], given)
        if isinstance(answer, Awaitable):
            await answer

    return RollbackOptions(handler, undo.get("rollback_config"), "rollback_config" in undo)


Flow = Callable[[Any, HostStep], Awaitable[Any]]


async def within_cpu_seconds(seconds: float, work: Awaitable[None]) -> None:
    """Awaits `work`; fails when this process has worked for so long, or 12 times as much time has passed.

    A busy machine takes the process its turns, not its CPU time.
    """
    loop = asyncio.get_running_loop()
    cpu_end, end = time.process_time() + seconds, loop.time() + 12 * seconds

    def look() -> None:
        nonlocal handle
        if time.process_time() > cpu_end or loop.time() > end:
            limit.reschedule(loop.time())
        else:
            handle = loop.call_later(0.25, look)

    handle = loop.call_later(0.25, look)
    try:
        async with asyncio.timeout(None) as limit:
            await work
    finally:
        handle.cancel()


class World:
    """One engine, its store and its clock; `journal` takes down what user code did."""

    def __init__(self, path: str = ":memory:") -> None:
        self.path = path
        self.clock = VirtualClock()
        self.store = SqliteStore(path)
        self.journal: list[Any] = []
        self.options: dict[str, Any] = {}
        self._definitions: dict[str, tuple[WorkflowDefinition, Any, Version]] = {}
        self.engine = Engine(self.store, self.clock)

    # -- setting up
    def configure(self, *, limits: Mapping[str, object] | None = None, **options: Any) -> None:
        """Makes the engine anew: `limits` by name, compat switches by name, `replay_always`,
        `enforce_retention`."""
        names = ("replay_always", "enforce_retention", "fire_schedules")
        flags = {name: options.pop(name) for name in names if name in options}
        self.options = {
            "limits": Limits.in_force("paid", Switches(**options), limits or {}),
            "compat": Switches(**options),
            **flags,
        }
        self.engine = Engine(self.store, self.clock, **self.options)

    def define(self, flow: Flow | None, name: str = "flow", version: str = "v1", **definition: Any) -> None:
        """`flow` is run(event payload, step); None for a class that is gone."""
        given = (WorkflowDefinition(name, "Flow", **definition), runner_of(flow), Version(f"{name}-{version}"))
        self._definitions[name] = given
        self.engine.define(*given)

    async def start(self, flow: Flow | None = None, **definition: Any) -> None:
        """Starts the engine, with a Workflow "flow" if one is given."""
        if flow is not None:
            self.define(flow, **definition)
        await self.engine.start()

    async def restart(self, *, until_idle: bool = True) -> None:
        """Kills the engine and starts another on what it had committed."""
        self.engine.crash()
        if self.path != ":memory:":
            self.store = SqliteStore(self.path)
        self.engine = Engine(self.store, self.clock, **self.options)
        for given in self._definitions.values():
            self.engine.define(*given)
        await self.engine.start()
        if until_idle:
            await self.idle()

    # -- doing
    @property
    def flow(self) -> Binding:
        return self.engine.workflow("flow")

    async def create(self, instance_id: str = "one", params: object = None, **options: Any) -> None:
        """Creates an instance, which goes as far as it can without time or a call."""
        await self.begin(instance_id, params, **options)
        await self.idle()

    async def begin(self, instance_id: str = "one", params: object = None, **options: Any) -> None:
        """Creates an instance, and lets it go on for some turns: to where a callback of it stays."""
        given = {"id": instance_id, **options}
        if params is not None:
            given["params"] = encode(params)
        await self.flow.create(given)
        await turns(20)

    async def send(self, kind: str, payload: object = None, instance_id: str = "one") -> None:
        await self.flow.send_event(instance_id, {"type": kind, "payload": encode(payload)})
        await self.idle()

    async def idle(self) -> None:
        """Until nothing goes on by itself; what goes on for ever fails the test."""
        await within_cpu_seconds(5, self.engine.idle())

    async def advance(self, ms: int) -> None:
        await within_cpu_seconds(10, self.engine.advance(ms))

    async def pass_time(self, ms: int) -> None:
        """Moves the clock while callbacks are on their way, whom `advance` would wait for."""
        await turns(20)
        self.clock.move_to(self.clock.now() + ms)
        await turns(20)

    def note(self, entry: Any) -> None:
        self.journal.append(entry)

    # -- looking
    def key(self, instance_id: str = "one", workflow: str = "flow") -> int:
        state = next(state for state in self.engine.workflows() if state.name == workflow)
        key = self.store.find(state.key, instance_id)
        assert key is not None, f"there is no instance {instance_id}"
        return key

    def status(self, instance_id: str = "one", workflow: str = "flow") -> str:
        """The stored status; "gone" where there is no such instance."""
        state = next(state for state in self.engine.workflows() if state.name == workflow)
        key = self.store.find(state.key, instance_id)
        return "gone" if key is None else str(self.store.status(key))

    async def output(self, instance_id: str = "one") -> Any:
        status = await self.flow.status(instance_id)
        assert status.status == "complete", f"{status.status}: {status.error}"
        return None if status.output is None else decode(status.output)

    async def error(self, instance_id: str = "one") -> tuple[str, str]:
        """Name and message of the error of an errored instance."""
        status = await self.flow.status(instance_id)
        assert status.status == "errored", f"{status.status}: {status.output}"
        assert status.error is not None
        return status.error.name, status.error.message

    def steps(self, instance_id: str = "one") -> dict[str, StepRow]:
        """The records of an instance by public name, in order of first arrival."""
        return {row.public_name: row for row in self.store.steps(self.key(instance_id))}

    def history(self, instance_id: str = "one") -> list[HistoryRow]:
        return self.store.history(self.key(instance_id), limit=100_000)

    def trace(self, instance_id: str = "one", *, moods: bool = False) -> list[str]:
        """The history in short: "step_started a-1", "attempt_started a-1 2"; without running and waiting."""
        names = {row.seq: row.public_name for row in self.store.steps(self.key(instance_id))}
        hidden = () if moods else ("workflow_running", "workflow_waiting")
        lines = [_line(row, names) for row in self.history(instance_id)]
        return [line for line in lines if line not in hidden]


def _line(row: HistoryRow, names: Mapping[int, str]) -> str:
    attempt = row.attempt if "attempt" in row.type else None
    return " ".join(str(part) for part in (row.type, names.get(row.step or 0), attempt) if part is not None)


def runner_of(flow: Flow | None) -> Any:
    if flow is None:
        return None

    async def run(event: RunEvent, port: StepPort) -> Encoded:
        given = event if _wants_event(flow) else decode(event.payload)
        result = await flow(given, HostStep(port))
        return UNDEFINED_TEXT if result is None else encode(result)

    return run


def _wants_event(flow: Flow) -> bool:
    return next(iter(inspect.signature(flow).parameters)) == "event"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    made.engine.crash()
    await turns(3)  # what was cancelled ends


@pytest.fixture
def in_file(tmp_path: Any) -> Callable[[], World]:
    """A world whose database is a file."""
    return lambda: World(str(tmp_path / "stepwell.sqlite"))


@pytest.fixture
def worlds() -> type[World]:
    """For tests that make worlds of their own."""
    return World


@pytest.fixture
def caught() -> Callable[[Awaitable[Any]], Awaitable[list[str]]]:
    """Awaits what must fail; gives name and message of the error."""

    async def catch(failing: Awaitable[Any]) -> list[str]:
        try:
            result = await failing
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the test says what it must be
            info = getattr(error, "info", None)
            return [info.name, info.message] if info is not None else [type(error).__name__, str(error)]
        raise AssertionError(f"it succeeded with {result!r}")

    return catch


__all__ = ["Flow", "HostStep", "WorkerError", "World"]
