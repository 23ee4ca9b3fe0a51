"""The hosts of the Workers that the user's dev servers run."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from stepwell.bindings.errors import HostCrashed, WorkerError
from stepwell.bindings.ports import WorkflowPort
from stepwell.bindings.room import Room
from stepwell.emulator.clock import turns
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.config.project import Project
from stepwell.emulator.worker.console import ConsoleLine
from stepwell.emulator.worker.devserver.environment import Session, read_session, session_file
from stepwell.emulator.worker.devserver.launcher import HostLauncher
from stepwell.emulator.worker.devserver.registrations import REGISTER_PATH, HostedWorker, Registrations
from stepwell.emulator.worker.devserver.sources import may_be_imported, source_of_class
from stepwell.emulator.worker.devserver.stacks import DevServerStacks
from stepwell.emulator.worker.host import AsgiApp, Generation, Language, WorkerHost, WorkerPending
from stepwell.emulator.worker.workerd.calls import Calls, Introspect
from stepwell.emulator.worker.workerd.descriptors import limit, passes_at_once
from stepwell.emulator.worker.workerd.front_door import FrontDoor
from stepwell.emulator.worker.workerd.generation import RuntimeGeneration
from stepwell.emulator.worker.workerd.host import check_classes

#: Pause before a Worker is asked again that did not answer.
_RETRY_S: Final = 0.1
#: Turns of the loop in which hosts learn that they stop, and the answers to registrations end.
_LAST_TURNS: Final = 4


class DevServerHosts:
    """A host for each Worker that a project declares or a dev server announces."""

    def __init__(
        self,
        projects: Sequence[Project],
        *,
        port: Callable[[str], WorkflowPort | None],
        on_workers: Callable[[Sequence[HostedWorker]], Awaitable[None]],
        emit: Callable[[ConsoleLine], None],
        state: Path,
        introspect: Introspect | None = None,
    ) -> None:
        """`port` gives a Workflow's port by its name; `on_workers` is called with Workers that are announced."""
        file = session_file(state)
        self._before = read_session(file)
        self._file = file
        self._emit = emit
        self._registrations = Registrations(on_workers)
        token = self._before.token if self._before is not None else None
        apps = {REGISTER_PATH: self._registrations.app}
        self._calls = Calls(port, token=token, apps=apps, introspect=introspect)
        self._room = Room(passes_at_once(limit()))
        self._hosts: dict[str, DevServerHost] = {}
        self.all: tuple[WorkerHost, ...] = tuple(self.host(project.config) for project in projects)

    def host(self, config: WorkerConfig) -> DevServerHost:
        """The host of a Worker; the same one at each call."""
        if config.name not in self._hosts:
            launcher = HostLauncher(self._registrations, config.name, self._calls.key)
            self._hosts[config.name] = DevServerHost(
                config, self._registrations, launcher, self._calls, self._room, self._emit
            )
        self._hosts[config.name].config = config
        return self._hosts[config.name]

    async def listen(self) -> Path:
        """Takes announcements from now on; gives the file by which dev servers find us."""
        await self._calls.start(self._before.port if self._before is not None else 0)
        Session(self._file, self._calls.port, self._calls.token).write()
        return self._file

    async def open(self) -> None:
        """Nothing is to be done after a load."""

    def configure(self, index: int, project: Project) -> None:
        self.host(project.config)

    async def stop(self) -> None:
        stopping = asyncio.gather(*(host.let_go() for host in self._hosts.values()))
        await turns(_LAST_TURNS)
        self._registrations.close()
        await stopping
        await turns(_LAST_TURNS)
        Session(self._file, self._calls.port, self._calls.token, ended=True).write()
        await self._calls.stop()


class DevServerHost:
    """A `WorkerHost`: one Worker, wherever a dev server runs it now."""

    def __init__(
        self,
        config: WorkerConfig,
        registrations: Registrations,
        launcher: HostLauncher,
        calls: Calls,
        room: Room,
        emit: Callable[[ConsoleLine], None],
    ) -> None:
        #: The configuration as it was read last.
        self.config = config
        self._registrations = registrations
        stacks = {config.name: DevServerStacks(config)}
        self._generation = RuntimeGeneration(launcher, stacks, calls, room, patience_s=math.inf, emit=emit)
        self._edits = 0
        self._is_loaded = False
        self._front_door = FrontDoor(lambda: self._generation if self._is_loaded else None, config.name)

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def language(self) -> Language:
        return "javascript"

    async def load(self) -> Generation:
        """The code that the dev server has now. Raises `WorkerPending` until there is one."""
        hosted = await self._checked()
        self._is_loaded = True
        classes = {workflow.class_name for workflow in self.config.workflows if workflow.script_name is None}
        return Generation(
            version_id=self._version(hosted),
            language="javascript",
            source=_text(self.config.main),
            runners={name: self._generation.runner(self.name, name) for name in classes},
            class_sources={
                name: text for name in classes if (text := source_of_class(self.config, name)) is not None
            },
        )

    async def _checked(self) -> HostedWorker:
        """The Worker as it is announced now, with its classes checked; it may be restarted meanwhile."""
        while (registered := self._registrations.find(self.name)) is not None:
            try:
                await check_classes(self._generation, [self.config])
            except HostCrashed:
                await self._registrations.change(_RETRY_S)
            else:
                return registered[1]
        raise WorkerPending(f"No dev server runs the Worker {self.name} yet.")

    def _version(self, hosted: HostedWorker) -> str:
        parts = [self.name, hosted.code, str(self._edits)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def edited(self) -> None:
        """Files that the Worker uses have changed: its next load is a new version."""
        self._edits += 1

    async def scheduled(self, cron: str, scheduled_at: int) -> None:
        try:
            await (await self._generation.caretaker()).scheduled(self.name, cron, scheduled_at)
        except WorkerError as error:
            raise WorkerError(self._generation.map_info(self.name, error.info)) from None

    def uses(self, file: Path) -> bool:
        """Whether the dev server imports files when it needs them. What it bundles, it announces itself."""
        registered = self._registrations.find(self.name)
        return registered is not None and registered[1].imports_later and may_be_imported(file)

    def front_door(self) -> AsgiApp:
        return self._front_door

    async def stop(self) -> None:
        """Nothing: all hosts stop together."""

    async def let_go(self) -> None:
        """Ends the passes; the dev server goes on."""
        await self._generation.stop()


def _text(file: Path) -> str | None:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None
