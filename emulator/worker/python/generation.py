"""One load of a Python Worker's code: its module, its classes, and how the engine runs them."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import CoroutineType, ModuleType
from typing import Any

from stepwell.bindings.entrypoints import DurableObject, ExecutionContext, WorkflowEntrypoint
from stepwell.bindings.errors import class_name
from stepwell.bindings.escapes import is_ctrl_c
from stepwell.bindings.ports import RunEvent, Runner, StepPort, is_checked
from stepwell.bindings.runtime import Runtime, enter_runtime
from stepwell.bindings.sites import encode_returned
from stepwell.bindings.step import step_of
from stepwell.bindings.tracebacks import error_text
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded, JsDict, decode, ms_datetime
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.config.problems import class_not_exported, not_a_workflow, without_run
from stepwell.emulator.worker.host import WorkerCodeError, WorkerLoadError
from stepwell.emulator.worker.python.exports import Exports, exports_of
from stepwell.emulator.worker.python.importer import ProjectFinder
from stepwell.emulator.worker.python.impure import reads_noted
from stepwell.emulator.worker.python.objects import PythonObjects
from stepwell.emulator.worker.python.output import Emit, end_output, enter_output
from stepwell.emulator.worker.workerd.durable_objects import durable_classes


class PythonGeneration:
    """Code that was loaded. It is kept by whatever runs it, and its modules go when nothing does."""

    def __init__(self, config: WorkerConfig, runtime: Runtime, emit: Emit) -> None:
        finder = ProjectFinder.installed()
        self.config = config
        self.runtime = runtime
        self._emit = emit
        self._space = finder.open(config.main, config.folder)
        weakref.finalize(self, finder.close, self._space)
        self.module: ModuleType = ModuleType("not loaded")
        self.objects = PythonObjects()

    def load(self) -> None:
        """Runs the entry module and checks the classes. Raises `WorkerLoadError`; then nothing of it stays.

        To be called in a context of its own: it makes the Worker's runtime the current one.
        """
        self.enter()
        try:
            self.module = self._space.load_main()
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            if not self.config.main.exists():
                raise WorkerLoadError(_no_main(self.config)) from error
            raise WorkerCodeError(_import_problem(self.config, error)) from error
        check_classes(self.config, self.module)
        check_objects(self.config, self.module)
        ProjectFinder.installed().serve_libraries(self._space)

    def enter(self) -> None:
        """What runs in this task from here on is this generation's user code."""
        self._space.enter()
        enter_runtime(self.runtime)
        enter_output(self._emit)

    def sources(self) -> dict[str, str]:
        """The digests of the files that were loaded so far, by their paths."""
        return self._space.sources

    def exports(self) -> Exports:
        """What other Workers and the runtime can call."""
        return exports_of(self.module, own_objects(self.config))

    def class_sources(self) -> dict[str, str]:
        """The text of the module that defines a Workflow class, for those that the entry module imports."""
        found: dict[str, str] = {}
        for name in own_classes(self.config):
            module = self._space.module(getattr(self.module, name).__module__)
            if module is not None and module is not self.module and module.__file__ is not None:
                found[name] = Path(module.__file__).read_text(errors="replace")
        return found

    def runners(self) -> dict[str, Runner]:
        """How the engine runs each Workflow class, by its name."""
        return {name: self.runner(name) for name in own_classes(self.config)}

    def runner(self, class_name: str) -> Runner:
        kind: Callable[..., Any] = getattr(self.module, class_name)
        implicit = self.config.compat.python_workflows_implicit_dependencies

        async def run(event: RunEvent, port: StepPort) -> Encoded:
            self.enter()
            try:
                with reads_noted(port.note_read) if is_checked(port) else nullcontext():
                    workflow = kind(ExecutionContext(), self.runtime.env)
                    result = workflow.run(js_event(event), step_of(port, implicit=implicit))
                    if type(result) is CoroutineType:
                        result = await result
            finally:
                end_output()
            return UNDEFINED_TEXT if result is None else encode_returned(result, getattr(kind, "run", None))

        return run


def js_event(event: RunEvent) -> JsDict:
    """The `event` argument of run()."""
    made = JsDict(
        payload=decode(event.payload),
        timestamp=ms_datetime(event.timestamp_at),
        instanceId=event.instance_id,
        workflowName=event.workflow_name,
    )
    if event.schedule is not None:
        made["schedule"] = JsDict(cron=event.schedule.cron, scheduledTime=event.schedule.scheduled_at)
    return made


