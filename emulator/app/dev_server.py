"""`stepwell dev -- COMMAND`: the engine beside the user's own dev server, whose Workflows it runs."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from stepwell.emulator.app.assembly import Emulator, WorkerHosts, definition_of
from stepwell.emulator.app.command_session import CommandSession
from stepwell.emulator.app.dev import Session, Source, run_session
from stepwell.emulator.app.dev_hint import runs_vitest
from stepwell.emulator.app.state_folder import StateFolder, StateFolderError
from stepwell.emulator.config import ConfigError, DevServerOpened, Opened, Project, WorkflowConfig, open_dev_server
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.private_files import remove_folder
from stepwell.emulator.server.listener import PortInUse, bind
from stepwell.emulator.storage.connection import StorageError
from stepwell.emulator.terminal.follower import Follower
from stepwell.emulator.terminal.logs import configure_logging
from stepwell.emulator.terminal.printer import Printer
from stepwell.emulator.terminal.user_output import UserOutput
from stepwell.emulator.worker.devserver.environment import (
    command_environment,
    read_session,
    session_file,
)
from stepwell.emulator.worker.devserver.hosts import DevServerHost, DevServerHosts
from stepwell.emulator.worker.devserver.projects import project_of
from stepwell.emulator.worker.devserver.registrations import HostedWorker
from stepwell.emulator.worker.host import WorkerLoadError, WorkerPending
from stepwell.emulator.worker.neighbours import Registry
from stepwell.emulator.worker.python.output import is_of_user_code
from stepwell.emulator.worker.reload import watch
from stepwell.emulator.worker.workerd.calls import Introspect
from stepwell.emulator.worker.workerd.descriptors import raise_limit

#: Makes the engine's half of Cloudflare's introspection API.
Introspection: TypeAlias = Callable[[Engine], Introspect]

#: The first port that is tried when none is chosen. 8787 and the ports after it belong to wrangler dev.
_FIRST_PORT: Final = 8790
_PORTS: Final = 20
_PREFIX: Final = "[stepwell]"
#: The first version of Node that can load the preload.
_OLDEST_NODE: Final = 20


def run_dev_server(
    path: Path,
    command: Sequence[str],
    configs: Sequence[str],
    flags: Mapping[str, Any],
    env_files: Sequence[Path],
    introspection: Introspection | None = None,
    main: Path | None = None,
) -> str | int:
    """Run the command until it ends. Returns its exit code, or the message if Stepwell can't start.

    Without a command, run until stopped: dev servers come by `stepwell env`. `main` is the module of the Workflows
    if the command only calls them: then they run here.
    """
    printer = Printer(sys.stdout, prefix=_PREFIX)
    configure_logging(printer, is_of_user_code)
    raise_limit()
    try:
        if main is not None:
            return _run_beside(
                Source(path, {**flags, "config": next(iter(configs), None)}, env_files, main), command, printer
            )
        opened = [
            open_dev_server(path, {**flags, "config": config}, env_files=env_files, environ=os.environ)
            for config in (configs or (None,))
        ]
        if command and (reason := _why_not(opened)) is not None:
            printer.text(f"{reason} Running {shlex.join(command)} without Stepwell.")
            os.execvp(command[0], list(command))
        return _run(opened, command, printer, introspection)
    except FileNotFoundError as error:
        return f"Can't run {error.filename}: no such command."
    except (ConfigError, StateFolderError, StorageError, PortInUse, WorkerLoadError) as error:
        return str(error)


def _run_beside(source: Source, command: Sequence[str], printer: Printer) -> int:
    """Run the Workflows of a module here, and the command beside them."""
    opened = source.open()
    chosen = open_dev_server(source.path, source.flags, environ=os.environ)
    sock = _bind_first(opened.settings.host, _ports(chosen))
    sessions: list[CommandSession] = []

    def build(folder: StateFolder) -> Session:
        sessions.append(CommandSession([source], [opened], opened.settings, folder, printer, command))
        return sessions[0]

    run_session(sock, opened.settings, build)
    return sessions[0].exit_code


def _ports(opened: DevServerOpened) -> list[int]:
    """The ports to try: the chosen one, or ours."""
    return list(range(_FIRST_PORT, _FIRST_PORT + _PORTS)) if opened.any_port else [opened.settings.port]


class NotRunning(Exception):
    """No `stepwell dev` of the project takes dev servers; the message says what to do."""


def environment_of(path: Path, persist_to: Path | None) -> dict[str, str]:
    """The variables for a dev server that is started beside a running `stepwell dev`. Raises `NotRunning`."""
    try:
        opened = open_dev_server(path, {"persist_to": persist_to and str(persist_to)}, environ=os.environ)
    except ConfigError as error:
        raise NotRunning(str(error)) from None
    file = session_file(opened.settings.persist_to)
    session = read_session(file)
    if session is None or session.ended:
        raise NotRunning(
            f"No Stepwell with the state folder {opened.settings.persist_to} waits for dev servers. "
            "Start `stepwell dev --attach` first."
        )
    return command_environment(file, os.environ)


def _why_not(opened: Sequence[DevServerOpened]) -> str | None:
    """Why the command can't have its Workflows in Stepwell; None if it can."""
    projects = [each.project for each in opened]
    if all(project is not None and not project.config.workflows for project in projects):
        names = ", ".join(project.config_path.name for project in projects if project is not None)
        return f"{names} declares no Workflows."
    version = _node_version()
    if version is not None and version < _OLDEST_NODE:
        return f"Node {version} is too old for Stepwell, which needs Node {_OLDEST_NODE} or newer."
    return None


