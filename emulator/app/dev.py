"""What `stepwell dev` does: open the project, run the emulator, reload on change, stop cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from stepwell.bindings.durations import describe_ms
from stepwell.emulator.app.assembly import Emulator, declare, open_engine, ports, with_adopted
from stepwell.emulator.app.state_folder import StateFolder, StateFolderError
from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.config import ConfigError, Opened, Project, open_project
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
from stepwell.emulator.threads.held_loop import HeldLoop
from stepwell.emulator.web import moves
from stepwell.emulator.web.pauses import set_within
from stepwell.emulator.worker.host import WorkerLoadError
from stepwell.emulator.worker.hosts import Hosts
from stepwell.emulator.worker.neighbours import Announcement, Registry, default_registry
from stepwell.emulator.worker.python.loop import run_on_worker_loop
from stepwell.emulator.worker.python.output import is_of_user_code
from stepwell.emulator.worker.reload import begun, is_configuration, watch
from stepwell.emulator.worker.workerd.descriptors import raise_limit

_log = logging.getLogger("stepwell.dev")

#: What steps in flight get at Ctrl-C; a second Ctrl-C ends at once.
GRACE_MS: Final = 5_000
#: So long after the grace the process has ended, whatever hinders it, in seconds.
_END_S: Final = 3.0
#: What code of the Worker that still runs gets to hear of the end, in seconds.
_LAST_S: Final = 0.5
#: How often it is looked whether the state folder is still there, in seconds.
_LOOK_S: Final = 1.0
#: The most files that are named as the cause of a reload.
_MOST_CAUSES: Final = 3


def leave_threads(code: int) -> None:
    """Ends the process when threads of user code are left: Python itself would wait for them without end."""
    threads = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
    ended_by = monotonic_ns() + round(_LAST_S * 1e9)
    for thread in threads:
        thread.join(max(ended_by - monotonic_ns(), 0) / 1e9)
    left = sum(thread.is_alive() for thread in threads)
    if left:
        what = "1 thread of the Worker still runs and ends" if left == 1 else f"{left} threads of the Worker end"
        sys.stdout.write(f"{what} with Stepwell.\n")
        sys.stdout.flush()
        os._exit(code)


def run_dev(path: Path, configs: Sequence[str], flags: Mapping[str, Any], env_files: Sequence[Path]) -> str | None:
    """Runs until it is stopped; gives the message of what prevents it from starting, or None."""
    printer = Printer(sys.stdout)
    configure_logging(printer, is_of_user_code)
    raise_limit()
    try:
        sources = [Source(path, {**flags, "config": config}, env_files) for config in (configs or (None,))]
        opened = [source.open() for source in sources]
        _with_folder(sources, opened, printer)
    except (ConfigError, StateFolderError, StorageError, PortInUse, WorkerLoadError) as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a project comes from: it is opened at the start, and again whenever its files change."""

    path: Path
    flags: Mapping[str, Any]
    env_files: Sequence[Path]

    def open(self) -> Opened:
        """Raises `ConfigError`."""
        return open_project(self.path, self.flags, env_files=self.env_files, environ=os.environ)


def _with_folder(sources: Sequence[Source], opened: Sequence[Opened], printer: Printer) -> None:
    settings = opened[0].settings
    sock = bind(settings.host, settings.port)
    folder = StateFolder(settings.persist_to)
    try:
        folder.claim()
        try:
            with explained(folder.database):
                run_on_worker_loop(_Session(sources, opened, folder, printer).run(sock), _LAST_S)
        except (StorageError, WorkerLoadError):
            folder.forget_if_new()
            raise
        finally:
            folder.release()
    finally:
        sock.close()


def _lost(folder: StateFolder) -> StateFolderError:
    """What to say when the folder has been deleted while it was in use."""
    return StateFolderError(
        f"The state folder {folder.path} was deleted or moved, so Stepwell has stopped. Its data is lost. Start "
        "Stepwell again; to start from scratch, stop it before you delete the folder."
    )


def _lost_log(path: Path) -> StateFolderError:
    """What to say when SQLite's own files have been deleted while they were in use."""
    return StateFolderError(
        f"{path} was deleted or replaced while Stepwell was running. It belongs to the open database, and a crash "
        "would have lost what it held; so Stepwell stored that and has stopped. Start it again, and leave the file "
        "alone."
    )


def _stopped(error: BaseException | None) -> str:
    """What to say when the engine has stopped by itself."""
    return (
        f"The database cannot be written ({error}): the engine has stopped. Nothing runs or is stored from here "
        "on. See that the disk has room, then stop Stepwell and start it again: what was stored goes on."
    )


