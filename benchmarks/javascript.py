"""Measures JavaScript Workers under Stepwell beside the engines of `wrangler dev` and `workerd serve`, in one run.

\b
    python -m benchmarks.javascript
    python -m benchmarks.javascript --runs 5

Wants Cloudflare's tools: npm ci --prefix fixtures/node. Exits 1 when a figure misses what must hold.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import click
from rich.console import Console

from benchmarks.client import Api, BenchError
from benchmarks.figures import Figure, medians, table
from benchmarks.processes import ENVIRONMENT, STEPWELL, seconds_since
from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.testing.contract.processes import free_port

ROOT: Final = Path(__file__).resolve().parents[1]
_PROJECT: Final = ROOT / "fixtures" / "workers" / "bench-javascript"
MODULES: Final = ROOT / "fixtures" / "node" / "node_modules"
_GIVE_UP_S: Final = 60
_STEPS: Final = 1_000
_SMALL: Final = 100
_ROUNDS: Final = 3

COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "stepwell": (*STEPWELL, "dev", "--no-reload", "--port", "{port}"),
    "workerd": ("workerd", "serve", "--experimental", "-s", "http=127.0.0.1:{port}", "wrangler.jsonc"),
    "wrangler": ("wrangler", "dev", "--ip", "127.0.0.1", "--port", "{port}", "--inspector-port", "0"),
}


@dataclass
class Engine:
    """One of the servers, on a project folder of its own."""

    port: int
    process: subprocess.Popen[bytes]
    ready_s: float

    @staticmethod
    async def start(name: str, folder: Path) -> Engine:
        project = folder / name
        shutil.copytree(_PROJECT, project, ignore=shutil.ignore_patterns(".*"))
        (project / "node_modules").symlink_to(MODULES)
        port, began = free_port(), monotonic_ns()
        command = [part.replace("{port}", str(port)) for part in COMMANDS[name]]
        engine = Engine(port, spawn(command, project), 0)
        await engine._until_it_answers(project / "log.txt", began)
        engine.ready_s = seconds_since(began)
        return engine

    async def _until_it_answers(self, log: Path, began: int) -> None:
        while True:
            try:
                return await Api(self.port).health()
            except (OSError, asyncio.IncompleteReadError):
                if self.process.poll() is not None or seconds_since(began) > _GIVE_UP_S:
                    raise BenchError(f"it does not answer:\n{_end_of(log)}") from None
            await asyncio.sleep(0.005)

    async def steps_per_s(self, count: int = _STEPS) -> float:
        """Trivial steps one after another, by the clock of the Worker."""
        api = Api(self.port)
        output = (await api.until_complete(await api.create(n=count), every_ms=50))["output"]
        api.close()
        return count / max(output["end"] - output["began"], 1) * 1000

    async def small_ms(self, count: int = _SMALL) -> float:
        """From create to complete of an instance of one step, one instance after another."""
        api, began = Api(self.port), monotonic_ns()
        for _ in range(count):
            await api.until_complete(await api.create(n=1), every_ms=1)
        api.close()
        return seconds_since(began) * 1000 / count

    def close(self) -> None:
        kill(self.process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it started."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def spawn(command: Sequence[str], project: Path) -> subprocess.Popen[bytes]:
    """In a group of its own, with Cloudflare's tools on its path; what it says goes into log.txt."""
    path = f"{MODULES / '.bin'}{os.pathsep}{os.environ['PATH']}"
    with (project / "log.txt").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=project,
            env={**ENVIRONMENT, "PATH": path, "CI": "1", "WRANGLER_SEND_METRICS": "false"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _end_of(log: Path) -> str:
    return log.read_text()[-2000:]


async def _by_turns(
    engines: Mapping[str, Engine], measure: Callable[[Engine], Awaitable[float]]
) -> Mapping[str, float]:
    """The median of some rounds in which each has its turn: what else the machine does comes to all of them."""
    rounds = [{name: await measure(engine) for name, engine in engines.items()} for _ in range(_ROUNDS)]
    return {name: median(one[name] for one in rounds) for name in engines}


async def measured(folder: Path) -> list[Figure]:
    """All figures of one run: the engines start first, then each measures each."""
    engines: dict[str, Engine] = {}
    try:
        for name in COMMANDS:
            engines[name] = await Engine.start(name, folder)
        for engine in engines.values():
            await engine.steps_per_s(200)  # all code is compiled from here on
        rates = await _by_turns(engines, Engine.steps_per_s)
        small = await _by_turns(engines, Engine.small_ms)
    finally:
        for engine in engines.values():
            engine.close()
    ours, name = rates["stepwell"], "1,000 steps one after another"
    return [
        Figure(f"{name}, beside wrangler", ours, "/s", rates["wrangler"], "wrangler dev", "ratio at least", 4, 8),
        Figure(f"{name}, beside workerd", ours, "/s", rates["workerd"], "workerd serve", "ratio at least", 2, 4),
        *(
            Figure(
                f"create to complete, beside {other}",
                small["stepwell"],
                "ms",
                small[other],
                other,
                "ratio at most",
                1,
                0.5,
            )
            for other in ("wrangler", "workerd")
        ),
        Figure("Ready", engines["stepwell"].ready_s, "s", engines["workerd"].ready_s, "workerd", "at most", 1, 0.5),
    ]


@click.command(help=__doc__)
@click.option("--runs", default=1, show_default=True, help="runs of which to show the medians")
def main(runs: int) -> None:
    taken = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="stepwell-bench-", ignore_cleanup_errors=True) as folder:
            taken.append(asyncio.run(measured(Path(folder))))
    figures = medians(taken)
    title = f"medians of {runs}; load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores"
    Console(width=150).print(table(figures, title))
    sys.exit(1 if any(figure.verdict == "misses" for figure in figures) else 0)


if __name__ == "__main__":
    main()
