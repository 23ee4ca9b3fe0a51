"""What the engine offers to the code that hosts a Worker, and what it asks of it.

A host (CPython, workerd) runs user code; the engine makes it durable. They meet only here. Values are
`Encoded` on both sides, so the engine never knows which language a Worker is written in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeGuard

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.room import Room
from stepwell.bindings.values import Encoded

StepType: TypeAlias = Literal["do", "sleep", "waitForEvent"]


class Schedule(NamedTuple):
    """The cron firing that made an instance."""

    cron: str
    scheduled_at: int


class RunEvent(NamedTuple):
    """The `event` argument of run(); `timestamp_at` is the creation of the instance in ms."""

    payload: Encoded
    timestamp_at: int
    instance_id: str
    workflow_name: str
    schedule: Schedule | None = None


@dataclass(slots=True)
class StepContext:
    """The argument of a step's callback. `config` has the defaults filled in and is plain JSON data.

    `config_text` is that JSON, from who has it. `most` is the limit of the result in bytes.

    Not frozen, since one is made for each attempt and freezing triples that; nobody changes it.
    """

    name: str
    count: int
    attempt: int
    config: Mapping[str, object]
    config_text: str | None = None
    most: int | None = None

    def to_json(self) -> dict[str, object]:
        """In the shape and with the names that user code sees."""
        return {
            "step": {"name": self.name, "count": self.count},
            "attempt": self.attempt,
            "config": dict(self.config),
        }

    def json_text(self) -> str:
        """The text of `to_json`; made from parts, since it is told once per attempt."""
        step = f'{{"name":{encode_basestring_ascii(self.name)},"count":{self.count}}}'
        config = self.config_text or json.dumps(self.config, separators=(",", ":"))
        return f'{{"step":{step},"attempt":{self.attempt},"config":{config}}}'


@dataclass(frozen=True, slots=True)
class StreamOutput:
    """A step's output that is a stream: its chunks, each of bytes.

    Iterating may raise `WorkerError` when the stream of user code fails.
    """

    chunks: AsyncIterator[bytes]


StepResult: TypeAlias = "Encoded | StreamOutput"


class RemoteAnswer(asyncio.Future[Any]):
    """What user code in another process will answer: a `StepResult`.

    `stood_ms()` says for how many ms that process has stood still since it was asked; while it does, it waits.
    """

    def __init__(self, stood_ms: Callable[[], Coroutine[Any, Any, int]]) -> None:
        super().__init__()
        self.stood_ms = stood_ms
        #: Called when the answer comes after its time was over, and is ignored.
        self.late: Callable[[], None] | None = None


#: The callback of a step: called once per attempt. Returns the result, a coroutine for it, or a `RemoteAnswer`.
StepCallback: TypeAlias = Callable[[StepContext], "StepResult | Coroutine[Any, Any, StepResult] | RemoteAnswer"]


class DelayInput(NamedTuple):
    """What a delay function receives."""

    context: StepContext
    error: ErrorInfo


#: `retries.delay` as a function: gives milliseconds or a duration text, still to be checked.
DelayFunction: TypeAlias = Callable[[DelayInput], Awaitable[object]]


class RollbackInput(NamedTuple):
    """What a rollback handler receives; `output` is None for a step that never completed."""

    context: StepContext
    error: ErrorInfo
    output: StepResult | None
    step_name: str


class RollbackOptions(NamedTuple):
    """The last argument of `step.do`. Fields hold what user code gave, unchecked."""

    handler: Callable[[RollbackInput], Awaitable[None]]
    config: object = None
    has_config: bool = False


class CallSite(NamedTuple):
    """Where user code calls a step, as its stack traces name it.

    `needs` are the names of the steps whose results it is given.
    """

    file: str
    line: int
    needs: tuple[str, ...] = ()


class SizeLimits(NamedTuple):
    """The largest texts of values that are stored, in bytes; None for no limit."""

    step_result: int | None = None
    output: int | None = None


class StepPort(Protocol):
    """One pass of run() as its host sees it. Arguments are what user code gave; the engine checks them.

    `config` and `options` are plain data; a delay function in `config["retries"]["delay"]` is a `DelayFunction`.
    `site` is None where the host cannot tell it.
    Every method raises `EngineError`s that belong to user code, and `WorkerError` for a step that failed.
    """

    @property
    def size_limits(self) -> SizeLimits:
        """What a host may refuse with `ValueTooLarge` before it has encoded the value."""
        ...

    async def do(
        self,
        name: object,
        config: object,
        callback: StepCallback | None,
        rollback: RollbackOptions | None = None,
        site: CallSite | None = None,
    ) -> StepResult: ...

    async def sleep(self, name: object, duration: object, site: CallSite | None = None) -> None: ...

    async def sleep_until(self, name: object, timestamp: object, site: CallSite | None = None) -> None:
        """`timestamp`: ms since the epoch, a `datetime`, or a date text."""
        ...

    async def wait_for_event(self, name: object, options: object, site: CallSite | None = None) -> Encoded:
        """`options`: {"type", "timeout"?}. Returns the encoded `{payload, timestamp, type}`."""
        ...


class CheckedPort(StepPort, Protocol):
    """The `StepPort` of a pass that is checked for determinism; a host tells it what it sees outside of steps."""

    def note_read(self, what: str, function: str, site: CallSite | None) -> None:
        """`function` read `what` ("the clock")."""
        ...

    def note_race(self, kind: StepType, name: str, site: CallSite | None) -> None:
        """The first of several promises is taken, and this step is one that has not ended."""
        ...


def is_checked(port: StepPort) -> TypeGuard[CheckedPort]:
    return hasattr(port, "note_read")


#: How the engine runs user code: one call is one pass of run() from the top.
Runner: TypeAlias = Callable[[RunEvent, StepPort], Coroutine[Any, Any, Encoded]]


class RemoteRunner(Protocol):
    """A `Runner` whose user code runs in another process, where turns of our loop say nothing about it."""

    @property
    def room(self) -> Room:
        """The passes that the host can carry, of this Workflow and of others."""
        ...

    def __call__(self, event: RunEvent, port: StepPort, /) -> Coroutine[Any, Any, Encoded]: ...

    def release(self, event: RunEvent) -> None:
        """Frees what the pass that was started with `event` holds, such as its connection.

        Called once for each call, when nothing is asked of the pass any more: its rollbacks are done or not needed.
        """
        ...

    async def quiesce(self, event: RunEvent) -> None:
        """Returns when the code of the pass that was started with `event` has taken in all it was told.

        Asked before the instance rests. Code that awaits something of its own counts as resting.
        """
        ...


def is_remote(runner: Runner | None) -> TypeGuard[RemoteRunner]:
    """Whether a runner's user code runs in another process. Asked often: a check of the whole protocol is slow."""
    return hasattr(runner, "quiesce")


