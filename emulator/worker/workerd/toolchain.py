"""The project's own Cloudflare tools: workerd, wrangler and esbuild from its node_modules, else from PATH."""

from __future__ import annotations

import json
import mmap
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from stepwell.emulator.worker.host import WorkerLoadError

_ARCHITECTURES: Final = {"x86_64": "64", "amd64": "64", "aarch64": "arm64", "arm64": "arm64"}
_SYSTEMS: Final = {"linux": "linux", "darwin": "darwin", "windows": "windows"}
#: The Workers that `workerd` brings for KV, D1 and queues; the schema beside it names them when it has them.
_BUNDLED: Final = "/workerd/kv.js"
_STRUCTURED: Final = "structuredLogging"
_NPM_VERSION: Final = re.compile(r"^1\.(\d{4})(\d\d)(\d\d)\.")
_PRINTED_VERSION: Final = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
#: How the scripts that package managers write on PATH name what they run.
_SHIM: Final = re.compile(rb"\$basedir/([^\s\"']*node_modules/[^\s\"']+)")
_SHIM_BYTES: Final = 4_096


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What was found; None for what was not. `bundled`: workerd brings Workers that hold KV, D1 and queues.

    `structured_logs`: it can log as JSON. `newest_date`: the newest compatibility date that it
    knows, if that is known. `miniflare` is the folder of wrangler's simulator.
    """

    workerd: Path | None
    wrangler: Path | None
    esbuild: Path | None
    node: Path | None
    bundled: bool = False
    structured_logs: bool = True
    newest_date: str | None = None
    miniflare: Path | None = None


def find_toolchain(folder: Path) -> Toolchain:
    """The tools for a project, looked for in `node_modules` of the folder and of those above, then on PATH."""
    workerd = _native(folder, "workerd", "@cloudflare/workerd-{system}-{cpu}")
    facts = _facts(_package(folder, "workerd"), workerd)
    return Toolchain(
        workerd=workerd,
        wrangler=_wrangler(folder),
        esbuild=_native(folder, "esbuild", "@esbuild/{system}-{esbuild_cpu}"),
        node=_program(folder, "node"),
        bundled=facts.bundled,
        structured_logs=facts.structured_logs,
        newest_date=facts.newest_date,
        miniflare=_package(folder, "miniflare"),
    )


def missing(worker: str, what: str, package: str = "wrangler") -> WorkerLoadError:
    """The error for a tool that is needed and not there, with the one command that installs it."""
    return WorkerLoadError(
        f'The Worker "{worker}" needs {what}. It was not found in node_modules of the project or above it, '
        f"nor on PATH. Install it in the project with:\n\n"
        f"    npm install --save-dev {package}"
    )


def version_of(program: Path) -> str:
    """What `--version` says, or "unknown"."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"


def _above(folder: Path) -> Iterator[Path]:
    for place in (folder, *folder.parents):
        modules = place / "node_modules"
        if modules.is_dir():
            yield modules


def _on_path(name: str) -> Iterator[Path]:
    """The `node_modules` that a program on PATH comes from: npm links it there, pnpm writes a script beside it."""
    found = shutil.which(name)
    if found is None:
        return
    program = Path(found).resolve()
    if (match := _SHIM.search(_start_of(program))) is not None:
        program = (program.parent / match[1].decode(errors="replace")).resolve()
    yield from (place for place in program.parents if place.name == "node_modules")


def _start_of(program: Path) -> bytes:
    """The text of a script; nothing of a program."""
    try:
        with program.open("rb") as file:
            head = file.read(_SHIM_BYTES)
    except OSError:
        return b""
    return head if head.startswith(b"#!") else b""


def _package(folder: Path, name: str) -> Path | None:
    """The folder of an npm package: the project's, that beside its wrangler (as pnpm does), or that of PATH."""
    for modules in (*_above(folder), *_on_path("wrangler"), *_on_path(name)):
        wrangler = (modules / "wrangler").resolve()
        for place in (modules / name, wrangler / "node_modules" / name, wrangler.parent / name):
            if (place / "package.json").is_file():
                return place.resolve()
    return None


def _native(folder: Path, name: str, platform_package: str) -> Path | None:
    """The executable of a package that has one package per platform beside it; its script costs Node's start."""
    package = _package(folder, name)
    if package is not None:
        own = platform_package.format(**_platform())
        for place in (package.parent / own, package / "node_modules" / own):
            binary = place / "bin" / name
            if binary.is_file():
                return binary
        script = package / "bin" / name
        if script.is_file():
            return script
    return _program(folder, name)


def _platform() -> dict[str, str]:
    cpu = _ARCHITECTURES.get(platform.machine().lower(), platform.machine().lower())
    system = platform.system().lower()
    return {"system": _SYSTEMS.get(system, system), "cpu": cpu, "esbuild_cpu": "x64" if cpu == "64" else cpu}


def _program(folder: Path, name: str) -> Path | None:
    for modules in _above(folder):
        program = modules / ".bin" / name
        if program.exists():
            return program
    found = shutil.which(name)
    return Path(found) if found else None


def _wrangler(folder: Path) -> Path | None:
    """The script that Node runs, or a program of that name on PATH."""
    package = _package(folder, "wrangler")
    if package is not None:
        bins = json.loads((package / "package.json").read_text()).get("bin", {})
        script = bins.get("wrangler") if isinstance(bins, dict) else bins
        if isinstance(script, str):
            return package / script
    found = shutil.which("wrangler")
    return Path(found) if found else None


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a workerd can do, as in `Toolchain`."""

    bundled: bool = False
    structured_logs: bool = True
    newest_date: str | None = None


def _facts(package: Path | None, program: Path | None) -> _Facts:
    """Read from the package, which has the schema beside the program; else from the program itself."""
    if package is not None and (schema := package / "workerd.capnp").is_file():
        text = schema.read_text()
        version = json.loads((package / "package.json").read_text()).get("version")
        return _Facts(_BUNDLED in text, _STRUCTURED in text, _date_in(_NPM_VERSION, str(version)))
    if package is not None:
        version = json.loads((package / "package.json").read_text()).get("version")
        return _Facts(newest_date=_date_in(_NPM_VERSION, str(version)))
    return _Facts() if program is None else _facts_of_program(program, program.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _facts_of_program(program: Path, _changed_at: int) -> _Facts:
    """Of a workerd without its package: it tells its date itself, and holds the schema and its bundled Workers."""
    date = _date_in(_PRINTED_VERSION, version_of(program))
    try:
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _Facts(content.find(_BUNDLED.encode()) >= 0, content.find(_STRUCTURED.encode()) >= 0, date)
    except (OSError, ValueError):  # an empty file cannot be mapped
        return _Facts(newest_date=date)


def mentions(program: Path | None, text: str) -> bool:
    """Whether a program holds a text; True where that cannot be told."""
    if program is None:
        return True
    try:
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(text.encode()) >= 0
    except (OSError, ValueError):
        return True


def _date_in(pattern: re.Pattern[str], version: str) -> str | None:
    """The date in a version of workerd, up to which wrangler uses it as well."""
    match = pattern.search(version)
    return "-".join(match.groups()) if match is not None else None
