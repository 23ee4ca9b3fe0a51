"""One pass of run() in the runtime: its messages turned into calls of the engine's StepPort, and back."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Final, Literal, Protocol

from stepwell.bindings.errors import EngineError, ErrorInfo, NotSerialisable, RunAborted, ValueTooLarge, WorkerError
from stepwell.bindings.errors import error_info as info_of
from stepwell.bindings.ports import (
    DelayInput,
    RemoteAnswer,
    RollbackInput,
    RollbackOptions,
    RunEvent,
    StepCallback,
    StepContext,
    StepPort,
    StepResult,
    StepType,
    StreamOutput,
    is_checked,
)
from stepwell.bindings.values import Encoded, Value, decode_arguments
from stepwell.emulator.clock import monotonic_ns, turns
from stepwell.emulator.worker.host import HostCrashed
from stepwell.emulator.worker.workerd.call_sites import CallSites
from stepwell.emulator.worker.workerd.incoming_stream import IncomingStream
from stepwell.emulator.worker.workerd.wire import (
    Answer,
    CallDelay,
    CallRollback,
    Done,
    Ending,
    Failed,
    Run,
    StepDo,
    StepWait,
    ToRuntime,
    WireError,
    callback_frame,
    done_frame,
    error_info,
    read_frame,
    read_piece,
    wire_error,
    write_frame,
)

#: Turns of the loop within which a step call that is on record has been answered.
_STEP_TURNS = 4


class Sender(Protocol):
    """The socket, as far as a pass needs it."""

    def send(self, text: str) -> None: ...


class StreamLender(Protocol):
    """Where the runtime fetches streams that the engine holds."""

    def lend(self, stream: StreamOutput) -> str:
        """The id under which the stream can be fetched, once."""
        ...


@dataclass(slots=True)
class _Question:
    """Something the runtime was asked; `context` is where nested step calls belong.

    `call_id` is that of the step call whose callback was asked for.
    """

    answer: RemoteAnswer
    context: contextvars.Context
    call_id: int | None = None


#: The type of step that a method makes.
_KINDS: Final[Mapping[str, StepType]] = {
    "do": "do",
    "sleep": "sleep",
    "sleepUntil": "sleep",
    "waitForEvent": "waitForEvent",
}

#: A step call of the runtime: its head and its body to the frame that answers it.
_Call = Callable[[Any, str], Coroutine[Any, Any, str]]


class Pass:
    """Listens to one socket while one pass runs on it. Make one per pass."""

    def __init__(
        self,
        socket: Sender,
        port: StepPort,
        lender: StreamLender,
        stood_ms: Callable[[int], Coroutine[Any, Any, int]],
        mapped: Callable[[ErrorInfo], ErrorInfo] = lambda info: info,
        sites: CallSites | None = None,
    ) -> None:
        """`mapped` puts the user's own lines into the stack of an error; `stood_ms` is that of a `Watchdog`.

        `sites` are those of the Worker in this process.
        """
        loop = asyncio.get_running_loop()
        #: Whether the runtime ended under it.
        self.lost = False
        self._socket = socket
        self._port = port
        self._lender = lender
        self._stood_ms = stood_ms
        self._mapped = mapped
        self._sites = sites or CallSites()
        self._numbers = count(1)
        self._settled: asyncio.Future[None] | None = None
        #: How many answers to step calls were sent.
        self._told = 0
        self._over: asyncio.Future[Encoded] = loop.create_future()
        self._questions: dict[int, _Question] = {}
        self._streams: dict[int, IncomingStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        #: Called when the last callback has ended that run() did not wait for.
        self._on_quiet: Callable[[], None] | None = None
        self._last_answers: dict[int, tuple[int, Encoded]] = {}
        self._context = contextvars.copy_context()

    @property
    def clean(self) -> bool:
        """Whether run() has ended and nothing of it goes on, so that the socket can carry another pass."""
        ended = self._over.done() and not self._over.cancelled()
        return ended and not (self.lost or self._questions or self._streams or self._tasks)

    def lingers(self, on_quiet: Callable[[], None]) -> bool:
        """Whether callbacks go on that run() did not wait for; then `on_quiet` is called when the last has ended.

        Not for a pass that was ended before run() had: nothing of that one is to go on.
        """
        ended = self._over.done() and not self._over.cancelled()
        lingers = ended and bool(self._questions) and not self.lost
        if lingers:
            self._on_quiet = on_quiet
        return lingers

    async def run(self, class_name: str, event: RunEvent) -> Encoded:
        """What run() returns. Raises what it raised as `WorkerError`; `NotSerialisable`, `HostCrashed`."""
        head: Run = {
            "t": "run",
            "class": class_name,
            "instanceId": event.instance_id,
            "workflowName": event.workflow_name,
            "timestamp": event.timestamp_at,
            "limits": self._port.size_limits,
        }
        if is_checked(self._port):
            head["watch"] = True
        if event.schedule is not None:
            head["schedule"] = {"cron": event.schedule.cron, "scheduledTime": event.schedule.scheduled_at}
        self._send(head, event.payload)
        try:
            return await self._over
        finally:
            for task in self._tasks:
                task.cancel()

    async def quiesce(self) -> None:
        """Returns when user code has taken in all that it was told, and what it did then has reached the engine."""
        while not self._over.done():
            told = self._told
            await self._ask_settled()
            await turns(_STEP_TURNS)
            if told == self._told:
                return

    async def _ask_settled(self) -> None:
        if self._settled is None:
            self._settled = asyncio.get_running_loop().create_future()
            self._send({"t": "settle"})
        either: list[asyncio.Future[Any]] = [self._settled, self._over]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)

    def _send(self, head: ToRuntime, body: str | None = None) -> None:
        self._socket.send(write_frame(head, body))

    # -- Listener
    def text_received(self, text: str) -> None:
        head, body = read_frame(text)
        kind = head["t"]
        if kind == "do":
            self._start(self._do, head, body)
        elif kind in ("sleep", "sleepUntil", "waitForEvent"):
            self._start(self._wait, head, body)
        elif kind == "settled":
            self._has_settled()
        elif kind in ("read", "race"):
            self._note(head)
        elif kind in ("ended", "broken"):
            self._streams[head["s"]].ended(head.get("error"))
        elif "n" in head:
            self._answered(head, body)
        else:
            self._ended(head, body)

    def _note(self, head: Any) -> None:
        """What a check of determinism looks for; after the calls of steps that came before."""
        if not is_checked(port := self._port):
            return
        site = self._sites.in_stack(head["stack"])
        loop = asyncio.get_running_loop()
        if head["t"] == "read":
            loop.call_soon(port.note_read, head["what"], head["name"], site)
        else:
            loop.call_soon(port.note_race, _KINDS[head["kind"]], head["name"], site)

    def bytes_received(self, data: bytes) -> None:
        number, last, piece = read_piece(data)
        if (stream := self._streams.get(number)) is not None:
            stream.received(piece, last=last)

    def _has_settled(self) -> None:
        settled, self._settled = self._settled, None
        if settled is not None and not settled.done():
            settled.set_result(None)

    def socket_lost(self) -> None:
        error = HostCrashed("the runtime of the Worker ended")
        self.lost = True
        self._fail(error)
        for question in self._questions.values():
            if not question.answer.done():
                question.answer.set_exception(error)
        for stream in self._streams.values():
            stream.failed(error)
        self._quiet()

    def _quiet(self) -> None:
        on_quiet, self._on_quiet = self._on_quiet, None
        if on_quiet is not None:
            on_quiet()

    def _fail(self, error: BaseException) -> None:
        """Ends the pass; its rollback handlers can still be asked."""
        if not self._over.done():
            self._over.set_exception(error)
            self._over.exception()  # the runner may be gone already

    def _ended(self, head: Ending, body: str) -> None:
        if self._over.done():
            return
        if head["t"] == "returned":
            self._over.set_result(Encoded(body))
        elif head["t"] == "refused":
            self._over.set_exception(NotSerialisable(head["path"], head["what"]))
        elif head["t"] == "oversized":
            self._over.set_exception(ValueTooLarge())
        else:
            self._over.set_exception(self._error(head["error"]))

    def _error(self, error: WireError) -> WorkerError:
        return WorkerError(self._mapped(error_info(error)))

    # -- step calls
    def _start(self, call: _Call, head: Any, body: str) -> None:
        parent = self._questions.get(head.get("parent", 0))
        context = parent.context if parent is not None else self._context
        task = asyncio.get_running_loop().create_task(self._tell(call, head, body), context=context.copy())
        self._tasks.add(task)

    async def _tell(self, call: _Call, head: Any, body: str) -> None:
        """Tells the runtime how a step call ended; errors that are no result of it end the pass."""
        call_id = head["id"]
        try:
            done = await call(head, body)
        except (EngineError, WorkerError) as error:
            self._told += 1
            self._send(Failed(t="failed", id=call_id, error=wire_error(info_of(error))))
        except RunAborted as error:  # a CancelledError, but one that means the whole pass
            self._fail(error)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the pass raises it
            self._fail(error)
        else:
            self._told += 1
            self._socket.send(done)
        finally:
            self._tasks.discard(asyncio.current_task())

    async def _do(self, head: StepDo, body: str) -> str:
        call_id = head["id"]
        name, config, rollback_config = _arguments(body, 3)
        if "delay" in head:
            config["retries"]["delay"] = self._delay_function(call_id, "delay")
        callback = self._callback(call_id) if "callback" in head else None
        rollback = None
        if "rollbackDelay" in head:
            rollback_config["retries"]["delay"] = self._delay_function(call_id, "rollbackDelay")
        if "rollback" in head:
            has_config = rollback_config is not None
            rollback = RollbackOptions(self._rollback_handler(call_id), rollback_config, has_config)
        site = self._sites.of("do", name, head.get("at"))
        result = await self._port.do(name, config, callback, rollback, site)
        return self._done(call_id, result)

    def _done(self, call_id: int, result: StepResult) -> str:
        n, last = self._last_answers.pop(call_id, (0, None))
        if result is last:  # the runtime has it already
            return done_frame(call_id, n)
        if isinstance(result, StreamOutput):
            return write_frame(Done(t="done", id=call_id, stream=self._lender.lend(result)))
        return write_frame(Done(t="done", id=call_id), result)

    async def _wait(self, head: StepWait, body: str) -> str:
        name, argument = _arguments(body, 2)
        kind = head["t"]
        site = self._sites.of(kind, name, head.get("at"))
        result = "null"
        if kind == "sleep":
            await self._port.sleep(name, argument, site)
        elif kind == "sleepUntil":
            await self._port.sleep_until(name, argument, site)
        else:
            result = await self._port.wait_for_event(name, argument, site)
        body = '{"$":"undefined"}' if kind != "waitForEvent" else result
        return write_frame(Done(t="done", id=head["id"]), body)

    # -- questions
    def _callback(self, call_id: int) -> StepCallback:
        def callback(context: StepContext) -> RemoteAnswer:
            n = next(self._numbers)
            return self._ask(n, callback_frame(call_id, n, context.json_text()), call_id=call_id)

        return callback

    def _delay_function(
        self, call_id: int, of: Literal["delay", "rollbackDelay"]
    ) -> Callable[[DelayInput], Coroutine[Any, Any, object]]:
        async def delay(given: DelayInput) -> object:
            n = next(self._numbers)
            error = wire_error(given.error)
            head = CallDelay(t="delay", of=of, id=call_id, n=n, ctx=given.context.to_json(), error=error)
            answer = await self._ask(n, write_frame(head))
            assert isinstance(answer, str)
            return decode_arguments(answer)

        return delay

    def _rollback_handler(self, call_id: int) -> Callable[[RollbackInput], Coroutine[Any, Any, None]]:
        async def handler(given: RollbackInput) -> None:
            n = next(self._numbers)
            head = CallRollback(
                t="rollback",
                id=call_id,
                n=n,
                ctx=given.context.to_json(),
                error=wire_error(given.error),
                stepName=given.step_name,
            )
            output = given.output
            if isinstance(output, StreamOutput):
                head["stream"] = self._lender.lend(output)
                output = None
            await self._ask(n, write_frame(head, output))

        return handler

    def _ask(self, n: int, frame: str, *, call_id: int | None = None) -> RemoteAnswer:
        """The answer to question `n`, which `frame` puts.

        Raises what user code threw; a value that cannot be stored raises too.
        """
        if self.lost:
            raise HostCrashed("the runtime of the Worker ended")
        answer = RemoteAnswer(partial(self._stood_ms, monotonic_ns()))
        self._questions[n] = _Question(answer, contextvars.copy_context(), call_id)
        self._socket.send(frame)
        return answer

    def _answered(self, head: Answer, body: str) -> None:
        question = self._questions.pop(head["n"], None)
        if head["t"] == "stream":
            self._streams[head["s"]] = IncomingStream()
        if question is not None and not question.answer.done():
            self._give_answer(question, head, body)
        elif question is not None and question.answer.late is not None:
            question.answer.late()
        if not self._questions:
            self._quiet()

    def _give_answer(self, question: _Question, head: Answer, body: str) -> None:
        if head["t"] == "threw":
            question.answer.set_exception(self._error(head["error"]))
        elif head["t"] == "refused":
            question.answer.set_exception(NotSerialisable(head["path"], head["what"]))
        elif head["t"] == "oversized":
            question.answer.set_exception(ValueTooLarge())
        elif head["t"] == "stream":
            question.answer.set_result(StreamOutput(self._stream(head["s"])))
        else:
            value = Encoded(body)
            if question.call_id is not None:
                self._last_answers[question.call_id] = (head["n"], value)
            question.answer.set_result(value)

    # -- streams
    async def _stream(self, number: int) -> AsyncIterator[bytes]:
        stream = self._streams[number]
        try:
            while True:
                self._send({"t": "pull", "s": number})
                chunk = await stream.next()
                if chunk is None:
                    return
                yield chunk
        finally:
            del self._streams[number]
            if not stream.over:
                self._send({"t": "cancel", "s": number})


def _arguments(body: str, number: int) -> list[Value]:
    """The arguments of a call; missing ones are undefined."""
    given: list[Value] = decode_arguments(body)
    return given + [None] * (number - len(given))