class InstanceStatus(NamedTuple):
    """What `status()` answers.

    The last two are None unless a compat switch asks for them: how rollbacks went, null for none, and the values of
    steps and events in order of their completion.
    """

    status: str
    output: Encoded | None
    error: ErrorInfo | None
    rollback: Encoded | None = None
    step_outputs: Sequence[Encoded] | None = None


class SubscriptionPort(Protocol):
    """A cursor over an instance's history, then over what happens."""

    async def next(self) -> Mapping[str, object] | None:
        """The next event in Cloudflare's shape, values still `Encoded`; None for ever once it has ended."""
        ...

    def close(self) -> None: ...


class WorkflowPort(Protocol):
    """The engine behind one Workflow binding.

    Options are plain data as user code gave them, except that every `params` and `payload` in them is `Encoded`.
    All methods raise `WorkflowError` (or `EngineError` where Cloudflare's error is a plain one) and change nothing
    when they do. When one returns, what it did survives the death of the process.
    """

    @property
    def workflow_name(self) -> str: ...

    @property
    def payload_bytes(self) -> int | None:
        """The limit on params and payloads, None for none or an unknown one; the engine checks it again."""
        ...

    async def create(self, options: object = None) -> str: ...

    async def create_batch(self, options: object) -> Sequence[str] | Mapping[str, object]:
        """A list of ids for a list; `{"created": [ids], "errors": [...]}` for an object."""
        ...

    async def delete_batch(self, ids: object) -> Mapping[str, object]: ...

    async def get(self, instance_id: object) -> str: ...

    async def status(self, instance_id: str) -> InstanceStatus: ...

    async def pause(self, instance_id: str) -> None: ...

    async def resume(self, instance_id: str) -> None: ...

    async def terminate(self, instance_id: str, options: object = None) -> None: ...

    async def restart(self, instance_id: str, options: object = None) -> None: ...

    async def delete(self, instance_id: str) -> None: ...

    async def send_event(self, instance_id: str, event: object) -> None: ...

    async def skip_sleep(self, instance_id: str, name: object = None) -> None: ...

    async def subscribe(self, instance_id: str, options: object = None) -> SubscriptionPort: ...
