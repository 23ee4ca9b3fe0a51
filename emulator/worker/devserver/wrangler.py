"""The project's own `wrangler dev`, started by `stepwell dev` for what `workerd serve` does not know."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.private_files import PRIVATE_UMASK, write_private
from stepwell.emulator.worker.devserver.environment import Session, command_environment, session_file
from stepwell.emulator.worker.devserver.registrations import HostedWorker, Registrations
from stepwell.emulator.worker.workerd.calls import Calls
from stepwell.emulator.worker.workerd.child import Child
from stepwell.emulator.worker.workerd.config import DATA_FOLDER, WorkerPart
from stepwell.emulator.worker.workerd.front_door import CF
from stepwell.emulator.worker.workerd.launch import RuntimeEndpoints, RuntimeFailed, crash_text, in_endless_loop
from stepwell.emulator.worker.workerd.toolchain import Toolchain

#: CPU time for wrangler's own start, for bundling, and for the top level of all modules.
_STARTUP_CPU_S: Final = 60.0
#: How long wrangler may say more after an error at its start, since it does not end by itself.
_LAST_WORDS_S: Final = 1.0
#: The header in which Miniflare's sockets take what Cloudflare knows of a request.
_CF_HEADER: Final = "MF-CF-Blob"
#: For wrangler: without questions, colours, a look at the network, or words about its telemetry.
_ENVIRONMENT: Final = {
    "WRANGLER_SEND_METRICS": "false",
    "CI": "1",
    "NO_COLOR": "1",
    "FORCE_COLOR": "0",
    "CLOUDFLARE_CF_FETCH_ENABLED": "false",
}
# Left out of a configuration that we write: what Stepwell sets, and what one environment does not need.
_LEFT_OUT: Final = frozenset({"$schema", "name", "main", "env", "vars", "secrets", "dev", "build"})
_PATHS: Final = ("tsconfig", "base_dir")


@dataclass(frozen=True, slots=True)
class WranglerLauncher:
    """`wrangler dev` with the preload, on the projects' own files. A process keeps the code that it began with."""

    command: Sequence[str]
    cwd: Path
    parts: Sequence[WorkerPart]
    folder: Path
    calls: Calls
    registrations: Registrations
    is_inspected: bool = False

    def ending(self, reason: str, runs: int) -> str:
        return crash_text(reason, runs)

    async def launch(self, on_line: Callable[[str], None]) -> tuple[Child, dict[str, RuntimeEndpoints]]:
        launch = secrets.token_hex(8)
        env = {**_ENVIRONMENT, **command_environment(self._write_session(launch), os.environ)}
        # Not the port that debuggers know: that is ours, and each process has one of its own.
        inspector = _free_port() if self.is_inspected else None
        output = Output(on_line)
        child = await Child.start(
            [*self.command, f"--inspector-port={inspector or 0}"],
            cwd=self.cwd,
            on_line=output.read,
            env=env,
            umask=PRIVATE_UMASK,
        )
        announced = asyncio.ensure_future(self.registrations.of(launch))
        ready = asyncio.ensure_future(_start(announced, output.failed))
        try:
            loops = await in_endless_loop(child, ready, _STARTUP_CPU_S)
            if not announced.done():
                raise RuntimeFailed(loops or output.started_with or "wrangler dev ended while it started")
        except BaseException:
            await child.stop()
            raise
        finally:
            ready.cancel()
            announced.cancel()
        output.started()
        workers = announced.result().workers
        return child, {name: self._endpoints(worker, inspector) for name, worker in workers.items()}

    def _write_session(self, launch: str) -> Path:
        session = Session(session_file(self.folder / launch), self.calls.port, self.calls.token)
        session.write(
            launch=launch,
            workers={part.config.name: {"variables": dict(part.variables)} for part in self.parts},
            keepsCode=True,
            console="tagged",
            introspects=False,
        )
        return session.file

    def _endpoints(self, worker: HostedWorker, inspector: int | None) -> RuntimeEndpoints:
        assert worker.runs is not None
        return RuntimeEndpoints(worker.http, worker.runs, self.calls.key, {_CF_HEADER: CF}, inspector)


