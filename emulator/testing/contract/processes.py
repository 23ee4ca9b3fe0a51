"""Servers that the contract runner starts for itself: on free ports, waited for, and stopped with us."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from stepwell.emulator.clock import Clock
from stepwell.emulator.testing.contract.drive import pause

_READY_MS = 60_000
_LOOK_AGAIN_MS = 50
_STOP_MS = 10_000
_LOG_CHARS = 2_000


class TargetError(Exception):
    """A server could not be started; the text says which, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Command:
    """One server to start. `{port}` in an argument becomes its port."""

    name: str
    args: Sequence[str]
    folder: Path
    env: Mapping[str, str]


def free_port() -> int:
    """A port that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Servers:
    """The processes of one run. `stop` ends all of them, whatever happened."""

    def __init__(self, clock: Clock, logs: Path) -> None:
        self._clock = clock
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._urls: dict[str, str] = {}

    @property
    def urls(self) -> Mapping[str, str]:
        """Base URLs by the commands' names."""
        return self._urls

    def start(self, command: Command, port: int) -> None:
        """Starts a server; `ready` waits until it answers. Raises `TargetError` when there is no such program."""
        args = [arg.replace("{port}", str(port)) for arg in command.args]
        try:
            with self._log(command.name).open("wb") as log:
                process = subprocess.Popen(
                    args,
                    cwd=command.folder,
                    env={**os.environ, **command.env},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise TargetError(f"{args[0]} cannot be started: {error.strerror}.") from error
        self._running[command.name] = process
        self._urls[command.name] = f"http://127.0.0.1:{port}"

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    async def ready(self) -> None:
        """Returns when all servers answer. Raises `TargetError`, with the end of its log, for one that does not."""
        give_up_at = self._clock.now() + _READY_MS
        async with httpx.AsyncClient(trust_env=False) as client:
            for name, url in self._urls.items():
                while not await _answers(client, url):
                    if self._running[name].poll() is not None:
                        raise TargetError(f"{name} ended before it answered.\n{self._end_of_log(name)}")
                    if self._clock.now() > give_up_at:
                        raise TargetError(f"{name} does not answer at {url}.\n{self._end_of_log(name)}")
                    await pause(self._clock, _LOOK_AGAIN_MS)

    def _end_of_log(self, name: str) -> str:
        return self._log(name).read_text(encoding="utf-8", errors="replace")[-_LOG_CHARS:]

    async def stop(self) -> None:
        for process in self._running.values():
            _signal_group(process, signal.SIGTERM)
        give_up_at = self._clock.now() + _STOP_MS
        for process in self._running.values():
            while process.poll() is None and self._clock.now() < give_up_at:
                await pause(self._clock, _LOOK_AGAIN_MS)
            if process.poll() is None:
                _signal_group(process, getattr(signal, "SIGKILL", signal.SIGTERM))
                await asyncio.to_thread(process.wait)


async def _answers(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(url, timeout=2)).status_code == 200
    except httpx.HTTPError:
        return False


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Signals a server and its children, which on Windows only the server itself can be."""
    if process.poll() is not None:
        return
    if os.name == "nt":
        process.terminate()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
