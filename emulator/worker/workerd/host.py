"""JavaScript and TypeScript Workers in Cloudflare's own runtime: one host per Worker over one runtime for all."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepwell.bindings.errors import WorkerError
from stepwell.bindings.ports import WorkflowPort
from stepwell.bindings.room import Room
from stepwell.emulator.config.compatibility import similar_flags, unknown_flags
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.config.problems import class_not_exported, not_a_workflow
from stepwell.emulator.private_files import remove_folder, write_private
from stepwell.emulator.worker.console import ConsoleLine, log_line
from stepwell.emulator.worker.devserver.inputs import bundled_files, input_digest
from stepwell.emulator.worker.devserver.registrations import REGISTER_PATH, HostedWorker, Registrations
from stepwell.emulator.worker.devserver.stacks import DevServerStacks
from stepwell.emulator.worker.devserver.wrangler import wrangler_launcher
from stepwell.emulator.worker.host import AsgiApp, Generation, Language, WorkerCodeError, WorkerLoadError
from stepwell.emulator.worker.workerd.bundling import Bundle, bundle, write_entry
from stepwell.emulator.worker.workerd.calls import Calls, PythonService
from stepwell.emulator.worker.workerd.class_sources import class_sources, own_files
from stepwell.emulator.worker.workerd.config import (
    DATA_FOLDER,
    EngineAddress,
    WorkerPart,
    unix_sockets,
    usable_date,
    workerd_config,
)
from stepwell.emulator.worker.workerd.descriptors import limit, passes_at_once
from stepwell.emulator.worker.workerd.front_door import FrontDoor
from stepwell.emulator.worker.workerd.generation import RuntimeGeneration
from stepwell.emulator.worker.workerd.inspector import InspectorProxy
from stepwell.emulator.worker.workerd.launch import Launcher, WorkerdLauncher
from stepwell.emulator.worker.workerd.migrations import apply_migrations, migrations_of
from stepwell.emulator.worker.workerd.missing_tables import MissingTables
from stepwell.emulator.worker.workerd.runtime_choice import Choice, Wanted, choose_runtime
from stepwell.emulator.worker.workerd.sourcemaps import SourceMap, StackMapper
from stepwell.emulator.worker.workerd.toolchain import Toolchain, find_toolchain, mentions, version_of

_log = logging.getLogger("stepwell.worker")

#: CPU time that Cloudflare gives an invocation unless the configuration says otherwise.
_CPU_LIMIT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class JavaScriptWorker:
    """One Worker as it is to run: its configuration, and its variables with the secrets.

    `stands_in`: it does so for a Worker in Python. `file` is its configuration as the user wrote it; None where no
    file says the same.
    """

    config: WorkerConfig
    variables: Mapping[str, object]
    stands_in: bool = False
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """`state` is our folder for what is generated and stored. `patience_s` None: the Worker's CPU limit."""

    state: Path
    wanted: Wanted = "auto"
    inspector_port: int | None = None
    patience_s: float | None = None


