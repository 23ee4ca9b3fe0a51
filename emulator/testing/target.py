"""`--workflow-target`: another engine that runs a user's tests, so that they double as a contract test.

stepwell      the test's own engine, with everything (the default)
wrangler      `wrangler dev` of the test's project, from its node_modules or from PATH
workerd       `workerd serve` of the project: it has no API for Workflows, so only the Worker can be asked
http://...    a server that runs already: `stepwell dev` or `wrangler dev`
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from stepwell.emulator.clock import SystemClock, breathe_in_thread

CONFIGS: Final = ("wrangler.jsonc", "wrangler.json", "wrangler.toml")
OWN_ENGINE: Final = "stepwell"
#: Where the servers of `stepwell dev` and `wrangler dev` answer for their Workflows.
API: Final = "/cdn-cgi/local/explorer/api"
_READY_MS: Final = 60_000
_LOG_CHARS: Final = 2_000


class TargetError(Exception):
    """The target cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """An engine that answers at a URL."""

    name: str
    url: str
    has_api: bool


class TargetServer:
    """The target of a test session: found or started when the first test needs it, and stopped at the end."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self._started: dict[Path, Target] = {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def of(self, project: Path | None) -> Target:
        """The target for a project. Raises `TargetError` when there is none."""
        if self.wanted.startswith(("http://", "https://")):
            return Target(self.wanted, self.wanted.rstrip("/"), has_api=True)
        if self.wanted not in ("wrangler", "workerd"):
            raise TargetError(f'Unknown target "{self.wanted}"; expected {OWN_ENGINE}, wrangler, workerd or a URL')
        if project is None:
            raise TargetError(f"{self.wanted} runs a project, and this test has none")
        folder = project.parent if project.is_file() else project
        if folder not in self._started:
            self._started[folder] = self._start(folder)
        return self._started[folder]

    def _start(self, folder: Path) -> Target:
        port = _free_port()
        command = self._wrangler(folder, port) if self.wanted == "wrangler" else self._workerd(folder, port)
        log = self._state() / f"{port}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, "CI": "1", "WRANGLER_SEND_METRICS": "false", "PATH": _path(folder)},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self._processes.append(process)
        target = Target(self.wanted, f"http://127.0.0.1:{port}", has_api=self.wanted == "wrangler")
        _wait_for(target, process, log)
        return target

    def _wrangler(self, folder: Path, port: int) -> list[str]:
        state = ["--persist-to", str(self._state() / str(port))]
        ports = ["--port", str(port), "--inspector-port", str(_free_port())]
        return [_program("wrangler", folder), "dev", "--ip", "127.0.0.1", *ports, *state]

    def _workerd(self, folder: Path, port: int) -> list[str]:
        config = next((name for name in CONFIGS if (folder / name).is_file()), CONFIGS[0])
        return [_program("workerd", folder), "serve", "--experimental", "-s", f"http=127.0.0.1:{port}", config]

    def _state(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="stepwell-target-", ignore_cleanup_errors=True)
        return Path(self._folder.name)

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        if self._folder is not None:
            self._folder.cleanup()


def _path(folder: Path) -> str:
    """PATH with the programs of the project's node_modules first."""
    bins = [str(parent / "node_modules" / ".bin") for parent in (folder, *folder.parents, Path.cwd())]
    return os.pathsep.join([*bins, os.environ.get("PATH", "")])


def _program(name: str, folder: Path) -> str:
    found = shutil.which(name, path=_path(folder))
    if found is None:
        raise TargetError(f"{name} is neither in the project's node_modules nor on PATH: npm install {name}")
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(target: Target, process: subprocess.Popen[bytes], log: Path) -> None:
    clock = SystemClock()
    until = clock.now() + _READY_MS
    url = f"{target.url}{API}/workflows" if target.has_api else target.url
    while clock.now() < until and process.poll() is None:
        with suppress(httpx.HTTPError):
            httpx.get(url, timeout=2, trust_env=False)
            return
        breathe_in_thread()
    said = log.read_text(encoding="utf-8", errors="replace")[-_LOG_CHARS:]
    raise TargetError(f"{target.name} did not start. It said:\n{said}")