async def _start(announced: asyncio.Future[Any], failed: asyncio.Future[None]) -> None:
    """Returns when the Workers run, or when nothing more is said after an error."""
    await asyncio.wait([announced, failed], return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait([announced], timeout=_LAST_WORDS_S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_ERROR: Final = re.compile(r"^✘ \[ERROR\] ")
#: Wrangler's last line before the user's code runs.
_STARTING: Final = re.compile(r"^⎔ Starting local server")
# What wrangler says about itself while the code runs, and of a pass's socket that was closed.
_OWN: Final = re.compile(
    r"^⎔ |^\[wrangler:info?\] |^wrangler\.\w+ changed\.\.\.$|^🪵 |^If you think this is a bug then please |"
    r"^(✘ \[ERROR\] )?Uncaught (\(in promise\) )?Error: Network connection lost\.$"
)


class Output:
    """wrangler's output by line: what it says of its own start is kept for the case that it fails."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._own: list[str] | None = []
        self._runs = False
        #: Ends at the first error that is printed during the start.
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def started_with(self) -> str:
        """What was printed until now, from the first error on where there is one."""
        own = self._own or []
        first = next((n for n, line in enumerate(own) if _ERROR.match(line)), 0)
        return "\n".join(own[first:]).strip()

    def started(self) -> None:
        """The Workers have been announced: what is printed from now on is the user's."""
        self._own = None

    def read(self, line: str) -> None:
        text = _ESCAPES.sub("", line).rstrip()
        if self._own is not None:
            self._own.append(text)
            if _ERROR.match(text) and not self.failed.done():
                self.failed.set_result(None)
        if self._runs and text and not _OWN.search(text.strip()):
            self._on_line(text.strip())
        self._runs = self._runs or self._own is None or _STARTING.match(text) is not None


def wrangler_launcher(
    parts: Sequence[WorkerPart],
    calls: Calls,
    registrations: Registrations,
    state: Path,
    tools: Toolchain,
    *,
    is_inspected: bool,
) -> WranglerLauncher:
    """What starts wrangler on the configurations of the Workers; those without a file of their own are written."""
    folder = state / "generated"
    files = [part.file or _write_config(part.config, folder / part.config.name) for part in parts]
    command = [
        *_program(tools),
        "dev",
        *(argument for file in files for argument in ("-c", str(file))),
        *(
            f"--env={environment}"
            for environment in {part.config.environment for part in parts if part.file}
            if environment
        ),
        "--port=0",
        "--ip=127.0.0.1",
        f"--persist-to={state / DATA_FOLDER}",
        "--show-interactive-dev-session=false",
    ]
    return WranglerLauncher(command, parts[0].config.folder, parts, folder, calls, registrations, is_inspected)


def _program(tools: Toolchain) -> list[str]:
    assert tools.wrangler is not None
    is_script = tools.wrangler.suffix in (".js", ".mjs", ".cjs")
    return [str(tools.node), str(tools.wrangler)] if is_script else [str(tools.wrangler)]


def _write_config(config: WorkerConfig, folder: Path) -> Path:
    file = folder / "wrangler.json"
    write_private(file, json.dumps(wrangler_config(config), indent=2))
    return file


def wrangler_config(config: WorkerConfig) -> dict[str, Any]:
    """A configuration as it was read, with paths that hold elsewhere too."""
    written: dict[str, Any] = {key: value for key, value in config.raw.items() if key not in _LEFT_OUT}
    written.update(name=config.name, main=str(config.main), compatibility_date=config.compatibility_date)
    for key in _PATHS:
        if isinstance(written.get(key), str):
            written[key] = str(config.folder / written[key])
    _absolute(written, config.folder)
    return written


def _absolute(written: dict[str, Any], folder: Path) -> None:
    """Paths inside of settings, resolved against the project's folder."""
    if isinstance(assets := written.get("assets"), Mapping) and "directory" in assets:
        written["assets"] = {**assets, "directory": str(folder / assets["directory"])}
    if isinstance(alias := written.get("alias"), Mapping):
        written["alias"] = {k: str(folder / v) if v.startswith(".") else v for k, v in alias.items()}
    if databases := written.get("d1_databases"):
        written["d1_databases"] = [_with_migrations(entry, folder) for entry in databases]


def _with_migrations(database: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    return {**database, "migrations_dir": str(folder / database.get("migrations_dir", "migrations"))}
