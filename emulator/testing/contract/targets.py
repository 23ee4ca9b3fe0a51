"""What `stepwell contract --target NAME` starts on the scripted Worker: our own server or one of Cloudflare's."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from stepwell.emulator.clock import Clock
from stepwell.emulator.testing.contract.processes import Command, Servers, TargetError, free_port
from stepwell.emulator.testing.contract.run import Wanted

#: Targets that the runner starts itself; any other target is a base URL.
StartedTarget: TypeAlias = Literal["python", "javascript", "wrangler", "workerd"]
STARTED_TARGETS: tuple[StartedTarget, ...] = ("python", "javascript", "wrangler", "workerd")

#: What to start, and on which ports: pure of processes, but it copies the Worker into the second folder.
_Starter: TypeAlias = Callable[[Path, Path], list[tuple[Command, int]]]

_PROFILES: Mapping[Wanted, str] = {"default": ".", "preserve": "preserve", "replace": "replace"}

#: Our own server is started three times more: without documented limits, with all of them, and with a clock that
#: is moved by weeks. There, finished instances go when their retention is over, as on Cloudflare, and by default
#: after workerd's 30 days.
_MORE_SERVERS: Mapping[Wanted, Mapping[str, str]] = {
    "lax": {"STEPWELL_LIMITS_PROFILE": "off"},
    "documented": {"STEPWELL_COMPAT_ENFORCE_DOCUMENTED_LIMITS": "on"},
    "clock": {
        "STEPWELL_ENFORCE_RETENTION": "on",
        "STEPWELL_LIMITS": "retention_success_ms=2592000000,retention_error_ms=2592000000",
    },
}
_STEPWELL = "from stepwell.emulator.cli.main import main; main()"
_INSTALL = "npm install --no-save wrangler workerd"


@asynccontextmanager
async def started(target: StartedTarget, suite: Path, clock: Clock) -> AsyncIterator[Mapping[Wanted, str]]:
    """The base URLs of a target's deployments, which are there until the context ends.

    Works on a copy of the Worker in a temporary folder. Raises `TargetError`.
    """
    with tempfile.TemporaryDirectory(prefix="stepwell-contract-", ignore_cleanup_errors=True) as folder:
        servers = Servers(clock, Path(folder))
        try:
            urls = await _start(target, suite, Path(folder), servers)
            yield urls
        finally:
            await servers.stop()


async def _start(target: StartedTarget, suite: Path, folder: Path, servers: Servers) -> Mapping[Wanted, str]:
    commands = _STARTERS[target](suite, folder)
    for command, port in commands:
        servers.start(command, port)
    await servers.ready()
    wanted: tuple[Wanted, ...] = (*_PROFILES, *_MORE_SERVERS)
    return {name: servers.urls[name] for name in wanted if name in servers.urls}


# -- our own server ------------------------------------------------------------------------------------------


def _stepwell(worker: str) -> _Starter:
    def commands(suite: Path, folder: Path) -> list[tuple[Command, int]]:
        args = [sys.executable, "-c", _STEPWELL, "dev", ".", "--port", "{port}", "--no-reload"]
        servers: list[tuple[Wanted, str, Mapping[str, str]]] = [
            *((name, sub, {}) for name, sub in _PROFILES.items()),
            *((name, ".", env) for name, env in _MORE_SERVERS.items()),
        ]
        return [
            (Command(name, args, _copy(suite / worker, folder / name) / sub, env), free_port())
            for name, sub, env in servers
        ]

    return commands


# -- Cloudflare's own engines --------------------------------------------------------------------------------


def _wrangler(suite: Path, folder: Path) -> list[tuple[Command, int]]:
    program, env = _node_program("wrangler")
    out = []
    for name, sub in _PROFILES.items():
        inspector = ["--inspector-port", str(free_port())]
        args = [program, "dev", "--port", "{port}", "--ip", "127.0.0.1", *inspector]
        at = _copy(suite / "worker-js", folder / name, node_modules=_node_modules_of(program)) / sub
        out.append((Command(name, args, at, env), free_port()))
    return out


def _workerd(suite: Path, folder: Path) -> list[tuple[Command, int]]:
    program, env = _node_program("workerd")
    _allow_many_files()
    serve = [program, "serve", "--experimental"]
    modules = _node_modules_of(program)
    out = []
    for name, sub in _PROFILES.items():
        args = [*serve, "-s", "http=127.0.0.1:{port}", "wrangler.jsonc"]
        at = _copy(suite / "worker-js", folder / name, node_modules=modules) / sub
        out.append((Command(name, args, at, env), free_port()))
    return [*out, _workerd_with_clock(suite, folder, serve, env)]


def _workerd_with_clock(
    suite: Path, folder: Path, serve: Sequence[str], env: Mapping[str, str]
) -> tuple[Command, int]:
    at = _copy(suite / "worker-js", folder / "clock")
    state = at / "state"
    state.mkdir()
    port = free_port()
    config = (suite / "engines" / "clock.capnp").read_text(encoding="utf-8")
    config = config.replace("@PORT@", str(port)).replace("@STATE@", state.as_posix())
    (at / "clock.capnp").write_text(config, encoding="utf-8")
    return Command("clock", [*serve, "clock.capnp"], at, env), port


def _node_program(name: str) -> tuple[str, Mapping[str, str]]:
    """The path of an npm program, and the environment in which the programs beside it are found first."""
    folders = [parent / "node_modules" / ".bin" for parent in (Path.cwd(), *Path.cwd().parents)]
    path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")])
    found = shutil.which(name, path=path)
    if found is None:
        raise TargetError(
            f"{name} is neither in node_modules nor on PATH. Install it with `{_INSTALL}` and run this again there."
        )
    env = {"PATH": os.pathsep.join([str(Path(found).parent), path]), "WRANGLER_SEND_METRICS": "false", "CI": "1"}
    return found, env


def _node_modules_of(program: str) -> Path | None:
    folder = Path(program).parent.parent
    return folder if folder.name == "node_modules" else None


def _copy(worker: Path, to: Path, node_modules: Path | None = None) -> Path:
    if not worker.is_dir():
        raise TargetError(f"The suite has no {worker.name} folder: {worker} is missing.")
    shutil.copytree(worker, to, ignore=shutil.ignore_patterns(".stepwell", ".wrangler", "node_modules"))
    if node_modules is not None:
        (to / "node_modules").symlink_to(node_modules, target_is_directory=True)
    return to


def _allow_many_files() -> None:
    """workerd keeps the database of each instance open; processes we start inherit the limit."""
    if os.name != "nt":
        resource = importlib.import_module("resource")
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


_STARTERS: Mapping[StartedTarget, _Starter] = {
    "python": _stepwell("worker-python"),
    "javascript": _stepwell("worker-js"),
    "wrangler": _wrangler,
    "workerd": _workerd,
}
