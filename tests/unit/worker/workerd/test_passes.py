"""The engine's side of a pass: what the runtime says becomes calls of the port, and what the port does is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stepwell.bindings.errors import (
    ErrorInfo,
    HostCrashed,
    NotSerialisable,
    RunAborted,
    ValueTooLarge,
    WorkerError,
    WorkflowFatalError,
)
from stepwell.bindings.ports import (
    CallSite,
    DelayInput,
    RollbackInput,
    RollbackOptions,
    RunEvent,
    SizeLimits,
    StepCallback,
    StepContext,
    StepResult,
    StreamOutput,
)
from stepwell.bindings.values import Encoded
from stepwell.emulator.clock import turns
from stepwell.emulator.worker.workerd.passes import Pass

pytestmark = pytest.mark.anyio

CONTEXT = StepContext("charge", 1, 1, {"timeout": "10 minutes"})
EVENT = RunEvent(Encoded('{"total":5}'), 1_000, "order-1", "orders")


class Runtime:
    """The other end of the socket, as a script of what it says."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, Any], str]] = []
        self.one: Pass | None = None

    def send(self, text: str) -> None:
        line, _, body = text.partition("\n")
        self.heard.append((json.loads(line), body))

    def say(self, head: dict[str, Any], body: object = None) -> None:
        assert self.one is not None
        self.one.text_received(json.dumps(head) + ("" if body is None else "\n" + json.dumps(body)))

    def say_bytes(self, stream: int, data: bytes, *, last: bool) -> None:
        assert self.one is not None
        self.one.bytes_received(stream.to_bytes(4, "big") + bytes([last]) + data)

    async def hears(self, kind: str) -> dict[str, Any]:
        """The head of the newest message, which is of this kind."""
        await turns(10)
        head, _ = self.heard[-1]
        assert head["t"] == kind, self.heard
        return head

    @property
    def body(self) -> str:
        return self.heard[-1][1]


Do = Callable[[object, object, "StepCallback | None", "RollbackOptions | None"], Awaitable[StepResult]]


