"""The project's own `wrangler dev` on our entry: for what `workerd serve` does not know."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from stepwell.emulator.config import dotenv
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.private_files import PRIVATE_UMASK, write_private
from stepwell.emulator.worker.workerd.child import Child
from stepwell.emulator.worker.workerd.config import DATA_FOLDER, EngineAddress, WorkerPart, setup_values
from stepwell.emulator.worker.workerd.launch import (
    RuntimeEndpoints,
    RuntimeFailed,
    crash_text,
    in_endless_loop,
)
from stepwell.emulator.worker.workerd.run_key import RunKey
from stepwell.emulator.worker.workerd.toolchain import Toolchain

#: The name that wrangler reads the secrets of a configuration from, in the same folder.
_SECRETS_FILE: Final = ".dev.vars"
_READY: Final = re.compile(r"Ready on https?://[^:\s]+:(\d+)")
#: CPU time for wrangler's own start, for bundling, and for the top level of all modules.
_STARTUP_CPU_S: Final = 60.0
#: The header that tells our router which Worker is meant.
WORKER_HEADER: Final = "Stepwell-Worker"
# Written anew below, or without meaning for one environment that is chosen already.
_REPLACED: Final = frozenset({"$schema", "name", "main", "env", "workflows", "vars", "secrets", "dev", "build"})
_PATHS: Final = ("tsconfig", "base_dir")
_ROUTER: Final = f"""\
// Written by Stepwell: one port for all Workers of the run.
export default {{
  fetch(request, env) {{
    const name = request.headers.get("{WORKER_HEADER}");
    const passed = new Request(request);
    passed.headers.delete("{WORKER_HEADER}");
    return env[name].fetch(passed);
  }},
}};
"""


@dataclass(frozen=True, slots=True)
class WranglerLauncher:
    """`wrangler dev` on generated configurations, the first of which takes the requests."""

    command: Sequence[str]
    cwd: Path
    workers: Sequence[str]
    key: RunKey
    routed: bool
    is_inspected: bool = False

    def ending(self, reason: str, runs: int) -> str:
        return crash_text(reason, runs)

    async def launch(self, on_line: Callable[[str], None]) -> tuple[Child, dict[str, RuntimeEndpoints]]:
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        chatter = Chatter()

        def read(line: str) -> None:
            is_chatter, text = chatter.includes(line), plain(line)
            match = _READY.search(text)
            if match is not None and not port.done():
                port.set_result(int(match[1]))
            elif text and not is_chatter:
                on_line(text)

        env = {"WRANGLER_SEND_METRICS": "false", "CI": "1", "NO_COLOR": "1", "FORCE_COLOR": "0"}
        env["CLOUDFLARE_CF_FETCH_ENABLED"] = "false"
        # Not the port that debuggers know: that is ours, and each process has one of its own.
        inspector = _free_port() if self.is_inspected else None
        command = [*self.command, f"--inspector-port={inspector or 0}"]
        child = await Child.start(command, cwd=self.cwd, on_line=read, env=env, umask=PRIVATE_UMASK)
        loops = await in_endless_loop(child, port, _STARTUP_CPU_S)
        if not port.done():
            port.cancel()
            await child.stop()
            raise RuntimeFailed(loops or "wrangler dev ended while it started")
        return child, {name: self._doors(name, port.result(), inspector) for name in self.workers}

    def _doors(self, worker: str, port: int, inspector: int | None) -> RuntimeEndpoints:
        headers = {WORKER_HEADER: worker} if self.routed else {}
        return RuntimeEndpoints(port, port, self.key, headers, inspector)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def plain(line: str) -> str:
    return _ESCAPES.sub("", line).strip()


# What wrangler says about itself at every start; a clean run shows the user's own output only.
_CHATTER: Final = re.compile(
    r"⛅|^─+$|^╭|^│|^╰|^⎔|^▲ \[WARNING\] Using `vars`|"
    r"^\[wrangler:info?\]|^Using (vars|secrets) defined in |"
    r"^Service bindings, Durable Object bindings, and Tail consumers connect|"
    r"^Your Worker and resources are simulated locally via Miniflare|^wrangler\.json changed\.\.\.$|"
    r"^Cloudflare collects anonymous telemetry about your usage of Wrangler\.|"
    # A pass's socket that was closed; what a handler throws is told with its stack.
    r"^(✘ \[ERROR\] )?Uncaught (\(in promise\) )?Error: Network connection lost\.$"
)
_BINDINGS: Final = re.compile(r"^(Your [Ww]orker|\S+) has access to the following bindings:?$")
_IN_BINDINGS: Final = re.compile(r"^(- [\w .]+:$|  - |Binding +Resource|env\.)")


class Chatter:
    """Knows wrangler's own lines. Those before version 4.20 list the bindings over several lines."""

    def __init__(self) -> None:
        self._lists_bindings = False
        self._in_object = False

    def includes(self, line: str) -> bool:
        """Whether the next line of output is wrangler's own."""
        text = plain(line)
        if self._in_object:
            self._in_object = line[:1] not in "}]"
            return True
        if _BINDINGS.search(text):
            self._lists_bindings = True
            return True
        if self._lists_bindings and _IN_BINDINGS.search(_ESCAPES.sub("", line)):
            self._in_object = text.endswith(("{", "["))
            return True
        self._lists_bindings = False
        return _CHATTER.search(text) is not None


