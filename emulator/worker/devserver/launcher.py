"""The runtime of a Worker in the user's dev server: waited for instead of started, and never ended by us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from stepwell.emulator.worker.devserver.registrations import HostedWorker, Registration, Registrations
from stepwell.emulator.worker.workerd.frames import WireSocket
from stepwell.emulator.worker.workerd.launch import RuntimeEndpoints, RuntimeFailed
from stepwell.emulator.worker.workerd.run_key import RunKey

#: Pause before the next try to reach a Worker that was announced and refuses connections: it is being restarted.
_RETRY_S: Final = 0.1


class HostedProcess:
    """The dev server's process, as far as one Worker is concerned: it ends when the Worker can't be reached."""

    def __init__(self, lifeline: WireSocket, registration: Registration, same_place: Callable[[], bool]) -> None:
        """`same_place` says whether the Worker is where it was, after its registration has ended."""
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._lifeline = lifeline
        self._same_place = same_place
        lifeline.listener = self
        self._watching = asyncio.ensure_future(self._watch(registration))

    @property
    def pid(self) -> int | None:
        """Unknown: it is the dev server's."""
        return None

    async def _watch(self, registration: Registration) -> None:
        await registration.ended.wait()
        if not self._same_place():
            self._end()

    def _end(self) -> None:
        if not self.exited.done():
            self.exited.set_result(0)
            self._lifeline.close()
            self._watching.cancel()

    def kill(self) -> None:
        """Lets go of it."""
        self._end()

    async def stop(self) -> None:
        """Lets go of it."""
        self._end()

    def cpu_seconds(self) -> float | None:
        return None

    # -- Listener of the lifeline
    def text_received(self, text: str) -> None: ...

    def bytes_received(self, data: bytes) -> None: ...

    def socket_lost(self) -> None:
        self._end()


class HostLauncher:
    """A `Launcher` for one Worker: returns when a dev server has announced it and lets us connect."""

    is_inspected = True  # the dev server's debugger may stop it at any time

    def __init__(self, registrations: Registrations, worker: str, key: RunKey) -> None:
        self._registrations = registrations
        self._worker = worker
        self._key = key

    async def launch(self, on_line: Callable[[str], None]) -> tuple[HostedProcess, dict[str, RuntimeEndpoints]]:
        while not self._registrations.closed:
            registered = self._registrations.find(self._worker)
            if registered is None:
                await self._registrations.change()
                continue
            registration, hosted = registered
            endpoints = self._endpoints(hosted)
            try:
                lifeline = await endpoints.open_runs()
            except OSError:
                await self._registrations.change(_RETRY_S)
                continue
            process = HostedProcess(lifeline, registration, partial(self._is_at, endpoints))
            return process, {self._worker: endpoints}
        raise RuntimeFailed("Stepwell is stopping.")

    def ending(self, reason: str, runs: int) -> str:
        """What the log says when the Worker is gone."""
        if not runs:
            return ""
        what = "1 instance continues" if runs == 1 else f"{runs} instances continue"
        return f"The dev server has stopped or reloaded {self._worker}; {what} as soon as it is back."

    def _endpoints(self, hosted: HostedWorker) -> RuntimeEndpoints:
        assert hosted.runs is not None
        return RuntimeEndpoints(hosted.http, hosted.runs, self._key)

    def _is_at(self, endpoints: RuntimeEndpoints) -> bool:
        registered = self._registrations.find(self._worker)
        return (
            registered is not None and registered[1].runs == endpoints.runs and registered[1].http == endpoints.http
        )