class Port:
    """A port whose methods do what a test says; the calls are kept."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.on_do: Do = _attempt_once
        self.raises: BaseException | None = None
        self.event = Encoded('{"payload":1}')

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
        self.calls.append(("do", name, config))
        return await self.on_do(name, config, callback, rollback)

    async def sleep(self, name: object, duration: object, site: CallSite | None = None) -> None:
        self.calls.append(("sleep", name, duration))
        if self.raises is not None:
            raise self.raises

    async def sleep_until(self, name: object, timestamp: object, site: CallSite | None = None) -> None:
        self.calls.append(("sleep_until", name, timestamp))

    async def wait_for_event(self, name: object, options: object, site: CallSite | None = None) -> Encoded:
        self.calls.append(("wait", name, options))
        return self.event


async def _attempt_once(name: object, config: object, callback: Any, rollback: Any) -> StepResult:
    result: StepResult = await callback(CONTEXT)
    return result


class Lender:
    def __init__(self) -> None:
        self.lent: list[StreamOutput] = []

    def lend(self, stream: StreamOutput) -> str:
        self.lent.append(stream)
        return f"stream-{len(self.lent)}"


async def _never_stood(since_ns: int) -> int:
    return 0


class World:
    """One pass, running."""

    def __init__(self) -> None:
        self.runtime = Runtime()
        self.port = Port()
        self.lender = Lender()
        self.one = Pass(self.runtime, self.port, self.lender, _never_stood)
        self.runtime.one = self.one
        self.running = asyncio.ensure_future(self.one.run("Orders", EVENT))


@pytest.fixture
async def world() -> World:
    world = World()
    await turns(3)
    return world


async def test_a_pass_begins_with_the_class_and_the_event(world: World) -> None:
    head = await world.runtime.hears("run")

    assert head == {
        "t": "run",
        "class": "Orders",
        "instanceId": "order-1",
        "workflowName": "orders",
        "timestamp": 1_000,
        "limits": [None, None],
    }
    assert world.runtime.body == '{"total":5}'


async def test_what_run_returns_is_the_result_unchanged(world: World) -> None:
    world.runtime.say({"t": "returned"}, {"$": "date", "v": 1})

    assert await world.running == '{"$": "date", "v": 1}'
    assert world.one.clean


async def test_what_run_raises_is_folded_as_rpc_folds_it(world: World) -> None:
    world.runtime.say({"t": "raised", "error": {"name": "Mine", "message": "m"}})

    with pytest.raises(WorkerError) as raised:
        await world.running
    assert (raised.value.name, raised.value.message) == ("Error", "Mine: m")


async def test_a_non_retryable_error_keeps_its_name_also_when_run_passed_it_on(world: World) -> None:
    world.runtime.say({"t": "raised", "error": {"name": "Error", "message": "NonRetryableError: stop"}})

    with pytest.raises(WorkerError) as raised:
        await world.running
    assert (raised.value.name, raised.value.message) == ("NonRetryableError", "stop")


async def test_a_result_of_run_that_cannot_be_stored_is_told_with_its_path(world: World) -> None:
    world.runtime.say({"t": "refused", "path": "$.f", "what": "the function f"})

    with pytest.raises(NotSerialisable, match=r"the function f at \$\.f"):
        await world.running


async def test_a_result_of_run_that_the_runtime_refused_for_its_size_is_too_large(world: World) -> None:
    world.runtime.say({"t": "oversized"})

    with pytest.raises(ValueTooLarge):
        await world.running


async def test_a_step_runs_its_callback_when_the_engine_asks_and_gives_its_value(world: World) -> None:
    world.runtime.say({"t": "do", "id": 1, "callback": True}, ["charge", {"timeout": 5}])

    asked = await world.runtime.hears("callback")
    assert asked["ctx"] == {
        "step": {"name": "charge", "count": 1},
        "attempt": 1,
        "config": {"timeout": "10 minutes"},
    }
    world.runtime.say({"t": "value", "n": asked["n"]}, {"ok": True})

    assert await world.runtime.hears("done") == {"t": "done", "id": 1, "same": asked["n"]}
    assert world.port.calls == [("do", "charge", {"timeout": 5})]


async def test_a_value_from_the_record_is_sent_with_the_answer(world: World) -> None:
    async def replay(*_: object) -> StepResult:
        return Encoded('{"stored":1}')

    world.port.on_do = replay
    world.runtime.say({"t": "do", "id": 1, "callback": True}, ["charge"])

    assert await world.runtime.hears("done") == {"t": "done", "id": 1}
    assert world.runtime.body == '{"stored":1}'


async def test_a_step_without_a_callback_reaches_the_engine_as_such(world: World) -> None:
    async def refuse(name: object, config: object, callback: object, rollback: object) -> StepResult:
        assert callback is None
        raise WorkflowFatalError('Step "charge" requires a callback function')

    world.port.on_do = refuse
    world.runtime.say({"t": "do", "id": 1}, ["charge"])

    failed = await world.runtime.hears("failed")
    message = 'WorkflowFatalError: Step "charge" requires a callback function'
    assert (failed["error"]["name"], failed["error"]["message"]) == ("Error", message)


async def test_an_attempt_that_throws_raises_in_the_engine(world: World) -> None:
    seen: list[ErrorInfo] = []

    async def keep(name: object, config: object, callback: Any, rollback: object) -> StepResult:
        try:
            await callback(CONTEXT)
        except WorkerError as error:
            seen.append(error.info)
        return Encoded("null")

    world.port.on_do = keep
    world.runtime.say({"t": "do", "id": 1, "callback": True}, ["charge"])
    asked = await world.runtime.hears("callback")
    cause = {"name": "RangeError", "message": "why"}
    error = {"name": "TypeError", "message": "t", "stack": "s", "cause": cause}
    world.runtime.say({"t": "threw", "n": asked["n"], "error": error})
    await world.runtime.hears("done")

    assert seen == [ErrorInfo("TypeError", "t", "s", ErrorInfo("RangeError", "why"))]


async def test_a_delay_function_is_asked_in_the_runtime(world: World) -> None:
    answers: list[object] = []

    async def ask(name: object, config: Any, callback: object, rollback: object) -> StepResult:
        answers.append(await config["retries"]["delay"](DelayInput(CONTEXT, ErrorInfo("Error", "busy"))))
        return Encoded("null")

    world.port.on_do = ask
    config = {"retries": {"limit": 1, "delay": None}}
    world.runtime.say({"t": "do", "id": 1, "callback": True, "delay": True}, ["charge", config])
    asked = await world.runtime.hears("delay")
    world.runtime.say({"t": "value", "n": asked["n"]}, "5 seconds")
    await world.runtime.hears("done")

    assert asked["error"] == {"name": "Error", "message": "busy"}
    assert answers == ["5 seconds"]


async def test_a_stream_comes_chunk_by_chunk_and_pieces_are_joined(world: World) -> None:
    chunks: list[bytes] = []

    async def read(name: object, config: object, callback: Any, rollback: object) -> StepResult:
        stream = await callback(CONTEXT)
        chunks.extend([chunk async for chunk in stream.chunks])
        return Encoded("null")

    world.port.on_do = read
    world.runtime.say({"t": "do", "id": 1, "callback": True}, ["read"])
    asked = await world.runtime.hears("callback")
    world.runtime.say({"t": "stream", "n": asked["n"], "s": 7})
    assert await world.runtime.hears("pull") == {"t": "pull", "s": 7}
    world.runtime.say_bytes(7, b"one ", last=False)
    world.runtime.say_bytes(7, b"chunk", last=True)
    await world.runtime.hears("pull")
    world.runtime.say({"t": "ended", "s": 7})
    await world.runtime.hears("done")

    assert chunks == [b"one chunk"]


async def test_a_stream_that_fails_raises_what_rpc_makes_of_it(world: World) -> None:
    async def read(name: object, config: object, callback: Any, rollback: object) -> StepResult:
        stream = await callback(CONTEXT)
        with pytest.raises(WorkerError, match="ReadableStream received over RPC disconnected prematurely"):
            [chunk async for chunk in stream.chunks]
        return Encoded("null")

    world.port.on_do = read
    world.runtime.say({"t": "do", "id": 1, "callback": True}, ["read"])
    asked = await world.runtime.hears("callback")
    world.runtime.say({"t": "stream", "n": asked["n"], "s": 7})
    await world.runtime.hears("pull")
    world.runtime.say({"t": "broken", "s": 7, "error": {"name": "Error", "message": "pipe"}})

    await world.runtime.hears("done")


async def test_waits_reach_the_engine_with_their_arguments(world: World) -> None:
    world.runtime.say({"t": "sleep", "id": 1}, ["z", "1 day"])
    await world.runtime.hears("done")
    world.runtime.say({"t": "sleepUntil", "id": 2}, ["u", 5])
    await world.runtime.hears("done")
    world.runtime.say({"t": "waitForEvent", "id": 3}, ["w", {"type": "go"}])
    await world.runtime.hears("done")

    assert world.port.calls == [("sleep", "z", "1 day"), ("sleep_until", "u", 5), ("wait", "w", {"type": "go"})]
    assert world.runtime.body == '{"payload":1}'


async def test_rollback_handlers_can_be_asked_after_run_has_ended(world: World) -> None:
    kept: list[RollbackOptions] = []

    async def register(name: object, config: object, callback: Any, rollback: Any) -> StepResult:
        kept.append(rollback)
        return Encoded("1")

    world.port.on_do = register
    world.runtime.say({"t": "do", "id": 1, "callback": True, "rollback": True}, ["charge", None, {"timeout": 1}])
    await world.runtime.hears("done")
    world.runtime.say({"t": "raised", "error": {"name": "Error", "message": "undo"}})
    with pytest.raises(WorkerError):
        await world.running

    given = RollbackInput(CONTEXT, ErrorInfo("Error", "undo"), Encoded('{"n":1}'), "charge-1")
    undoing = asyncio.ensure_future(_undo(kept[0], given))
    asked = await world.runtime.hears("rollback")
    assert (asked["stepName"], world.runtime.body) == ("charge-1", '{"n":1}')
    world.runtime.say({"t": "value", "n": asked["n"]}, None)
    await undoing
    assert kept[0].config == {"timeout": 1}


async def _undo(options: RollbackOptions, given: RollbackInput) -> None:
    await options.handler(given)


async def _returns_beside_a_callback(world: World) -> int:
    """The number of the callback's question, which run() did not wait for."""
    world.runtime.say({"t": "do", "id": 1, "callback": True}, ["charge"])
    asked = await world.runtime.hears("callback")
    world.runtime.say({"t": "returned"}, 1)
    await world.running
    number: int = asked["n"]
    return number


