"""One socket to each Worker by which the engine looks after it: does it live, what it exports, scheduled events."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from stepwell.bindings.errors import WorkerError
from stepwell.emulator.worker.host import HostCrashed
from stepwell.emulator.worker.workerd.frames import WireSocket
from stepwell.emulator.worker.workerd.migrations import Migrations
from stepwell.emulator.worker.workerd.wire import ToRuntime, error_info, read_frame, write_frame


class Door(Protocol):
    async def open_runs(self) -> WireSocket: ...


class RuntimeControl:
    """Questions to Workers, outside of passes; answers come in the order of the questions of a kind."""

    def __init__(self, lines: Mapping[str, _Line]) -> None:
        self._lines = lines

    @staticmethod
    async def open(doors: Mapping[str, Door]) -> RuntimeControl:
        """Opens the sockets. Raises `OSError` when the runtime is gone already."""
        return RuntimeControl({name: _Line(await door.open_runs()) for name, door in doors.items()})

    async def ping(self) -> None:
        """Returns when the runtime has answered; all Workers of a process share one thread."""
        for line in self._lines.values():
            await line.ask({"t": "ping"}, "pong")
            return

    async def classes(self, worker: str) -> Mapping[str, bool]:
        """The classes that a Worker exports, and whether each extends WorkflowEntrypoint."""
        answer = await self._lines[worker].ask({"t": "classes"}, "classes")
        classes: Mapping[str, bool] = answer["classes"]
        return classes

    async def scheduled(self, worker: str, cron: str, scheduled_at: int) -> None:
        """Calls the handler; raises what it raised as `WorkerError`."""
        question: ToRuntime = {"t": "scheduled", "cron": cron, "scheduledTime": scheduled_at}
        answer = await self._lines[worker].ask(question, "scheduled")
        if "error" in answer:
            raise WorkerError(error_info(answer["error"]))

    async def migrate(self, worker: str, migrations: Migrations) -> Sequence[str]:
        """The names of the migrations that were new; raises what the first that failed raised as `WorkerError`."""
        question: ToRuntime = {
            "t": "migrate",
            "binding": migrations.binding,
            "table": migrations.table,
            "files": migrations.files,
        }
        answer = await self._lines[worker].ask(question, "migrated")
        if "error" in answer:
            raise WorkerError(error_info(answer["error"]))
        applied: Sequence[str] = answer["applied"]
        return applied

    def close(self) -> None:
        for line in self._lines.values():
            line.close()


class _Line:
    """One socket. Each question waits for the first answer of its kind that nobody before it took."""

    def __init__(self, socket: WireSocket) -> None:
        self._socket = socket
        self._waiting: dict[str, list[asyncio.Future[Any]]] = {}
        socket.listener = self

    async def ask(self, question: ToRuntime, kind: str) -> Any:
        """The head of the answer. Raises `HostCrashed` when the runtime ends before."""
        if self._socket.closed:
            raise HostCrashed("the runtime of the Worker ended")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(kind, []).append(answer)
        self._socket.send(write_frame(question))
        return await answer

    def close(self) -> None:
        self._socket.close()

    # -- Listener
    def text_received(self, text: str) -> None:
        head, _ = read_frame(text)
        answer = self._waiting[head["t"]].pop(0)
        if not answer.done():
            answer.set_result(head)

    def bytes_received(self, data: bytes) -> None: ...

    def socket_lost(self) -> None:
        for answers in self._waiting.values():
            for answer in answers:
                if not answer.done():
                    answer.set_exception(HostCrashed("the runtime of the Worker ended"))
            answers.clear()