class JavaScriptRuntime:
    """The runtime of all JavaScript Workers of a run. `workers` is asked at each load: configurations change."""

    def __init__(
        self,
        workers: Callable[[], Sequence[JavaScriptWorker]],
        ports: Callable[[str], WorkflowPort | None],
        options: RuntimeOptions,
        emit: Callable[[ConsoleLine], None] = log_line,
        services: Callable[[], Mapping[str, PythonService]] = dict,
    ) -> None:
        """`ports` gives the engine's port of a Workflow by its name, None for one that is not in this run.

        `services` gives the Python Workers of the run.

        `emit` takes what user code logs.
        """
        self._emit = emit
        self._workers = workers
        self._options = options
        self._registrations = Registrations(_no_news)
        self._calls = Calls(ports, services, apps={REGISTER_PATH: self._registrations.app})
        self._hosts: dict[str, WorkerdHost] = {}
        self._generation: RuntimeGeneration | None = None
        #: All that may have a process: the one that serves, and older ones that runs go on in.
        self._generations: list[RuntimeGeneration] = []
        self._room = Room(passes_at_once(limit()))
        self._digests: dict[str, str] = {}
        self._loads = 0
        self._told: Choice | None = None
        port = options.inspector_port
        self._inspector = None if port is None else InspectorProxy(port, self._inspector_port)

    def _inspector_port(self) -> int | None:
        return None if self._generation is None else self._generation.inspector_port

    def host(self, name: str) -> WorkerdHost:
        """The host of one of the Workers."""
        if name not in self._hosts:
            self._hosts[name] = WorkerdHost(self, name)
        return self._hosts[name]

    @property
    def calls(self) -> EngineAddress:
        """Where binding calls go."""
        return EngineAddress(self._calls.port, self._calls.token)

    @property
    def generation(self) -> RuntimeGeneration | None:
        """The process that takes requests now."""
        return self._generation

    async def load(self, name: str) -> Generation:
        """Bundles all Workers as they are; starts a process with them unless nothing has changed."""
        workers = self._workers()
        if not self._calls.port:
            self._remove_generated()  # of a run that was killed
            await self._calls.start()
        tools = find_toolchain(workers[0].config.folder)
        choice = choose_runtime(self._options.wanted, [w.config for w in workers], tools)
        for worker in workers:
            _check_flags(worker.config, tools)
        parts = [await self._bundled(worker, tools, choice) for worker in workers]
        digests = await asyncio.to_thread(_digests, parts, choice)
        if self._generation is None or digests != self._digests:
            self._tell(choice, workers, tools)
            await self._replace(parts, tools, choice)
            self._digests = (
                digests if choice.runtime == "workerd" else await asyncio.to_thread(_digests, parts, choice)
            )
        part = next(part for part in parts if part.config.name == name)
        return await self._describe(part, [part.config for part in parts], choice)

    async def stop(self) -> None:
        self._generation = None
        await asyncio.gather(*(generation.stop() for generation in self._generations))
        self._generations.clear()
        if self._inspector is not None:
            await self._inspector.stop()
        await self._calls.stop()
        self._remove_generated()

    def _remove_generated(self) -> None:
        """The generated files hold secrets of the Workers and of the run; none outlives it."""
        remove_folder(self._options.state / "generated")

    # -- loading
    async def _bundled(self, worker: JavaScriptWorker, tools: Toolchain, choice: Choice) -> WorkerPart:
        config = worker.config
        if not config.main.is_file() and not config.raw.get("build"):
            raise WorkerLoadError(f'The Worker "{config.name}" has no file {config.main}, its "main".')
        folder = self._options.state / "generated" / config.name
        self._loads += 1
        if choice.runtime == "wrangler":  # which bundles by itself
            return WorkerPart(config, worker.variables, Bundle(folder, "", "", {}), worker.file)
        assert tools.esbuild is not None
        entry = write_entry(config, folder)
        place, debuggable = folder / f"bundle-{self._loads % 8}", self._inspector is not None
        code = await bundle(config, tools.esbuild, entry, place, debuggable=debuggable)
        return WorkerPart(config, worker.variables, code, worker.file)

    async def _replace(self, parts: Sequence[WorkerPart], tools: Toolchain, choice: Choice) -> None:
        data = self._options.state / DATA_FOLDER
        mappers = {part.config.name: _mapper(part, choice, MissingTables(part.config, data)) for part in parts}
        patience_s = self._options.patience_s or max(_cpu_limit_s(part.config) for part in parts)
        if self._inspector is not None:
            await self._inspector.start()
        launcher = await asyncio.to_thread(self._launcher, parts, tools, choice)
        generation = RuntimeGeneration(
            launcher, mappers, self._calls, self._room, patience_s=patience_s, emit=self._emit
        )
        self._generations = [one for one in self._generations if not one.stopped] + [generation]
        await generation.start()
        try:
            await check_classes(generation, [part.config for part in parts])
            for part in parts:
                await apply_migrations(await generation.caretaker(), part.config)
        except BaseException:
            await generation.stop()
            raise
        before, self._generation = self._generation, generation
        if before is not None:
            before.retire()
        if self._inspector is not None:
            self._inspector.disconnect()

    def _launcher(self, parts: Sequence[WorkerPart], tools: Toolchain, choice: Choice) -> Launcher:
        state = self._options.state
        is_inspected = self._inspector is not None
        if choice.runtime == "wrangler":
            return wrangler_launcher(
                parts, self._calls, self._registrations, state, tools, is_inspected=is_inspected
            )
        assert tools.workerd is not None
        file = state / "generated" / f"workerd-{self._loads % 8}.capnp"
        names = [part.config.name for part in parts]
        runs = unix_sockets(names)
        write_private(file, workerd_config(parts, self.calls, state / DATA_FOLDER, file.parent, tools, runs))
        return WorkerdLauncher(tools.workerd, file, names, runs, self._calls.key, is_inspected)

    def _tell(self, choice: Choice, workers: Sequence[JavaScriptWorker], tools: Toolchain) -> None:
        if choice == self._told:
            return
        self._told = choice
        program = tools.workerd if choice.runtime == "workerd" else None
        version = f" ({version_of(program)})" if program is not None else ""
        names = ", ".join(worker.config.name for worker in workers if not worker.stands_in)
        stand_ins = ", ".join(worker.config.name for worker in workers if worker.stands_in)
        _log.info(
            "%s in %s%s: %s",
            f"{names} runs" if names else f"The bindings of {stand_ins} run",
            "workerd serve" if choice.runtime == "workerd" else "wrangler dev",
            version,
            choice.reason,
            extra={"action": "runtime_chosen", "runtime": choice.runtime, "reason": choice.reason},
        )
        if program is not None:
            _warn_of_newer_dates(workers, tools.newest_date)

    async def _describe(self, part: WorkerPart, run: Sequence[WorkerConfig], choice: Choice) -> Generation:
        generation, config = self._generation, part.config
        assert generation is not None
        classes = {w.class_name for w in config.workflows if w.script_name is None}
        # Another Worker may bind a class of this one that its own configuration does not mention.
        classes |= {w.class_name for other in run for w in other.workflows if w.script_name == config.name}
        by_wrangler = choice.runtime == "wrangler"
        files = bundled_files(config, part.place) if by_wrangler else own_files(part.bundle)
        return Generation(
            version_id=self._digests[config.name],
            language="javascript",
            source=config.main.read_text(errors="replace"),
            runners={name: generation.runner(config.name, name) for name in classes},
            class_sources=await asyncio.to_thread(class_sources, config.main, files, classes),
        )