def wrangler_launcher(
    parts: Sequence[WorkerPart],
    engine: EngineAddress,
    key: RunKey,
    state: Path,
    tools: Toolchain,
    *,
    is_inspected: bool,
) -> WranglerLauncher:
    """Writes the configurations, and gives what starts wrangler on them."""
    folder = state / "generated"
    files = [_write_worker(part, engine, folder) for part in parts]
    routed = len(parts) > 1
    if routed:
        files.insert(0, _write_router(parts, folder))
    command = [
        *_program(tools),
        "dev",
        *(argument for file in files for argument in ("-c", str(file))),
        "--port=0",
        "--ip=127.0.0.1",
        f"--persist-to={state / DATA_FOLDER}",
        "--show-interactive-dev-session=false",
    ]
    names = [part.config.name for part in parts]
    return WranglerLauncher(command, parts[0].config.folder, names, key, routed, is_inspected)


def _program(tools: Toolchain) -> list[str]:
    assert tools.wrangler is not None
    is_script = tools.wrangler.suffix in (".js", ".mjs", ".cjs")
    return [str(tools.node), str(tools.wrangler)] if is_script else [str(tools.wrangler)]


def _write_worker(part: WorkerPart, engine: EngineAddress, folder: Path) -> Path:
    config = part.config
    place = folder / config.name
    file = place / "wrangler.json"
    write_private(file, json.dumps(wrangler_config(part, place / "entry.mjs"), indent=2))
    write_private(place / _SECRETS_FILE, secrets_file(part, engine))
    return file


def secrets_file(part: WorkerPart, engine: EngineAddress) -> str:
    """The text of the file that gives wrangler the Worker's secrets, whose values it never prints.

    What the syntax of such a file cannot express goes with what our entry is told, which takes it from there.
    """
    lines, others = [], {}
    for name, value in part.secrets.items():
        line = dotenv.line_of(name, value)
        if line is None:
            others[name] = value
        else:
            lines.append(line)
    told = {**setup_values(part.config, engine.token, f"http://127.0.0.1:{engine.port}"), "secrets": others}
    return "\n".join([*lines, f"__STEPWELL={quote(json.dumps(told))}", ""])


def wrangler_config(part: WorkerPart, entry: Path) -> dict[str, Any]:
    """The project's configuration with our entry, without Workflows, and with paths that hold elsewhere too."""
    config = part.config
    made: dict[str, Any] = {key: value for key, value in config.raw.items() if key not in _REPLACED}
    made.update(
        name=config.name,
        main=str(entry),
        compatibility_date=config.compatibility_date,
        vars={name: value for name, value in part.variables.items() if name not in part.secrets},
    )
    if exports := _other_exports(config):
        made["exports"] = exports
    else:
        made.pop("exports", None)
    for key in _PATHS:
        if isinstance(made.get(key), str):
            made[key] = str(config.folder / made[key])
    _absolute(made, config.folder)
    return made


def _other_exports(config: WorkerConfig) -> dict[str, object]:
    exports = config.raw.get("exports")
    entries = exports.items() if isinstance(exports, Mapping) else ()
    return {name: e for name, e in entries if isinstance(e, Mapping) and e.get("type") != "workflow"}


def _absolute(made: dict[str, Any], folder: Path) -> None:
    """Paths inside of settings, resolved against the project's folder."""
    if isinstance(assets := made.get("assets"), Mapping) and "directory" in assets:
        made["assets"] = {**assets, "directory": str(folder / assets["directory"])}
    if isinstance(alias := made.get("alias"), Mapping):
        made["alias"] = {k: str(folder / v) if v.startswith(".") else v for k, v in alias.items()}
    if databases := made.get("d1_databases"):
        made["d1_databases"] = [_with_migrations(entry, folder) for entry in databases]


def _with_migrations(database: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    return {**database, "migrations_dir": str(folder / database.get("migrations_dir", "migrations"))}


def _write_router(parts: Sequence[WorkerPart], folder: Path) -> Path:
    names = [part.config.name for part in parts]
    place = folder / "stepwell-router"
    write_private(place / "router.mjs", _ROUTER)
    config = {
        "name": "stepwell-router",
        "main": "router.mjs",
        "compatibility_date": "2026-01-01",
        "services": [{"binding": name, "service": name} for name in names],
    }
    file = place / "wrangler.json"
    write_private(file, json.dumps(config, indent=2))
    return file
