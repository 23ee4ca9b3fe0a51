"""`stepwell dev`: opens the project, runs the emulator, reloads on change, stops cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepwell.bindings.durations import describe_ms
from stepwell.emulator.app.assembly import (
    Emulator,
    WorkerHosts,
    declare,
    open_engine,
    ports,
    store_of,
    with_adopted,
)
from stepwell.emulator.app.dev_hint import dev_server_hint
from stepwell.emulator.app.forks import Forks
from stepwell.emulator.app.startup_log import StartupLog, Step
from stepwell.emulator.app.state_folder import StateFolder, StateFolderError
from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.config import ConfigError, Opened, Project, Settings, open_project
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.local_time import moment
from stepwell.emulator.private_files import remove_folder
from stepwell.emulator.server.addresses import is_loopback
from stepwell.emulator.server.listener import PortInUse, bind
from stepwell.emulator.storage.connection import StorageError, explained
from stepwell.emulator.terminal.follower import Follower
from stepwell.emulator.terminal.logs import configure_logging
from stepwell.emulator.terminal.printer import Printer
from stepwell.emulator.terminal.safe import visible
from stepwell.emulator.terminal.user_output import UserOutput
from stepwell.emulator.threads.loop_watchdog import LoopWatchdog
from stepwell.emulator.web import moves
from stepwell.emulator.web.pauses import set_within
from stepwell.emulator.worker.host import WorkerLoadError
from stepwell.emulator.worker.hosts import Hosts
from stepwell.emulator.worker.neighbours import Announcement, Registry, default_registry
from stepwell.emulator.worker.python.loop import WorkerLoop, run_on_worker_loop
from stepwell.emulator.worker.python.output import is_of_user_code, own_stdout, read_raw_output
from stepwell.emulator.worker.reload import begun, is_configuration, watch
from stepwell.emulator.worker.workerd.descriptors import raise_limit

if TYPE_CHECKING:
    from stepwell.emulator.worker.python.raw_output import RawOutput

_log = logging.getLogger("stepwell.dev")

#: Time that steps in flight have to finish after Ctrl-C. A second Ctrl-C exits immediately.
GRACE_MS: Final = 5_000
#: Seconds after the grace period until the process is forced to exit.
_END_S: Final = 3.0
#: Seconds that running threads and tasks of the Worker have to finish at the end.
_LAST_S: Final = 0.5
#: Seconds between two checks that the state folder still exists.
_CHECK_S: Final = 1.0
#: Maximum number of files named as the cause of a reload.
_MOST_CAUSES: Final = 3
_FIX_IT: Final = "Fix the file and save it to reload."


def leave_threads(code: int) -> None:
    """End the process if threads of user code still run: Python itself would wait for them forever."""
    threads = [
        thread for thread in threading.enumerate() if thread is not threading.main_thread() and not thread.daemon
    ]
    ended_by = monotonic_ns() + round(_LAST_S * 1e9)
    for thread in threads:
        thread.join(max(ended_by - monotonic_ns(), 0) / 1e9)
    alive = sum(thread.is_alive() for thread in threads)
    if alive:
        what = "1 thread of the Worker was" if alive == 1 else f"{alive} threads of the Worker were"
        sys.stdout.write(f"{what} still running and ended with Stepwell.\n")
        sys.stdout.flush()
        os._exit(code)


def run_dev(
    path: Path,
    configs: Sequence[str],
    flags: Mapping[str, Any],
    env_files: Sequence[Path],
    notices: Sequence[str] = (),
    startup: StartupLog | None = None,
) -> str | None:
    """Run until stopped. Returns the error message if it can't start, otherwise None.

    Prints `notices` first, and after Ready the report of `startup`.
    """
    printer = Printer(own_stdout() if _is_redirected() else sys.stdout)
    configure_logging(printer, is_of_user_code)
    for notice in notices:
        printer.text(visible(notice))
    raise_limit()
    try:
        sources = [Source(path, {**flags, "config": config}, env_files) for config in (configs or (None,))]
        with startup.step("read the configuration") if startup is not None else contextlib.nullcontext():
            opened = [source.open() for source in sources]
        _with_folder(sources, opened, printer, startup)
    except (ConfigError, StateFolderError, StorageError, PortInUse, WorkerLoadError) as error:
        return str(error)
    return None


def _is_redirected() -> bool:
    """Whether output that passes `sys.stdout` by is read; raw_output.py says why not on a terminal."""
    try:
        return os.name == "posix" and not sys.stdout.isatty() and sys.stdout.fileno() == 1
    except (OSError, ValueError):  # a replacement of sys.stdout has no descriptor
        return False


@dataclass(frozen=True, slots=True)
class Source:
    """Opens a project: at the start, and again whenever its files change."""

    path: Path
    flags: Mapping[str, Any]
    env_files: Sequence[Path]
    #: What replaces the entry of the configuration.
    main: Path | None = None

    def open(self) -> Opened:
        """Open the project. Raises `ConfigError`."""
        return open_project(self.path, self.flags, env_files=self.env_files, environ=os.environ, main=self.main)


def _with_folder(
    sources: Sequence[Source], opened: Sequence[Opened], printer: Printer, startup: StartupLog | None
) -> None:
    settings = opened[0].settings
    sock = bind(settings.host, settings.port)
    run_session(sock, settings, lambda folder: Session(sources, opened, settings, folder, printer, startup))


def run_session(sock: socket.socket, settings: Settings, session: Callable[[StateFolder], Session]) -> None:
    """Run a session on its state folder until it stops; closes the socket."""
    folder = StateFolder(settings.persist_to)
    try:
        folder.claim()
        try:
            with explained(folder.database):
                run_on_worker_loop(session(folder).run(sock), _LAST_S)
        except (StorageError, WorkerLoadError):
            folder.forget_if_new()
            raise
        finally:
            folder.release()
    finally:
        sock.close()


def _lost(folder: StateFolder) -> StateFolderError:
    """The error for a state folder that was deleted while in use."""
    return StateFolderError(
        f"The state folder {folder.path} was deleted or moved, so Stepwell has stopped. Its data is lost. Start "
        "Stepwell again; to start from scratch, stop it before you delete the folder."
    )


def _lost_log(path: Path) -> StateFolderError:
    """The error for a file of SQLite that was deleted while in use."""
    return StateFolderError(
        f"{path} was deleted or replaced while Stepwell was running. The file is part of the open database. "
        "Stepwell has saved its contents and stopped. Start it again, and leave the file in place."
    )


def _stopped(error: BaseException | None) -> str:
    """The message after the engine has stopped because of an error."""
    return (
        f"The engine has stopped: it can't write to its database ({error}). Free some disk space and restart "
        "Stepwell; stored instances continue."
    )


def _spare_the_collector() -> None:
    """Exclude imported objects from garbage collection; they live as long as the process.

    Otherwise collections during long runs scan them again and again, which takes a fifth of the time of each step.
    During the imports themselves there was no collection at all (cli/dev.py).
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(5_000, 20, 20)