def own_classes(config: WorkerConfig) -> list[str]:
    """The classes of the Workflows that this Worker itself defines."""
    return list(dict.fromkeys(w.class_name for w in config.workflows if w.script_name is None))


def check_classes(config: WorkerConfig, module: ModuleType) -> None:
    """Raises `WorkerLoadError` for a configured class that the entry module does not have, or that is none."""
    main = os.path.relpath(config.main, config.folder)
    for name in own_classes(config):
        found = getattr(module, name, None)
        if found is None:
            raise WorkerLoadError(str(class_not_exported(name, main, _classes(module))))
        if not isinstance(found, type) or not issubclass(found, WorkflowEntrypoint):
            raise WorkerLoadError(str(not_a_workflow(name, main)))
        if not callable(getattr(found, "run", None)):
            raise WorkerLoadError(str(without_run(name, main)))


def own_objects(config: WorkerConfig) -> list[str]:
    """The classes of Durable Objects that this Worker itself defines."""
    return [durable.name for durable in durable_classes(config)]


def check_objects(config: WorkerConfig, module: ModuleType) -> None:
    """Raises `WorkerLoadError` for a configured Durable Object class that the entry module does not have."""
    main = os.path.relpath(config.main, config.folder)
    for name in own_objects(config):
        found = getattr(module, name, None)
        if not isinstance(found, type) or not issubclass(found, DurableObject):
            what = "does not export it" if found is None else "exports something else under that name"
            raise WorkerLoadError(
                f'The configuration names the Durable Object class "{name}", but {main} {what}. '
                f"Write `class {name}(DurableObject)` there, with `from workers import DurableObject`."
            )


def _classes(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if _is_own_workflow(value)]


def _is_own_workflow(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, WorkflowEntrypoint) and value is not WorkflowEntrypoint


def _no_main(config: WorkerConfig) -> str:
    main = os.path.relpath(config.main, config.folder)
    return f"{main} does not exist: `main` in the configuration must name the Worker's entry file."


def _import_problem(config: WorkerConfig, error: BaseException) -> str:
    main = os.path.relpath(config.main, config.folder)
    kind = type(error)  # `isinstance` asks the class of the exception, which is the user's
    if issubclass(kind, SyntaxError):
        problem = f"{main} cannot be loaded: there is a syntax error in it or in a module that it imports."
    elif kind is ModuleNotFoundError:
        assert isinstance(error, ModuleNotFoundError)
        problem = (
            f"{main} cannot be loaded: it imports {error.name}, which is neither in the project nor installed. "
            f"{_how_to_install(config)}"
        )
    else:
        problem = f"{main} cannot be loaded: it raised {class_name(error)} when it was imported."
    return f"{problem}\n\n{error_text(error).rstrip()}"


def _how_to_install(config: WorkerConfig) -> str:
    """Which Python runs, and how to run with the project's own environment where it has one."""
    folders = dict.fromkeys((config.folder, config.main.parent, config.folder.parent))
    own = next((folder / ".venv" for folder in folders if (folder / ".venv" / "pyvenv.cfg").is_file()), None)
    if own is None or own.resolve() == Path(sys.prefix).resolve():
        return f"Install it into the environment that runs stepwell: {sys.executable} -m pip install PACKAGE."
    if any(Path(entry).is_relative_to(own) for entry in sys.path):
        tool = "uv add" if (own.parent / "uv.lock").exists() else f"{own / 'bin' / 'python'} -m pip install"
        return f"Install it into the project's environment: {tool} PACKAGE."
    return (
        f"Stepwell runs with {sys.executable}, not with the project's {own}. Install stepwell there and start it "
        "from there, as `uv run stepwell dev` does."
    )


def version_id(config: WorkerConfig, variables: Mapping[str, object], sources: Mapping[str, str]) -> str:
    """New whenever the loaded files, the configuration or the variables changed; the same for the same."""
    files = sorted((_relative(path, config.folder), digest) for path, digest in sources.items())
    told = [config.name, config.compatibility_date, config.raw, dict(variables), files]
    text = json.dumps(told, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _relative(path: str, folder: Path) -> str:
    try:
        return os.path.relpath(path, folder)
    except ValueError:  # another drive, on Windows
        return path