def _spare_the_collector() -> None:
    """Keeps the garbage collector from what is imported, which lives as long as the process.

    A run of many steps makes it look through everything again and again, for a fifth of the time of each step.
    """
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)


class _Session:
    """One run of `stepwell dev`."""

    def __init__(
        self, sources: Sequence[Source], opened: Sequence[Opened], folder: StateFolder, printer: Printer
    ) -> None:
        self._sources = sources
        self._opened = opened
        self._folder = folder
        self._printer = printer
        self._settings = opened[0].settings
        self._stopping = asyncio.Event()
        self._warnings: dict[int, str] = {}
        self._held = HeldLoop(self._warn, self._stuck, GRACE_MS / 1000, _END_S)

    async def run(self, sock: Any) -> None:
        for index, one in enumerate(self._opened):
            self._warn_of(index, one.project)
        engine = open_engine(self._settings, str(self._folder.database))
        opened = [one.project for one in self._opened]
        projects = [with_adopted(project, opened) for project in opened]
        for project in projects:
            declare(engine, project)
        registry = Registry(self._settings.registry or default_registry())
        announcement = Announcement(registry, engine.find_workflow)
        follower = Follower(engine.store, engine.store.reader(), self._printer, engine.clock.now)
        output = UserOutput(self._printer, engine.store, engine.clock.now, follower.note)
        hosts = Hosts(
            projects,
            self._settings,
            ports=lambda project: ports(engine, project, registry),
            port=engine.find_workflow,
            registry=registry,
            now_ms=engine.clock.now,
            emit=output,
            state=self._folder.path,
        )
        emulator = Emulator(self._settings, engine, projects, hosts, sock, self._held.held_ms)
        engine.observe(follower.note)
        engine.at_failure(lambda: follower.end(_stopped(engine.failure)))
        follower.start()
        self._held.start()
        self._on_signals()
        reads = self._watch_reads()
        _spare_the_collector()
        try:
            await emulator.start()
            for problem in dict.fromkeys(emulator.notices.problems.values()):
                _log.error("%s\nSave a file that mends it: it is loaded then.", problem)
            self._folder.announce(emulator.url)
            await self._announce(announcement, emulator)
            watching = await self._watch_files(emulator)
            self._printer.text(f"Ready on {self._printer.style(emulator.url, 'bold', 'green')}")
            self._tell_of_the_token()
            self._tell_of_the_clock(moves.skew_of(engine), engine.clock.now())
            await self._until_stopped(watching)
            self._tell_of_the_stop(engine.executing)
        except Exception:
            engine.crash()  # nothing was begun, or nothing can be kept: so nothing is written
            raise
        finally:
            await announcement.stop()
            await emulator.stop(GRACE_MS, lambda: self._last_words(engine, output, follower))
            reads.close()

    def _last_words(self, engine: Engine, output: UserOutput, follower: Follower) -> None:
        """Says how the steps in flight have ended; threads of user code may print later, which is not kept."""
        output.stop()
        follower.stop()
        if engine.cut_off:
            steps = "1 step" if engine.cut_off == 1 else f"{engine.cut_off} steps"
            self._warn(
                f"{steps} did not end in time. The attempt counts as failed and is made again at the next start."
            )

    async def _announce(self, announcement: Announcement, emulator: Emulator) -> None:
        """Lets other runs on this machine call the Workflows of this one."""
        workers = [worker.host.name for worker in emulator.workers if worker.own_workflows()]
        if not workers:
            return
        try:
            await announcement.start(workers)
        except OSError as error:
            self._warn(f"Other runs cannot call the Workflows of this one: {error}. Name a folder with --registry.")

    def _tell_of_the_token(self) -> None:
        if not is_loopback(self._settings.host) and not self._settings.token:
            self._printer.text(
                f"The dashboard and the APIs refuse all requests on {self._settings.host} until you start with "
                "--token TOKEN; the Worker itself answers."
            )

    def _tell_of_the_clock(self, skew_ms: int, now: int) -> None:
        if skew_ms:
            self._printer.text(f"The clock has been moved by {describe_ms(skew_ms)}: it is now {moment(now)}.")

    def _tell_of_the_stop(self, executing: int) -> None:
        if executing:
            steps = "1 step" if executing == 1 else f"{executing} steps"
            seconds = GRACE_MS // 1000
            self._printer.text(f"Stopping: {steps} in flight may take {seconds} s; Ctrl-C again stops at once.")

    def _watch_reads(self) -> contextlib.ExitStack:
        """With `replay: always`, warns of code outside of steps that reads the clock, randomness or the network."""
        stack = contextlib.ExitStack()
        if self._settings.replay == "always":
            from stepwell.emulator.worker.python.impure import ImpureReads, warn_of

            stack.enter_context(ImpureReads(warn_of))
        return stack

    def _warn_of(self, index: int, project: Project) -> None:
        """Says what is odd about a configuration, unless it was said of the last one already."""
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
        """Ends the process without a stop: what is committed is safe, and no secrets stay behind."""
        for generated in (self._folder.path / "generated", *self._folder.path.glob("bindings/*/generated")):
            remove_folder(generated)
        os._exit(code)

    def _on_signals(self) -> None:
        loop = asyncio.get_running_loop()

        def stop(number: int, _: object) -> None:
            if self._stopping.is_set():
                self._exit_at_once(130)  # the second time
            loop.call_soon_threadsafe(self._stopping.set)
            # Code that blocks the loop never sees the event: the watch, or the next signal, ends the process.
            self._held.stopping()
            signal.signal(number, lambda *_: self._exit_at_once(130))

        for name in ("SIGINT", "SIGTERM"):
            signal.signal(getattr(signal, name), stop)

    async def _watch_files(self, emulator: Emulator) -> list[asyncio.Task[None]]:
        """Looks after the state folder, and after the project's files if they are to be reloaded.

        Returns when the files are watched, so that no change is missed from then on.
        """
        watching = [asyncio.create_task(self._watch_folder())]
        if self._settings.reload:
            watching += [
                asyncio.create_task(
                    watch(
                        one.project.folder,
                        partial(self._reload, emulator, index),
                        ignored=[self._folder.path],
                        at_once=index in emulator.unloaded,
                    )
                )
                for index, one in enumerate(self._opened)
            ]
            await begun()
        return watching

    async def _until_stopped(self, watching: Sequence[asyncio.Task[None]]) -> None:
        """Raises `StateFolderError` when the state folder is lost before anybody stops this."""
        await self._stopping.wait()
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        if self._folder.is_lost:
            raise _lost(self._folder)
        if (log := self._folder.lost_log) is not None:
            raise _lost_log(log)

    def _because(self, index: int, causes: Sequence[Path]) -> str:
        """What caused a reload, for the line that says so."""
        if not causes:
            return ""
        folder = self._opened[index].project.folder
        shown = [os.path.relpath(file, folder) for file in causes[:_MOST_CAUSES]]
        more = f" and {len(causes) - len(shown)} more files" if len(causes) > len(shown) else ""
        return f": {', '.join(shown)}{more} changed"

    async def _watch_folder(self) -> None:
        while not await set_within(self._stopping, _LOOK_S):
            if self._folder.is_lost or self._folder.lost_log is not None:
                self._stopping.set()

    async def _reload(self, emulator: Emulator, index: int, files: Sequence[Path]) -> None:
        """Loads a Worker anew, and with it those that had to wait: the bundles of all go into one runtime."""
        host, env_files = emulator.workers[index].host, {path.absolute() for path in self._sources[index].env_files}
        causes = [file for file in files if is_configuration(file) or file in env_files or host.uses(file)]
        is_broken = host.name in emulator.notices.problems
        if files and not causes and not is_broken:
            return  # a Worker may write files into its project
        await self._load_again(emulator, index, causes or (files if is_broken else ()))
        for other in emulator.unloaded:
            if other != index:
                await self._load_again(emulator, other, ())

    async def _load_again(self, emulator: Emulator, index: int, causes: Sequence[Path]) -> None:
        name = emulator.workers[index].host.name
        problem = emulator.notices.problems.get(name)
        try:
            project = self._sources[index].open().project
            self._warn_of(index, project)
            is_new = await emulator.reload(index, project)
        except (ConfigError, WorkerLoadError) as error:
            # One save may be several changes: what is wrong is told once.
            again, runs = str(error) == problem, index not in emulator.unloaded
            then = "What ran before goes on running." if runs else "Save a file that mends it: it is loaded then."
            _log.log(logging.DEBUG if again else logging.ERROR, "%s\n%s", error, then)
            emulator.notices.not_loaded(name, str(error), runs=runs)
        else:
            # A file that is no code may be the one that our output goes to: to tell of it would change it again.
            is_news = is_new or problem is not None
            because = self._because(index, causes)
            _log.log(logging.INFO if is_news else logging.DEBUG, "Reloaded %s%s", name, because)
            emulator.notices.loaded(name)
