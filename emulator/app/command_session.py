"""A session with a command of the user's beside it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stepwell.emulator.app.assembly import Emulator, WorkerHosts
from stepwell.emulator.app.dev import Session, Source
from stepwell.emulator.app.state_folder import StateFolder
from stepwell.emulator.config import Opened, Project, Settings
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.terminal.printer import Printer
from stepwell.emulator.terminal.user_output import UserOutput
from stepwell.emulator.worker.devserver.command import Command
from stepwell.emulator.worker.devserver.environment import URL_VARIABLE, command_environment, session_file
from stepwell.emulator.worker.devserver.environment import Session as EngineSession
from stepwell.emulator.worker.hosts import Hosts
from stepwell.emulator.worker.neighbours import Registry

#: Seconds that the command has to end after Ctrl-C before it is asked again, and then again.
_GRACE_S: Final = 5.0


class CommandSession(Session):
    """Runs the Workers of its projects here, and a command that calls their Workflows by `getPlatformProxy()`."""

    _waits_for_others = True
    _runs_user_code = False

    def __init__(
        self,
        sources: Sequence[Source],
        opened: Sequence[Opened],
        settings: Settings,
        folder: StateFolder,
        printer: Printer,
        command: Sequence[str],
    ) -> None:
        super().__init__(sources, opened, settings, folder, printer)
        self._command = command
        self._running: Command | None = None
        self._own_hosts: Hosts | None = None
        self.exit_code = 0

    def _hosts(
        self, engine: Engine, projects: Sequence[Project], registry: Registry, output: UserOutput
    ) -> WorkerHosts:
        hosts = super()._hosts(engine, projects, registry, output)
        assert isinstance(hosts, Hosts)
        self._own_hosts = hosts
        return hosts

    def _print_dev_server_hint(self, projects: Sequence[Project]) -> None:
        """It is what the user has typed."""

    async def _begin(self, emulator: Emulator) -> None:
        file = await self._listen(emulator)
        if self._command:
            environ = {**os.environ, **command_environment(file, os.environ), URL_VARIABLE: emulator.url}
            self._running = Command.start(self._command, environ)
            self._running.exited.add_done_callback(lambda _: self._stopping.set())

    async def _listen(self, emulator: Emulator) -> Path:
        """Take calls of the command's processes; returns the file by which they find us."""
        assert self._own_hosts is not None
        calls = self._own_hosts.calls
        assert calls is not None
        bindings = {
            worker.project.config.name: {
                flow.binding: flow.name for flow in worker.project.config.workflows if flow.binding
            }
            for worker in emulator.workers
        }
        session = EngineSession(session_file(self._folder.path), calls.port, calls.token, bindings=bindings)
        session.write()
        return session.file

    def _stop_on(self, number: int) -> None:
        if self._running is not None:
            self._running.interrupt(number)
        self._stopping.set()

    async def _until_stopped(self, watching: Sequence[asyncio.Task[None]]) -> None:
        await self._stopping.wait()
        if self._running is not None:
            await self._running.stop(_GRACE_S)
            self.exit_code = self._running.exited.result()
        self._watchdog.stopping()
        await super()._until_stopped(watching)
