"""What a bug report needs to know of a machine and a project, whatever of it is broken."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from stepwell.emulator.app.project_environment import find_environment
from stepwell.emulator.app.state_folder import read_running
from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.config import ConfigError, Opened, WorkerConfig, open_project
from stepwell.emulator.server.listener import PortInUse, bind
from stepwell.emulator.storage.inspection import inspect_database, sqlite_version
from stepwell.emulator.worker.host import WorkerLoadError
from stepwell.emulator.worker.workerd.descriptors import limit, raise_limit
from stepwell.emulator.worker.workerd.runtime_choice import choose_runtime
from stepwell.emulator.worker.workerd.toolchain import Toolchain, find_toolchain, version_of

_FEW_DESCRIPTORS: Final = 1_024
_LITTLE_SPACE: Final = 500 * 1024 * 1024
#: How long the files of the state folder are counted.
_MOST_NS: Final = 1_000_000_000
_DATABASE: Final = "stepwell.sqlite"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, and what was found. `problem` is empty when all is well."""

    section: str
    name: str
    value: str
    problem: str = ""

    def to_json(self) -> dict[str, str | None]:
        return {"section": self.section, "name": self.name, "value": self.value, "problem": self.problem or None}


def examine(folder: Path, flags: dict[str, Any]) -> list[Finding]:
    """Looks at this machine and at the project around `folder`. Writes nothing, and starts no Worker."""
    opened, project = _project(folder, flags)
    tools = find_toolchain(opened.project.folder if opened is not None else folder.absolute())
    parts: list[Callable[[], Iterator[Finding]]] = [
        _stepwell,
        lambda: iter(project),
        lambda: _environment(opened),
        lambda: _tools(tools),
        lambda: _runtime(opened, tools),
        lambda: _server(opened),
        lambda: _state(opened),
    ]
    return [finding for part in parts for finding in _whole(part)]


def _whole(part: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """A part that fails is a finding itself."""
    try:
        yield from part()
    except Exception as error:  # noqa: BLE001 - a doctor looks at what is broken
        yield Finding("Stepwell", "examination", "failed", f"{type(error).__name__}: {error}")


def _stepwell() -> Iterator[Finding]:
    yield Finding("Stepwell", "version", f"{version('stepwell')} in {Path(__file__).parents[1]}")
    yield Finding("Stepwell", "Python", f"{platform.python_version()} at {sys.executable}")
    yield Finding("Stepwell", "SQLite", sqlite_version())
    yield Finding("Stepwell", "system", f"{platform.platform()}, {os.cpu_count()} CPUs")
    before = limit()
    raise_limit()
    few = limit() < _FEW_DESCRIPTORS
    problem = f"fewer than {_FEW_DESCRIPTORS}: raise it with `ulimit -n`" if few else ""
    yield Finding("Stepwell", "open files", f"{before}, raised to {limit()}", problem)


def _project(folder: Path, flags: dict[str, Any]) -> tuple[Opened | None, list[Finding]]:
    """The project, and the findings about it."""
    try:
        opened = open_project(folder, flags, environ=os.environ)
    except ConfigError as error:
        return None, [Finding("Project", "configuration", f"not usable in {folder.absolute()}", str(error))]
    config = opened.project.config
    workflows = ", ".join(f"{flow.name} ({flow.class_name})" for flow in config.workflows)
    return opened, [
        Finding("Project", "configuration", str(opened.settings.config_file)),
        Finding("Project", "Worker", f"{config.name}, {config.language}, {config.main}"),
        Finding("Project", "Workflows", workflows or "none", "" if workflows else "it configures no Workflow"),
        Finding("Project", "compatibility date", str(config.raw.get("compatibility_date") or "none")),
        *(Finding("Project", "warning", "1", str(warning)) for warning in opened.project.warnings),
    ]


def _environment(opened: Opened | None) -> Iterator[Finding]:
    if opened is None or opened.project.config.language != "python":
        return
    environment = find_environment(opened.project.folder)
    if environment is None:
        yield Finding("Project", "environment", "no .venv in the project; packages of the Python above are used")
    else:
        fits = "" if environment.fits else "it is of another version of Python, so its packages are not used"
        yield Finding("Project", "environment", str(environment.python), fits)


def _tools(tools: Toolchain) -> Iterator[Finding]:
    for name, program in (("Node", tools.node), ("workerd", tools.workerd), ("wrangler", tools.wrangler)):
        if program is None:
            yield Finding("Tools", name, "not found")
            continue
        shown = _wrangler_version(tools, program) if name == "wrangler" else version_of(program)
        yield Finding("Tools", name, f"{shown.removeprefix(name.lower()).strip()} at {program}")
    if tools.newest_date is not None:
        yield Finding("Tools", "newest compatibility date", tools.newest_date)


def _wrangler_version(tools: Toolchain, script: Path) -> str:
    """From its package: starting it takes a second."""
    for place in script.parents:
        package = place / "package.json"
        if package.is_file():
            return str(json.loads(package.read_text(encoding="utf-8")).get("version", "unknown"))
    return version_of(script)


def _runtime(opened: Opened | None, tools: Toolchain) -> Iterator[Finding]:
    if opened is None:
        return
    config = opened.project.config
    if config.language == "python":
        yield Finding("Runtime", "Workflows", "CPython, in the process of Stepwell")
        if not config.bindings:
            return
        what = "bindings"
    else:
        what = "Worker and Workflows"
    try:
        choice = choose_runtime(opened.settings.runtime, [config], tools)
        yield Finding("Runtime", what, f"{choice.runtime}: {choice.reason}", _too_new(config, tools))
    except WorkerLoadError as error:
        yield Finding("Runtime", what, "none", " ".join(str(error).split()))


def _too_new(config: WorkerConfig, tools: Toolchain) -> str:
    date, newest = str(config.raw.get("compatibility_date") or ""), tools.newest_date
    if newest is None or date <= newest:
        return ""
    return f"the compatibility date {date} is newer than the runtime ({newest}): update it with npm"


def _server(opened: Opened | None) -> Iterator[Finding]:
    if opened is None:
        return
    settings = opened.settings
    running = read_running(settings.persist_to)
    if running is not None and _is_listening(running.url):
        yield Finding("Server", "running", f"process {running.pid} at {running.url}")
        return
    address = f"{settings.host}:{settings.port}"
    try:
        bind(settings.host, settings.port).close()
        yield Finding("Server", "port", f"{address} is free")
    except PortInUse as error:
        yield Finding("Server", "port", f"{address} can't be used", str(error))


def _is_listening(url: str) -> bool:
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=1):
            return True
    except OSError:
        return False


