"""One file of JavaScript from a Worker's source, made by the project's own esbuild as wrangler would."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.private_files import PRIVATE_UMASK, write_private
from stepwell.emulator.worker.host import WorkerCodeError

JAVASCRIPT: Final = Path(__file__).parents[3] / "bindings" / "javascript"
OUTPUT: Final = "worker.js"
#: The export by which the engine reaches the passes; no name that a user would choose.
RUNS_EXPORT: Final = "__StepwellRuns"
#: The module that holds AsyncLocalStorage, or nothing: the configuration of the runtime says which.
ALS_MODULE: Final = "stepwell_als.mjs"
FRONT_EXPORT: Final = "__StepwellFront"

_LOADERS: Final = {".txt": "text", ".html": "text", ".sql": "text", ".bin": "copy", ".wasm": "copy"}
# What Node has built in. With `nodejs_compat` workerd knows them without "node:" too.
# fmt: off
_BUILT_IN: Final = (
    "assert", "async_hooks", "buffer", "child_process", "cluster", "console", "constants", "crypto", "dgram",
    "diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2", "https", "inspector", "module",
    "net", "os", "path", "perf_hooks", "process", "punycode", "querystring", "readline", "repl", "stream",
    "string_decoder", "sys", "timers", "tls", "trace_events", "tty", "url", "util", "v8", "vm", "wasi",
    "worker_threads", "zlib",
)
# fmt: on
# CommonJS packages call require() for what Node has built in.
_REQUIRE: Final = (
    "var require = (id) => { const found = process.getBuiltinModule(String(id)); if (found) return found; "
    "throw Object.assign(new Error(`Cannot find module '${id}'`), { code: 'MODULE_NOT_FOUND' }); };"
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The result: `code` and the modules beside it (name to bytes), in `folder`; `source_map` is its text."""

    folder: Path
    code: str
    source_map: str
    modules: Mapping[str, bytes]


def write_entry(config: WorkerConfig, folder: Path) -> Path:
    """Writes the module that the runtime loads."""
    main = json.dumps(str(config.main))
    ours = json.dumps(str(JAVASCRIPT / "setup.mjs"))
    runs = json.dumps(str(JAVASCRIPT / "runs.mjs"))
    front = json.dumps(str(JAVASCRIPT / "front.mjs"))
    lines = [
        "// Written by Stepwell at each start.",
        f"import {ours};",
        f"import * as user from {main};",
        f"import {{ frontOf }} from {front};",
        f"import {{ runsOf }} from {runs};",
        f"export * from {main};",
        "export default user.default ?? {};",
        f"export const {RUNS_EXPORT} = runsOf(user);",
        f"export const {FRONT_EXPORT} = frontOf(user);",
        "",
    ]
    entry = folder / "entry.mjs"
    write_private(entry, "\n".join(lines))
    return entry


async def bundle(
    config: WorkerConfig, esbuild: Path, entry: Path, folder: Path, *, debuggable: bool = False
) -> Bundle:
    """Bundles. Raises `WorkerCodeError` with esbuild's own report, which shows file, line and column.

    `debuggable`: a debugger that attaches shows the user's own files.
    """
    shutil.rmtree(folder, ignore_errors=True)
    command = [str(esbuild), *arguments(config, entry, folder)]
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=config.folder,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        umask=PRIVATE_UMASK,
    )
    _, errors = await process.communicate()
    if process.returncode != 0:
        text = errors.decode(errors="replace").strip()
        raise WorkerCodeError(f'The Worker "{config.name}" could not be bundled.\n\n{text}')
    if debuggable:
        append_source_map(folder)
    return _read(folder)


def append_source_map(folder: Path) -> None:
    """Puts the map at the end of the code, as debuggers find it, with the sources' addresses and texts."""
    source_map = json.loads((folder / f"{OUTPUT}.map").read_text())
    files = [Path(os.path.normpath(folder / source)) for source in source_map["sources"]]
    source_map["sources"] = [file.as_uri() for file in files]
    source_map["sourcesContent"] = [file.read_text(errors="replace") if file.is_file() else None for file in files]
    text = base64.b64encode(json.dumps(source_map).encode()).decode()
    with (folder / OUTPUT).open("a") as code:
        code.write(f"\n//# sourceMappingURL=data:application/json;base64,{text}\n")


def _read(folder: Path) -> Bundle:
    code = folder / OUTPUT
    source_map = folder / f"{OUTPUT}.map"
    others = {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file not in (code, source_map)}
    return Bundle(folder, code.read_text(), source_map.read_text(), others)


def arguments(config: WorkerConfig, entry: Path, folder: Path) -> list[str]:
    """esbuild's command line for a Worker."""
    node = any(flag.startswith("nodejs_compat") for flag in config.compat | set(config.compatibility_flags))
    return [
        str(entry),
        "--bundle",
        "--format=esm",
        "--platform=browser",
        "--target=es2022",
        "--conditions=workerd,worker,browser",
        f"--outfile={folder / OUTPUT}",
        "--sourcemap=external",
        "--sources-content=false",
        "--log-level=warning",
        "--color=false",
        "--external:cloudflare:*",
        "--external:node:*",
        "--external:workerd:*",
        f"--external:*/{ALS_MODULE}",
        '--define:process.env.NODE_ENV="development"',
        *(f"--loader:{suffix}={loader}" for suffix, loader in _LOADERS.items()),
        *(_node_arguments() if node else ()),
        *_configured(config),
    ]


def _node_arguments() -> Iterator[str]:
    for name in _BUILT_IN:
        yield f"--external:{name}"
        yield f"--external:{name}/*"
    yield f"--banner:js={_REQUIRE}"


def _configured(config: WorkerConfig) -> Iterator[str]:
    """What the project's own configuration says about bundling."""
    raw = config.raw
    if raw.get("keep_names") is not False:
        yield "--keep-names"
    if raw.get("minify") is True:
        yield "--minify"
    for key, flag in (("jsx_factory", "--jsx-factory"), ("jsx_fragment", "--jsx-fragment")):
        if isinstance(value := raw.get(key), str):
            yield f"{flag}={value}"
    if isinstance(tsconfig := raw.get("tsconfig"), str):
        yield f"--tsconfig={config.folder / tsconfig}"
    for name, value in _entries(raw.get("define")):
        yield f"--define:{name}={value}"
    for name, value in _entries(raw.get("alias")):
        target = str(config.folder / value) if value.startswith(".") else value
        yield f"--alias:{name}={target}"


def _entries(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, text in value.items():
            yield str(name), str(text)