class WorkerdHost:
    """A `WorkerHost`: one Worker of the runtime."""

    def __init__(self, runtime: JavaScriptRuntime, name: str) -> None:
        self._runtime = runtime
        self._name = name
        self._front_door = FrontDoor(lambda: runtime.generation, name)

    @property
    def name(self) -> str:
        return self._name

    @property
    def language(self) -> Language:
        return "javascript"

    async def load(self) -> Generation:
        return await self._runtime.load(self._name)

    async def scheduled(self, cron: str, scheduled_at: int) -> None:
        generation = self._runtime.generation
        if generation is None:
            raise WorkerLoadError(f'The Worker "{self._name}" is not loaded.')
        try:
            await (await generation.caretaker()).scheduled(self._name, cron, scheduled_at)
        except WorkerError as error:
            raise WorkerError(generation.map_info(self._name, error.info)) from None

    def uses(self, file: Path) -> bool:
        """A bundle may hold any file; only bundling tells whether it has changed."""
        return True

    def front_door(self) -> AsgiApp:
        return self._front_door

    async def stop(self) -> None:
        """Stops the runtime of all Workers of the run."""
        await self._runtime.stop()


def _check_flags(config: WorkerConfig, tools: Toolchain) -> None:
    """Raises `WorkerCodeError` for a flag that the runtime would not start with."""
    unknown = [flag for flag in unknown_flags(config.compatibility_flags) if not mentions(tools.workerd, flag)]
    if unknown:
        quoted = ", ".join(f'"{flag}"' for flag in unknown)
        raise WorkerCodeError(
            f"{config.name} has compatibility flags that the installed workerd does not know: {quoted}. "
            f"{similar_flags(unknown) or 'Remove them, or update workerd: npm install --save-dev wrangler@latest'}"
        )


def _warn_of_newer_dates(workers: Sequence[JavaScriptWorker], newest: str | None) -> None:
    for config in (worker.config for worker in workers):
        if usable_date(config.compatibility_date, newest) != config.compatibility_date:
            _log.warning(
                '%s: compatibility_date "%s" is newer than the installed workerd supports; using "%s". '
                "To update workerd: npm install --save-dev wrangler@latest",
                config.name,
                config.compatibility_date,
                newest,
            )


def _mapper(part: WorkerPart, choice: Choice, tables: MissingTables) -> StackMapper:
    if choice.runtime == "wrangler":
        return DevServerStacks(part.config, part.place, tables.seen)
    source_map = SourceMap(part.bundle.source_map, part.bundle.folder)
    return StackMapper(source_map, "worker.js", part.config.folder, tables.seen)


def _digests(parts: Sequence[WorkerPart], choice: Choice) -> dict[str, str]:
    """By Worker, what is new whenever the code or anything that the Worker is told has changed."""
    return {part.config.name: _digest(part, choice) for part in parts}


def _digest(part: WorkerPart, choice: Choice) -> str:
    config = part.config
    migrations = [one.files for one in migrations_of(config)]
    settings = [config.compatibility_date, config.raw, dict(part.variables), migrations]
    told = json.dumps(settings, sort_keys=True, default=str)
    code = part.bundle.code if choice.runtime == "workerd" else input_digest(config, part.place)
    return hashlib.sha256("\0".join([config.name, told, code]).encode("utf-8", "surrogatepass")).hexdigest()[:32]


async def _no_news(_: Sequence[HostedWorker]) -> None:
    """The launcher waits for its own process."""


def _cpu_limit_s(config: WorkerConfig) -> float:
    limits = config.raw.get("limits")
    cpu_ms = limits.get("cpu_ms") if isinstance(limits, Mapping) else None
    return cpu_ms / 1000 if isinstance(cpu_ms, int | float) and cpu_ms > 0 else _CPU_LIMIT_S


async def check_classes(generation: RuntimeGeneration, configs: Sequence[WorkerConfig]) -> None:
    """Raises `WorkerLoadError` for a Workflow whose class the Worker does not export."""
    caretaker = await generation.caretaker()
    for config in configs:
        exported = await caretaker.classes(config.name)
        for workflow in config.workflows:
            if workflow.script_name is None and not exported.get(workflow.class_name):
                raise WorkerLoadError(_class_problem(config, workflow.class_name, exported))


def _class_problem(config: WorkerConfig, class_name: str, exported: Mapping[str, bool]) -> str:
    main = os.path.relpath(config.main, config.folder)
    if class_name in exported:
        problem = not_a_workflow(class_name, main)
    else:
        problem = class_not_exported(class_name, main, exported)
    return f"{problem.text} {problem.hint}"