def _state(opened: Opened | None) -> Iterator[Finding]:
    if opened is None:
        return
    folder = opened.settings.persist_to
    if os.path.lexists(folder) and not os.path.isdir(folder):
        yield Finding("State", "folder", str(folder), "it is not a folder; choose another one with --persist-to")
        return
    if not os.path.exists(folder):
        yield Finding("State", "folder", f"{folder} (new at the first start)", _not_writable(folder))
        return
    size, problem = _size(folder)
    yield Finding("State", "folder", f"{folder}, {_megabytes(size)}", _not_writable(folder) or problem)
    database = folder / _DATABASE
    if os.path.exists(database):
        facts = inspect_database(database)
        count = "" if facts.instances is None else f", {facts.instances} instances"
        size = os.path.getsize(database)
        yield Finding("State", "database", f"{_megabytes(size)}{count}", facts.problem)
    free = shutil.disk_usage(folder).free
    yield Finding("State", "free space", _megabytes(free), "little space is left" if free < _LITTLE_SPACE else "")


def _not_writable(folder: Path) -> str:
    place = next((place for place in (folder, *folder.parents) if os.path.exists(place)), folder)
    return "" if os.access(place, os.W_OK) else f"{place} can't be written; choose another folder with --persist-to"


def _size(folder: Path) -> tuple[int, str]:
    """The bytes of the files that can be read in a second, and the first folder that can't be read."""
    unreadable: list[str] = []
    size = 0
    ended_by = monotonic_ns() + _MOST_NS
    for place, _, names in os.walk(folder, onerror=lambda error: unreadable.append(str(error.filename))):
        for name in names:
            with contextlib.suppress(OSError):  # a file that is gone meanwhile
                size += os.lstat(os.path.join(place, name)).st_size
        if monotonic_ns() > ended_by:
            break
    return size, f"{unreadable[0]} can't be read" if unreadable else ""


def _megabytes(size: int) -> str:
    return f"{size / 1024 / 1024:.1f} MB" if size < 1024**3 else f"{size / 1024**3:.1f} GB"