async def test_a_pass_lingers_until_the_last_callback_has_ended(world: World) -> None:
    number = await _returns_beside_a_callback(world)
    quiet: list[str] = []

    assert world.one.lingers(lambda: quiet.append("quiet"))
    assert quiet == []
    world.runtime.say({"t": "value", "n": number}, 2)

    assert quiet == ["quiet"]


async def test_a_pass_that_lingers_ends_with_its_socket(world: World) -> None:
    await _returns_beside_a_callback(world)
    quiet: list[str] = []

    assert world.one.lingers(lambda: quiet.append("quiet"))
    world.one.socket_lost()

    assert quiet == ["quiet"]


async def test_a_pass_without_open_callbacks_does_not_linger(world: World) -> None:
    world.runtime.say({"t": "returned"}, 1)
    await world.running

    assert not world.one.lingers(pytest.fail)


async def test_a_pass_that_was_ended_from_outside_does_not_linger(world: World) -> None:
    world.runtime.say({"t": "do", "id": 1, "callback": True}, ["charge"])
    await world.runtime.hears("callback")
    world.running.cancel()
    await turns(3)

    assert not world.one.lingers(pytest.fail)


async def test_a_lost_socket_is_a_crash_for_run_and_for_callbacks(world: World) -> None:
    world.runtime.say({"t": "do", "id": 1, "callback": True}, ["charge"])
    await world.runtime.hears("callback")

    world.one.socket_lost()

    with pytest.raises(HostCrashed):
        await world.running
    assert world.one.lost


async def test_a_pass_that_the_engine_gave_up_ends_with_its_error(world: World) -> None:
    world.port.raises = RunAborted()
    world.runtime.say({"t": "sleep", "id": 1}, ["z", 1])

    with pytest.raises(RunAborted):
        await world.running


async def test_code_is_quiet_when_it_says_so_and_was_told_nothing_since(world: World) -> None:
    quiet = asyncio.ensure_future(world.one.quiesce())
    await world.runtime.hears("settle")
    world.runtime.say({"t": "sleep", "id": 1}, ["z", 1])
    world.runtime.say({"t": "settled"})
    await turns(20)
    assert not quiet.done()

    world.runtime.say({"t": "settled"})

    await quiet


async def test_a_pass_that_is_over_is_quiet(world: World) -> None:
    quiet = asyncio.ensure_future(world.one.quiesce())
    await world.runtime.hears("settle")

    world.runtime.say({"t": "returned"}, 1)

    await quiet
    assert await world.running == "1"


async def test_an_answer_that_nobody_waits_for_is_ignored(world: World) -> None:
    world.runtime.say({"t": "value", "n": 99}, 1)
    world.runtime.say({"t": "returned"}, 2)

    assert await world.running == "2"