def _node_version() -> int | None:
    """The major version of Node on PATH; None if that can't be told."""
    node = shutil.which("node")
    if node is None:
        return None
    try:
        done = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=10, check=True)
        return int(done.stdout.strip().removeprefix("v").partition(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _run(
    opened: Sequence[DevServerOpened], command: Sequence[str], printer: Printer, introspection: Introspection | None
) -> int:
    if runs_vitest(command, opened[0].settings.project):
        opened = [_for_tests(opened[0]), *opened[1:]]
    settings = opened[0].settings
    for each in opened:
        if each.problem is not None:
            printer.text(printer.style(each.problem, "yellow"))
    sock = _bind_first(settings.host, _ports(opened[0]))
    projects = [Opened(each.settings, each.project) for each in opened if each.project is not None]
    session: DevServerSession | None = None

    def build(folder: StateFolder) -> Session:
        nonlocal session
        session = DevServerSession(projects, opened[0], folder, printer, command, introspection)
        return session

    run_session(sock, settings, build)
    assert session is not None
    return session.exit_code


def _for_tests(opened: DevServerOpened) -> DevServerOpened:
    """The settings of a run of tests: with new state, since tests create the same instances each time."""
    folder = opened.settings.persist_to / "vitest"
    remove_folder(folder)
    return opened._replace(settings=replace(opened.settings, persist_to=folder))


def _bind_first(host: str, ports: Sequence[int]) -> Any:
    """A socket on the first port that is free."""
    for port in ports[:-1]:
        try:
            return bind(host, port)
        except PortInUse:
            continue
    return bind(host, ports[-1])


class DevServerSession(CommandSession):
    """One `stepwell dev -- COMMAND`, from start to stop."""

    def __init__(
        self,
        opened: Sequence[Opened],
        first: DevServerOpened,
        folder: StateFolder,
        printer: Printer,
        command: Sequence[str],
        introspection: Introspection | None,
    ) -> None:
        super().__init__((), opened, first.settings, folder, printer, command)
        self._introspection = introspection
        self._emulator: Emulator | None = None
        self._built: DevServerHosts | None = None
        self._loading = asyncio.Lock()
        self._watches: dict[Path, asyncio.Task[None]] = {}
        #: Names of the Workflows that were printed last, by Worker.
        self._names: dict[str, str] = {}

    # -- parts of the session
    def _output(self, engine: Engine, follower: Follower) -> UserOutput:
        return UserOutput(self._printer, engine.store, engine.clock.now, follower.note, prints=False)

    def _hosts(
        self, engine: Engine, projects: Sequence[Project], registry: Registry, output: UserOutput
    ) -> WorkerHosts:
        self._built = DevServerHosts(
            projects,
            port=engine.find_workflow,
            on_workers=self._take,
            emit=output,
            state=self._folder.path,
            introspect=self._introspection(engine) if self._introspection is not None else None,
        )
        return self._built

    async def _listen(self, emulator: Emulator) -> Path:
        assert self._built is not None
        self._emulator = emulator
        return await self._built.listen()

    async def _until_stopped(self, watching: Sequence[asyncio.Task[None]]) -> None:
        await super()._until_stopped([*watching, *self._watches.values()])

    async def _watch_files(self, emulator: Emulator) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self._watch_folder())]

    # -- Workers that dev servers announce
    async def _take(self, workers: Sequence[HostedWorker]) -> None:
        """Declare the Workflows of Workers, and go on with their instances."""
        async with self._loading:
            for worker in workers:
                await self._take_worker(worker)

    async def _take_worker(self, worker: HostedWorker) -> None:
        assert self._emulator is not None
        assert self._built is not None
        emulator = self._emulator
        known = next((one.project for one in self._opened if one.project.config.name == worker.name), None)
        project = project_of(worker, known, self._settings.env, os.environ)
        for workflow in project.config.workflows:
            if workflow.script_name is not None and emulator.engine.find_workflow(workflow.name) is None:
                emulator.engine.define(definition_of(project, workflow), None, None)
        if worker.runs is None:
            return
        index = emulator.index_of(worker.name)
        if index is None:
            index = emulator.adopt(project, self._built.host(project.config))
        await self._load(emulator, index, project)
        self._watch(index, project)

    async def _load(self, emulator: Emulator, index: int, project: Project) -> None:
        name = project.config.name
        try:
            is_new = await emulator.reload(index, project)
        except WorkerPending:
            return  # it is gone again
        except WorkerLoadError as error:
            emulator.notices.not_loaded(name, str(error), runs=index not in emulator.unloaded)
            self._warn(str(error))
        else:
            emulator.notices.loaded(name)
            if is_new:
                self._print_loaded(name, emulator.workers[index].own_workflows())

    def _print_loaded(self, name: str, workflows: Sequence[WorkflowConfig]) -> None:
        """Name the Workflows of a Worker if they are not those printed last; otherwise say that it reloaded."""
        names = ", ".join(workflow.name for workflow in workflows)
        if self._names.get(name) == names:
            self._printer.text(f"Reloaded {name}")
        else:
            self._names[name] = names
            self._printer.text(f"{name} is connected. Workflows: {names}")

    def _watch(self, index: int, project: Project) -> None:
        """Watch the files of a Worker whose dev server imports them by itself."""
        folder = project.folder
        if folder not in self._watches and self._settings.reload:
            changed = partial(self._edited, index)
            self._watches[folder] = asyncio.create_task(watch(folder, changed, ignored=[self._folder.path]))

    async def _edited(self, index: int, files: Sequence[Path]) -> None:
        assert self._emulator is not None
        worker = self._emulator.workers[index]
        host = worker.host
        assert isinstance(host, DevServerHost)
        if any(host.uses(file) for file in files):
            async with self._loading:
                host.edited()
                await self._load(self._emulator, index, worker.project)
