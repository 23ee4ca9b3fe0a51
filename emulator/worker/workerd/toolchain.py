"""The project's own Cloudflare tools: workerd, wrangler and esbuild from its node_modules, else from PATH."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepwell.emulator.worker.host import WorkerLoadError

_ARCHITECTURES: Final = {"x86_64": "64", "amd64": "64", "aarch64": "arm64", "arm64": "arm64"}
_SYSTEMS: Final = {"linux": "linux", "darwin": "darwin", "windows": "windows"}
#: The Workers that `workerd` brings for KV, D1 and queues; the schema beside it names them when it has them.
_BUNDLED: Final = "/workerd/kv.js"
_STRUCTURED: Final = "structuredLogging"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What was found; None for what was not. `bundled`: workerd brings Workers that hold KV, D1 and queues.

    `structured_logs`: it can log as JSON. `newest_date`: the newest compatibility date that it
    knows, if that is known.
    """

    workerd: Path | None
    wrangler: Path | None
    esbuild: Path | None
    node: Path | None
    bundled: bool = False
    structured_logs: bool = True
    newest_date: str | None = None


def find_toolchain(folder: Path) -> Toolchain:
    """The tools for a project, looked for in `node_modules` of the folder and of those above, then on PATH."""
    schema = _schema(folder)
    return Toolchain(
        workerd=_native(folder, "workerd", "@cloudflare/workerd-{system}-{cpu}"),
        wrangler=_wrangler(folder),
        esbuild=_native(folder, "esbuild", "@esbuild/{system}-{esbuild_cpu}"),
        node=_program(folder, "node"),
        bundled=_BUNDLED in schema,
        structured_logs=not schema or _STRUCTURED in schema,
        newest_date=_newest_date(folder),
    )


def missing(worker: str, what: str, package: str = "wrangler") -> WorkerLoadError:
    """The error for a tool that is needed and not there, with the one command that installs it."""
    return WorkerLoadError(
        f'The Worker "{worker}" is JavaScript, which runs in Cloudflare\'s own runtime, but {what} was not found '
        f"in node_modules of the project or above it, nor on PATH. Install it in the project with:\n\n"
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


def _package(folder: Path, name: str) -> Path | None:
    """The folder of an npm package: installed by the project, or beside the project's wrangler (as pnpm does)."""
    for modules in _above(folder):
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


def _schema(folder: Path) -> str:
    """What the installed workerd can be configured with; empty for one from PATH."""
    package = _package(folder, "workerd")
    schema = package / "workerd.capnp" if package is not None else None
    return schema.read_text() if schema is not None and schema.is_file() else ""


def _newest_date(folder: Path) -> str | None:
    """The date in workerd's version, "1.20261117.1", up to which wrangler uses it as well."""
    package = _package(folder, "workerd")
    version = json.loads((package / "package.json").read_text()).get("version") if package is not None else None
    match = re.match(r"1\.(\d{4})(\d\d)(\d\d)\.", str(version))
    return "-".join(match.groups()) if match is not None else None
