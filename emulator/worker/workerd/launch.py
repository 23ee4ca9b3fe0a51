"""How a runtime is started, and by which addresses it is reached: `workerd serve` here."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from stepwell.emulator.private_files import PRIVATE_UMASK
from stepwell.emulator.worker.workerd.child import Child
from stepwell.emulator.worker.workerd.config import http_of, http_socket, runs_socket
from stepwell.emulator.worker.workerd.frames import RuntimeAddress, WireSocket, connect
from stepwell.emulator.worker.workerd.run_key import RunKey
from stepwell.emulator.worker.workerd.wire import RUNS_PATH

_LOOPBACK: Final = "127.0.0.1"
#: CPU time for the top level of all modules, far beyond the second that Cloudflare gives them.
_STARTUP_CPU_S: Final = 8.0
_LOOK_S: Final = 0.5
#: How long workerd may take to end. What it stores is in SQLite, which needs no farewell.
_GRACE_S: Final = 0.3
#: Stands for the inspector's port among those of sockets.
_INSPECTOR: Final = "inspector"


class RuntimeFailed(Exception):
    """The runtime ended before it was ready; its own words are the report."""


@dataclass(frozen=True, slots=True)
class RuntimeEndpoints:
    """Where one Worker is reached. `headers` go with every request: they choose it where one port serves all.

    `inspector` is the port of the process's debugger.
    """

    http: RuntimeAddress
    runs: RuntimeAddress
    key: RunKey
    headers: Mapping[str, str] = field(default_factory=dict)
    inspector: int | None = None

    async def open_runs(self) -> WireSocket:
        """A new socket for passes. Raises `OSError` when the runtime is gone."""
        headers = {"Authorization": f"Stepwell {self.key.proof('runs')}", **self.headers}
        return await connect(self.runs, RUNS_PATH, headers)


class RuntimeProcess(Protocol):
    """A process that Workers run in. `exited` ends with its exit code."""

    @property
    def pid(self) -> int | None: ...

    @property
    def exited(self) -> asyncio.Future[int]: ...

    def kill(self) -> None: ...

    async def stop(self) -> None: ...

    def cpu_seconds(self) -> float | None: ...


class Launcher(Protocol):
    """Starts a runtime for Workers that are bundled and configured."""

    @property
    def is_inspected(self) -> bool:
        """Whether a debugger can attach."""
        ...

    async def launch(self, on_line: Callable[[str], None]) -> tuple[RuntimeProcess, dict[str, RuntimeEndpoints]]:
        """The process, ready, and the doors by Worker. Raises `RuntimeFailed`."""
        ...

    def ending(self, reason: str, runs: int) -> str:
        """The log line for a process that exited unexpectedly with `runs` passes in it; "" for no line."""
        ...


def crash_text(reason: str, runs: int) -> str:
    """The log line for a runtime that exited unexpectedly."""
    what = "1 run resumes from its" if runs == 1 else f"{runs} runs resume from their"
    return f"The runtime exited ({reason}). Restarting it; {what} last step."


@dataclass(frozen=True, slots=True)
class WorkerdLauncher:
    """`workerd serve` on a configuration in a file. It tells the ports it was given on a pipe.

    `runs` has the names of the Unix sockets for passes, by Worker; one without is reached by ports.
    `is_inspected`: the process opens an inspector, on a port that is free.
    """

    workerd: Path
    config: Path
    workers: Sequence[str]
    runs: Mapping[str, str]
    key: RunKey
    is_inspected: bool = False

    def ending(self, reason: str, runs: int) -> str:
        return crash_text(reason, runs)

    async def launch(self, on_line: Callable[[str], None]) -> tuple[Child, dict[str, RuntimeEndpoints]]:
        reading, writing = os.pipe()
        try:
            child = await self._start(writing, on_line)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        ports = await _ready(child, self._ports(reading))
        return child, {name: self._doors(name, ports) for name in self.workers}

    def _doors(self, worker: str, ports: Mapping[str, int]) -> RuntimeEndpoints:
        inspector = ports.get(_INSPECTOR)
        runs = self.runs.get(worker)
        if runs is None:
            http_port, runs_port = ports[http_socket(worker)], ports[runs_socket(worker)]
            return RuntimeEndpoints(http_port, runs_port, self.key, inspector=inspector)
        return RuntimeEndpoints(http_of(runs), runs, self.key, inspector=inspector)

    async def _start(self, control: int, on_line: Callable[[str], None]) -> Child:
        command = [str(self.workerd), "serve", "--experimental", f"--control-fd={control}", str(self.config)]
        if self.is_inspected:
            command.insert(2, f"--inspector-addr={_LOOPBACK}:0")
        return await Child.start(
            command,
            cwd=self.config.parent,
            on_line=on_line,
            pass_fds=[control],
            umask=PRIVATE_UMASK,
            grace_s=_GRACE_S,
        )

    async def _ports(self, reading: int) -> dict[str, int]:
        """The ports by the names of the sockets; reads until all are there."""
        missing = {name for worker in self.workers for name in (http_socket(worker), runs_socket(worker))}
        if self.is_inspected:
            missing.add(_INSPECTOR)
        ports: dict[str, int] = {}
        with contextlib.closing(os.fdopen(reading, "rb", buffering=0)) as pipe:
            reader = asyncio.StreamReader()
            loop = asyncio.get_running_loop()
            transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
            try:
                while missing - ports.keys() and (line := await reader.readline()):
                    event = json.loads(line)
                    if event.get("event") == "listen":
                        ports[event["socket"]] = event["port"]
                    elif event.get("event") == "listen-inspector":
                        ports[_INSPECTOR] = event["port"]
            finally:
                transport.close()
        if missing - ports.keys():
            raise RuntimeFailed("workerd ended while it started")
        return ports


async def _ready(child: Child, ports: Coroutine[Any, Any, dict[str, int]]) -> dict[str, int]:
    reading = asyncio.ensure_future(ports)
    loops = await in_endless_loop(child, reading, _STARTUP_CPU_S)
    if not reading.done() or reading.exception() is not None:
        reading.cancel()
        await child.stop()
        raise RuntimeFailed(loops or "workerd ended while it started")
    return reading.result()


class Starting(Protocol):
    """What is seen of a process that starts."""

    @property
    def exited(self) -> asyncio.Future[int]: ...

    def cpu_seconds(self) -> float | None: ...


async def in_endless_loop(child: Starting, ready: asyncio.Future[Any], most_cpu_s: float) -> str | None:
    """Waits until a process is ready or has ended; says so when it computes without coming to either."""
    while True:
        await asyncio.wait([ready, child.exited], timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
        if ready.done() or child.exited.done():
            return None
        if (child.cpu_seconds() or 0) > most_cpu_s:
            return f"Loading used {most_cpu_s:g} s of CPU. Is there an endless loop at module level?"