class Session:
    """One `stepwell dev`, from start to stop."""

    #: Whether a stop begins with waiting for another program, which takes its own time.
    _waits_for_others = False
    #: Whether this process runs user code, whose output is read.
    _runs_user_code = True

    def __init__(
        self,
        sources: Sequence[Source],
        opened: Sequence[Opened],
        settings: Settings,
        folder: StateFolder,
        printer: Printer,
        startup: StartupLog | None = None,
    ) -> None:
        self._sources = sources
        self._startup = startup
        self._opened = opened
        self._folder = folder
        self._printer = printer
        self._settings = settings
        self._stopping = asyncio.Event()
        self._raw_output: RawOutput | None = None
        self._warnings: dict[int, str] = {}
        self._watchdog = LoopWatchdog(self._warn, self._stuck, GRACE_MS / 1000, _END_S)

    async def run(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, WorkerLoop)
        opened = [project for _, project in self._opened]
        self._print_dev_server_hint(opened)
        for index, project in enumerate(opened):
            self._print_warnings(index, project)
        step: Step = contextlib.nullcontext if self._startup is None else self._startup.step
        with step("open the database"):
            engine = open_engine(self._settings, str(self._folder.database))
        projects = [with_adopted(project, opened) for project in opened]
        for project in projects:
            declare(engine, project)
        registry = Registry(self._settings.registry or default_registry())
        announcement = Announcement(registry, engine.find_workflow)
        store = store_of(engine)
        follower = Follower(store, store.reader(), self._printer, engine.clock.now)
        output = self._output(engine, follower)
        hosts = self._hosts(engine, projects, registry, output)
        emulator = Emulator(self._settings, engine, projects, hosts, sock, self._watchdog.blocked_ms, step)
        closing = contextlib.ExitStack()
        if self._runs_user_code and _is_redirected():
            self._raw_output = closing.enter_context(read_raw_output(output))
        Forks(loop, engine.store, self._folder, sock, self._printer, output, self._raw_output).watch()
        engine.observe(follower.note)
        engine.at_failure(lambda: follower.end(_stopped(engine.failure)))
        follower.start()
        self._watchdog.start()
        self._on_signals()
        _spare_the_collector()
        engine.hold_code()  # of an earlier process, which may loop without an end and keep Ready from being printed
        try:
            await emulator.start()
            for problem in dict.fromkeys(emulator.notices.problems.values()):
                _log.error("%s\n%s", problem, _FIX_IT)
            self._folder.announce(emulator.url)
            await self._announce(announcement, emulator)
            with step("watch the files"):
                watching = await self._watch_files(emulator)
            self._printer.text(f"Ready on {self._printer.style(emulator.url, 'bold', 'green')}")
            if self._startup is not None:
                self._startup.end()
                self._printer.text(self._startup.report())
            self._print_token_notice()
            self._print_clock_notice(moves.skew_of(engine), engine.clock.now())
            await self._begin(emulator)
            engine.release_code()
            await self._until_stopped(watching)
            self._print_stopping(engine.executing)
        except Exception:
            engine.crash()  # nothing has started, or nothing can be stored, so don't write
            raise
        finally:
            await announcement.stop()
            await emulator.stop(GRACE_MS, lambda: self._last_words(engine, output, follower))
            closing.close()

    def _output(self, engine: Engine, follower: Follower) -> UserOutput:
        """Take what user code prints."""
        return UserOutput(self._printer, engine.store, engine.clock.now, follower.note)

    def _hosts(
        self, engine: Engine, projects: Sequence[Project], registry: Registry, output: UserOutput
    ) -> WorkerHosts:
        """Build the hosts of the projects' Workers."""
        return Hosts(
            projects,
            self._settings,
            ports=lambda project: ports(engine, project, registry),
            port=engine.find_workflow,
            registry=registry,
            now_ms=engine.clock.now,
            emit=output,
            state=self._folder.path,
        )

    async def _begin(self, emulator: Emulator) -> None:
        """Called once requests are served."""

    def _last_words(self, engine: Engine, output: UserOutput, follower: Follower) -> None:
        """Report the steps that were cut off. Later output of user code's threads is not stored."""
        output.stop()
        follower.stop()
        if engine.cut_off:
            steps = "1 step" if engine.cut_off == 1 else f"{engine.cut_off} steps"
            self._warn(
                f"{steps} did not finish in time. The attempt counts as failed and is retried at the next start."
            )

    async def _announce(self, announcement: Announcement, emulator: Emulator) -> None:
        """Let other Stepwells on this machine call the Workflows of this one."""
        workers = [worker.host.name for worker in emulator.workers if worker.own_workflows()]
        if not workers:
            return
        try:
            await announcement.start(workers)
        except OSError as error:
            self._warn(
                f"Other Stepwells can't call the Workflows of this one: {error}. Choose another folder with "
                "--registry DIR."
            )

    def _print_dev_server_hint(self, projects: Sequence[Project]) -> None:
        """Name the command for projects that have a dev server of their own."""
        for project in projects:
            hint = dev_server_hint(project.folder) if project.config.language == "javascript" else None
            if hint is not None:
                self._printer.text(hint)

    def _print_token_notice(self) -> None:
        if not is_loopback(self._settings.host) and not self._settings.token:
            self._printer.text(
                f"Dashboard and APIs are disabled on {self._settings.host} until you restart with --token TOKEN. "
                "The Worker itself needs no token."
            )

    def _print_clock_notice(self, skew_ms: int, now: int) -> None:
        if skew_ms:
            self._printer.text(f"The clock is {describe_ms(skew_ms)} ahead of real time: {moment(now)}.")

    def _print_stopping(self, executing: int) -> None:
        if executing:
            steps = "1 step" if executing == 1 else f"{executing} steps"
            self._printer.text(
                f"Stopping: waiting up to {GRACE_MS // 1000} s for {steps}. Press Ctrl-C again to stop now."
            )

    def _print_warnings(self, index: int, project: Project) -> None:
        """Print the warnings of a configuration, unless they are the same as those printed last."""
        text = project.warning_text()
        if text != self._warnings.get(index, ""):
            self._warnings[index] = text
            if text:
                self._printer.text(self._printer.style(text, "yellow"))

    def _warn(self, text: str) -> None:
        self._printer.text(self._printer.style(visible(text), "yellow"))

    def _stuck(self, text: str) -> None:
        self._warn(text)
        self._exit_at_once(1)

    def _exit_at_once(self, code: int) -> None:
        """End the process immediately. Committed data is safe; files with secrets are removed."""
        if self._raw_output is not None:
            self._raw_output.pass_on()
        for generated in (self._folder.path / "generated", *self._folder.path.glob("bindings/*/generated")):
            remove_folder(generated)
        os._exit(code)

    def _on_signals(self) -> None:
        loop = asyncio.get_running_loop()

        def stop(number: int, _: object) -> None:
            if self._stopping.is_set():
                self._exit_at_once(130)  # the second signal
            loop.call_soon_threadsafe(self._stop_on, number)
            # A blocked loop never sees the event: then the watchdog, or the next signal, ends the process.
            if not self._waits_for_others:
                self._watchdog.stopping()
            signal.signal(number, lambda *_: self._exit_at_once(130))

        for name in ("SIGINT", "SIGTERM"):
            signal.signal(getattr(signal, name), stop)

    def _stop_on(self, number: int) -> None:
        """Begin to stop, because of a signal."""
        self._stopping.set()

    async def _watch_files(self, emulator: Emulator) -> list[asyncio.Task[None]]:
        """Watch the state folder and, with reload on, the project's files.

        Returns once the files are watched: later changes are not missed.
        """
        watching = [asyncio.create_task(self._watch_folder())]
        if self._settings.reload:
            watching += [
                asyncio.create_task(
                    watch(
                        project.folder,
                        partial(self._reload, emulator, index),
                        ignored=[self._folder.path],
                        at_once=index in emulator.unloaded,
                    )
                )
                for index, (_, project) in enumerate(self._opened)
            ]
            await begun()
        return watching

    async def _until_stopped(self, watching: Sequence[asyncio.Task[None]]) -> None:
        """Wait for a stop. Raises `StateFolderError` if the state folder was lost."""
        await self._stopping.wait()
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        if self._folder.is_lost:
            raise _lost(self._folder)
        if (log := self._folder.lost_log) is not None:
            raise _lost_log(log)

    def _cause_text(self, index: int, causes: Sequence[Path]) -> str:
        """The files that caused a reload, as the end of its message."""
        if not causes:
            return ""
        folder = self._opened[index].project.folder
        shown = [os.path.relpath(file, folder) for file in causes[:_MOST_CAUSES]]
        more = f" and {len(causes) - len(shown)} more files" if len(causes) > len(shown) else ""
        return f": {', '.join(shown)}{more} changed"

    async def _watch_folder(self) -> None:
        while not await set_within(self._stopping, _CHECK_S):
            if self._folder.is_lost or self._folder.lost_log is not None:
                self._stopping.set()

    async def _reload(self, emulator: Emulator, index: int, files: Sequence[Path]) -> None:
        """Reload a Worker, and the Workers that failed to load: all JavaScript Workers share one runtime."""
        host, env_files = emulator.workers[index].host, {path.absolute() for path in self._sources[index].env_files}
        causes = [file for file in files if is_configuration(file) or file in env_files or host.uses(file)]
        is_broken = host.name in emulator.notices.problems
        if files and not causes and not is_broken:
            return  # data files that the Worker itself may have written
        await self._load_again(emulator, index, causes or (files if is_broken else ()))
        for other in emulator.unloaded:
            if other != index:
                await self._load_again(emulator, other, ())

    async def _load_again(self, emulator: Emulator, index: int, causes: Sequence[Path]) -> None:
        name = emulator.workers[index].host.name
        problem = emulator.notices.problems.get(name)
        try:
            project = self._sources[index].open().project
            self._print_warnings(index, project)
            is_new = await emulator.reload(index, project)
        except (ConfigError, WorkerLoadError) as error:
            # One save may trigger several reloads: report each problem once.
            is_repeated, runs = str(error) == problem, index not in emulator.unloaded
            consequence = "The previous version keeps running." if runs else _FIX_IT
            _log.log(logging.DEBUG if is_repeated else logging.ERROR, "%s\n%s", error, consequence)
            emulator.notices.not_loaded(name, str(error), runs=runs)
        else:
            # The changed file may be the one that our output is redirected to: logging would change it again.
            is_news = is_new or problem is not None
            cause = self._cause_text(index, causes)
            _log.log(logging.INFO if is_news else logging.DEBUG, "Reloaded %s%s", name, cause)
            emulator.notices.loaded(name)
