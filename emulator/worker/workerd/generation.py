"""One load of the JavaScript Workers of a run: a process of the runtime, restarted when it dies, and its passes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.ports import RemoteRunner, RunEvent, StepPort
from stepwell.bindings.room import Room
from stepwell.bindings.values import Encoded
from stepwell.emulator.worker.console import Console, ConsoleLine, log_line
from stepwell.emulator.worker.host import HostCrashed, WorkerCodeError
from stepwell.emulator.worker.workerd.call_sites import CallSites
from stepwell.emulator.worker.workerd.frames import WireSocket
from stepwell.emulator.worker.workerd.idle import Idle
from stepwell.emulator.worker.workerd.launch import Launcher, RuntimeEndpoints, RuntimeFailed, RuntimeProcess
from stepwell.emulator.worker.workerd.passes import Pass, StreamLender
from stepwell.emulator.worker.workerd.runtime_control import RuntimeControl
from stepwell.emulator.worker.workerd.sourcemaps import StackMapper
from stepwell.emulator.worker.workerd.watchdog import Watchdog

_log = logging.getLogger("stepwell.worker")

#: Sockets kept for the next pass of a Worker, at most; fewer where there is little room.
_IDLE_SOCKETS: Final = 64
#: Passes whose callbacks go on after run() has ended, at most; the oldest are ended first.
_LINGERING: Final = 100
#: How long requests to replaced code may go on: a WebSocket or a stream would keep its process for ever.
_LAST_REQUESTS_S: Final = 10.0
_RECENT_INSTANCES: Final = 10_000
#: How long the news of a process's end may take after its sockets were closed.
_NEWS_S: Final = 2.0
#: Pauses before a runtime that keeps dying is started again, in seconds.
_RESTART_PAUSES: Final = (0.0, 0.1, 0.5, 2.0, 5.0)


@dataclass(slots=True)
class _Live:
    """A process that serves, with the sockets to it that are free."""

    child: RuntimeProcess
    doors: Mapping[str, RuntimeEndpoints]
    caretaker: RuntimeControl
    watchdog: Watchdog
    idle: dict[str, Idle[WireSocket]]


@dataclass(slots=True)
class _Running:
    """A pass, the socket that it runs on, and who takes that back."""

    one: Pass
    instance_id: str
    socket: WireSocket
    idle: Idle[WireSocket]


class _PassRunner:
    """The `RemoteRunner` of one Workflow class."""

    def __init__(self, generation: RuntimeGeneration, worker: str, class_name: str) -> None:
        self._generation = generation
        self._worker = worker
        self._class_name = class_name

    @property
    def room(self) -> Room:
        return self._generation.room

    async def __call__(self, event: RunEvent, port: StepPort, /) -> Encoded:
        return await self._generation.run(self._worker, self._class_name, event, port)

    def release(self, event: RunEvent) -> None:
        self._generation.release(event)

    async def quiesce(self, event: RunEvent) -> None:
        await self._generation.quiesce(event)


class RuntimeGeneration:
    """Runs the passes that its code was started with, also when newer code has taken over the requests."""

    def __init__(
        self,
        launcher: Launcher,
        mappers: Mapping[str, StackMapper],
        lender: StreamLender,
        room: Room,
        *,
        patience_s: float,
        emit: Callable[[ConsoleLine], None] = log_line,
    ) -> None:
        """`mappers` by Worker. `room` is shared with other generations of the same Workers.

        `patience_s`: how much CPU time the runtime may use without an answer before it is ended.
        """
        self._emit = emit
        self.room = room
        self.loop = asyncio.get_running_loop()
        self._launcher = launcher
        self._mappers = mappers
        #: Per Worker, the reading of the source map of its bundle.
        self._reading: dict[str, asyncio.Future[None]] = {}
        self._sites = {worker: CallSites(mapper.text) for worker, mapper in mappers.items()}
        self._lender = lender
        self._patience_s = patience_s
        self._instances: Counter[str] = Counter()
        #: Ids of instances whose passes ran here not long ago: what they printed may still be on its way.
        self._recent: dict[str, None] = {}
        #: By the identity of the event, which the engine keeps as long as the pass.
        self._passes: dict[int, _Running] = {}
        #: Passes that the engine has released, and whose callbacks still go on; the oldest first.
        self._lingering: list[_Running] = []
        self._live: _Live | None = None
        self._starting: asyncio.Task[_Live] | None = None
        self._quick_ends = 0
        #: Ids of instances whose passes have heard of the end of the process before we have.
        self._lost: set[str] = set()
        self._ending_reason: str | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._retired = False
        self._tasks: set[asyncio.Task[None]] = set()
        #: Requests under way; counted by the front door on its own thread.
        self.requests = 0
        #: Calls of bindings by Python under way; counted on the engine's loop.
        self.uses = 0
        #: Whether requests keep the process from ending.
        self._requests_count = True

    # -- its life
    async def start(self) -> None:
        """Starts the process for the first time. Raises `WorkerCodeError` with what the runtime said."""
        self._read_maps()
        try:
            await self._process()
        except RuntimeFailed as error:
            await self.stop()
            raise WorkerCodeError(str(error)) from None

    def _read_maps(self) -> None:
        """Reads source maps beside the loop; passes wait for them, Ready does not."""
        for worker, mapper in self._mappers.items():
            self._reading[worker] = asyncio.ensure_future(asyncio.to_thread(mapper.read))

    @property
    def stopped(self) -> bool:
        """Whether the process has been told to end."""
        return self._stopping is not None

    async def stop(self) -> None:
        """Ends the process; returns when it is gone, whoever asked for that first."""
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self._stop())
        await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        if self._starting is not None:
            await asyncio.wait([self._starting])
        live, self._live = self._live, None
        if live is not None:
            for running in (*self._passes.values(), *self._lingering):
                running.socket.close()
            _let_go(live)
            await live.child.stop()
        for task in self._tasks:
            task.cancel()

    def retire(self) -> None:
        """Newer code serves from now on: the process ends with its last pass.

        Requests get a moment to end, and callbacks that no run() waits for get none.
        """
        self._retired = True
        while self._lingering:
            self._end_lingering(self._lingering[0])
        self._end_if_unused()
        if not self.stopped:
            self._background(self._end_requests())

    async def _end_requests(self) -> None:
        await _pause(_LAST_REQUESTS_S)
        self._requests_count = False
        self._end_if_unused()

    def request_ended(self) -> None:
        """One of the requests is over. Safe on any thread."""
        if self._retired:
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                self.loop.call_soon_threadsafe(self._end_if_unused)

    @property
    def pid(self) -> int | None:
        """The process that serves; None while there is none."""
        return None if self._live is None else self._live.child.pid

    @property
    def inspector_port(self) -> int | None:
        """Where the process that serves has its debugger; None without one."""
        doors = () if self._live is None else self._live.doors.values()
        return next((endpoints.inspector for endpoints in doors), None)

    def doors(self, worker: str) -> RuntimeEndpoints | None:
        """Where requests go now; None while the process is being started again. Safe on any thread."""
        live = self._live
        return None if live is None else live.doors[worker]

    async def ready(self, worker: str, failed: RuntimeEndpoints | None = None) -> RuntimeEndpoints:
        """As `doors`, after the process is there. Raises `HostCrashed` when it cannot be started.

        `failed`: doors that nobody answered at. If their process is ending, the next one's are given.
        """
        live = self._live
        if failed is not None and live is not None and live.doors[worker] is failed:
            await self._end_of(live)
        try:
            return (await self._process()).doors[worker]
        except RuntimeFailed as error:
            raise HostCrashed(str(error)) from None

    async def caretaker(self) -> RuntimeControl:
        return (await self._process()).caretaker

    def _end_if_unused(self) -> None:
        if not self._retired or self.stopped or self._passes or self.uses:
            return
        if not self.requests or not self._requests_count:
            self._stopping = asyncio.ensure_future(self._stop())

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- the process
    async def _process(self) -> _Live:
        """The process, started now if there is none."""
        if self._live is not None:
            return self._live
        if self.stopped:
            raise HostCrashed("the runtime of the Worker was stopped")
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
            self._starting.add_done_callback(self._started)
        return await asyncio.shield(self._starting)

    def _started(self, starting: asyncio.Task[_Live]) -> None:
        self._starting = None
        if starting.cancelled() or starting.exception() is not None:
            return
        live = starting.result()
        if not live.child.exited.done():  # else `_watch` has seen its end before it was in use
            self._live = live

    async def _start(self) -> _Live:
        await _pause(_RESTART_PAUSES[min(self._quick_ends, len(_RESTART_PAUSES) - 1)])
        console = Console(self._recent, self._map_text, self._emit)
        try:
            child, doors = await self._launcher.launch(console.read)
        except RuntimeFailed as error:
            raise RuntimeFailed(f"The runtime did not start.\n\n{console.last_lines or error}") from None
        try:
            caretaker = await RuntimeControl.open(doors)
        except OSError as error:
            raise RuntimeFailed(f"The runtime is gone already ({error}).") from None
        watchdog = Watchdog(
            caretaker, child, self._patience_s, self._end_hung, inspected=self._launcher.is_inspected
        )
        most = min(_IDLE_SOCKETS, self.room.most // 4)
        live = _Live(child, doors, caretaker, watchdog, {name: Idle[WireSocket](most) for name in doors})
        watchdog.start()
        self._read_maps()  # of bundles that the process itself has made
        self._background(self._watch(live, console))
        return live

    def _end_hung(self, reason: str) -> None:
        self._ending_reason = reason
        if self._live is not None:
            self._live.child.kill()

    async def _watch(self, live: _Live, console: Console) -> None:
        """Waits for the end of a process that nobody asked to end, and starts the next."""
        code = await live.child.exited
        _let_go(live)
        if self.stopped:
            return
        if self._live is live:
            self._live = None
        reason = self._ending_reason or ("out of memory" if console.out_of_memory else _ending(code))
        self._ending_reason = None
        self._quick_ends = self._quick_ends + 1 if code and live.watchdog.pongs < 2 else 0
        count, self._lost = len(self._lost.union(self._instances)), set()
        if text := self._launcher.ending(reason, count):
            _log.error("%s", text, extra={"action": "runtime_crashed", "reason": reason, "runs": count})
        if not self._retired:
            await self._restart(console)

    async def _end_of(self, live: _Live) -> None:
        """Nobody answered: waits a moment for the news that the process has ended."""
        await asyncio.wait([live.child.exited], timeout=_NEWS_S)
        if live.child.exited.done() and self._live is live:
            self._live = None

    async def _restart(self, console: Console) -> None:
        try:
            await self._process()
        except (RuntimeFailed, HostCrashed) as error:
            if not self.stopped:
                _log.error("%s", error, extra={"action": "runtime_failed"})

    # -- passes
    def runner(self, worker: str, class_name: str) -> RemoteRunner:
        """The runner of one Workflow class."""
        return _PassRunner(self, worker, class_name)

    async def run(self, worker: str, class_name: str, event: RunEvent, port: StepPort) -> Encoded:
        """One pass of run() in the process as it is now, or is again."""
        socket, idle = await self._socket(worker)
        if not self._reading[worker].done():
            await asyncio.wait([self._reading[worker]])
        one = Pass(socket, port, self._lender, self._stood_ms, self._mappers[worker].info, self._sites[worker])
        socket.listener = one
        self._instances[event.instance_id] += 1
        self._note_recent(event.instance_id)
        self._passes[id(event)] = _Running(one, event.instance_id, socket, idle)
        return await one.run(class_name, event)

    def release(self, event: RunEvent) -> None:
        """Nobody needs the pass any more. Closing its socket ends what still goes on in the runtime."""
        running = self._passes.pop(id(event), None)
        if running is None:  # it came to no process
            return
        one, instance_id = running.one, running.instance_id
        if one.lost:
            self._lost.add(instance_id)
        self._instances[instance_id] -= 1
        if not self._instances[instance_id]:
            del self._instances[instance_id]
        if not self._retired and one.lingers(lambda: self._end_lingering(running)):
            self._let_linger(running)
        elif one.clean:
            running.socket.listener = None
            running.idle.give(running.socket)
        else:
            running.socket.close()
        self._end_if_unused()

    def _let_linger(self, running: _Running) -> None:
        self.room.enter()
        self._lingering.append(running)
        if len(self._lingering) > min(_LINGERING, self.room.most // 4):
            self._end_lingering(self._lingering[0])

    def _end_lingering(self, running: _Running) -> None:
        """The last callback has ended, or is to end now."""
        if running in self._lingering:
            self._lingering.remove(running)
            self.room.leave()
            running.socket.close()

    def _note_recent(self, instance_id: str) -> None:
        self._recent.pop(instance_id, None)
        self._recent[instance_id] = None
        if len(self._recent) > _RECENT_INSTANCES:
            del self._recent[next(iter(self._recent))]

    async def _stood_ms(self, since_ns: int) -> int:
        """As that of the watchdog; a process that is gone stands no more, and its passes have heard of its end."""
        return 0 if self._live is None else await self._live.watchdog.stood_ms(since_ns)

    async def quiesce(self, event: RunEvent) -> None:
        running = self._passes.get(id(event))
        if running is not None:
            await running.one.quiesce()

    async def _socket(self, worker: str) -> tuple[WireSocket, Idle[WireSocket]]:
        """A socket for one pass, and the list that takes it back. Raises `HostCrashed`."""
        try:
            live = await self._process()
            idle = live.idle[worker]
            if (socket := idle.take()) is not None:
                return socket, idle
            try:
                return await live.doors[worker].open_runs(), idle
            except OSError:
                await self._end_of(live)
            live = await self._process()
            return await live.doors[worker].open_runs(), live.idle[worker]
        except (OSError, RuntimeFailed) as error:
            raise HostCrashed(f"the runtime of the Worker is not there ({error})") from None

    # -- stacks
    def _map_text(self, text: str) -> str:
        for mapper in self._mappers.values():
            text = mapper.text(text)
        return text

    def map_info(self, worker: str, info: ErrorInfo) -> ErrorInfo:
        return self._mappers[worker].info(info)


def _let_go(live: _Live) -> None:
    """Closes what is open to a process that ends: `workerd` waits for the end of its connections."""
    live.watchdog.stop()
    live.caretaker.close()
    for idle in live.idle.values():
        idle.close()


def _ending(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


async def _pause(seconds: float) -> None:
    if seconds:
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=seconds)
