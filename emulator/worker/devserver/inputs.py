"""The files that wrangler makes a Worker of: a change of them is a change of its code."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.workerd.sourcemaps import newest_map

#: Modules that are no code: the map of the bundle does not name them.
_OTHER_MODULES: Final = frozenset({".txt", ".html", ".sql", ".bin", ".wasm"})
_CODE: Final = frozenset({".js", ".mjs", ".cjs", ".json"})
_SKIPPED: Final = frozenset({"node_modules", "dist", "build"})


def input_digest(config: WorkerConfig, place: Path) -> str:
    """A digest of the files that the newest bundle was made of, and of modules that may be in it.

    `place` is the folder of the configuration that wrangler reads.
    """
    digest = hashlib.sha256()
    for file in sorted({config.main, *_bundled(config, place), *_others(config), *_assets(config)}):
        try:
            stat = file.stat()
            text = f"{stat.st_size} {stat.st_mtime_ns}".encode() if _is_installed(file) else file.read_bytes()
        except OSError:
            continue
        digest.update(f"{file}\0".encode() + hashlib.sha256(text).digest())
    return digest.hexdigest()


def bundled_files(config: WorkerConfig, place: Path) -> list[Path]:
    """The files of the project that are in the newest bundle."""
    return [file for file in _bundled(config, place) if not _is_installed(file)]


def _bundled(config: WorkerConfig, place: Path) -> Iterator[Path]:
    source_map = newest_map(place / ".wrangler", f"{config.main.stem}.js")
    if source_map is None:
        return
    try:
        data = json.loads(source_map.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # just replaced
        return
    for source in data["sources"]:
        file = Path(os.path.normpath(source_map.parent / (data.get("sourceRoot") or "") / source))
        if ".wrangler" not in file.parts:
            yield file


def _is_installed(file: Path) -> bool:
    return "node_modules" in file.parts


def _others(config: WorkerConfig) -> Iterator[Path]:
    """Modules that are no code, and all modules where wrangler takes them as they are."""
    raw = config.raw
    endings = set(_OTHER_MODULES)
    rules = raw.get("rules")
    for rule in rules if isinstance(rules, list) else []:
        endings |= {os.path.splitext(glob)[1] for glob in rule.get("globs", [])}
    if raw.get("no_bundle") or raw.get("find_additional_modules"):
        endings |= _CODE
    base = raw.get("base_dir")
    for folder in {config.main.parent, *([config.folder / base] if isinstance(base, str) else [])}:
        yield from (file for file in _below(folder) if file.suffix in endings)


def _assets(config: WorkerConfig) -> Iterator[Path]:
    for key, inner in (("assets", "directory"), ("site", "bucket")):
        settings = config.raw.get(key)
        if isinstance(settings, Mapping) and isinstance(folder := settings.get(inner), str):
            yield from _below(config.folder / folder)


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        yield from (Path(place) / name for name in files)
