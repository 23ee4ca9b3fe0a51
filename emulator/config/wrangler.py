"""From a checked wrangler file to the record of a Worker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from stepwell.emulator.config.binding_kinds import BY_KEY
from stepwell.emulator.config.checks import Entry, whole_number
from stepwell.emulator.config.compatibility import CompatFlags, resolve_flags, similar_flags, unknown_flags
from stepwell.emulator.config.environments import Selected
from stepwell.emulator.config.flag_table import NEWEST_DATE
from stepwell.emulator.config.keys import workflow_exports
from stepwell.emulator.config.model import DevConfig, Language, ServiceConfig, WorkerConfig
from stepwell.emulator.config.problems import Problems
from stepwell.emulator.config.workflows import read_workflows

_LANGUAGES: Final[Mapping[str, Language]] = {
    ".py": "python",
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"), "javascript"),
}


def read_worker(
    selected: Selected, folder: Path, problems: Problems, *, bundled_elsewhere: bool = False
) -> WorkerConfig | None:
    """Build the record of a file that passed `check_file`.

    Reports a missing name, entry file or Python flag: these checks need the project's files and all keys. Returns
    None after any error. `bundled_elsewhere`: a dev server finds the entry, which may be a package's or virtual.
    """
    raw = selected.raw
    language = "javascript" if bundled_elsewhere else _check_entry(raw, folder, problems)
    if not raw.get("name"):
        problems.error(
            "You need to provide the name of your worker.", 'Add "name": "my-worker" to the configuration.'
        )
    if not raw.get("compatibility_date"):
        problems.warn(
            f'No "compatibility_date" was specified. Using {NEWEST_DATE}, the newest supported date.',
            f'Add "compatibility_date": "{NEWEST_DATE}" to the configuration; deploying requires one.',
        )
    compat = resolve_flags(_date(raw), _flags(raw))
    if language == "python":
        _check_python(raw, compat, problems)
    return None if language is None or problems.errors else _record(selected, folder, language, compat)


def _record(selected: Selected, folder: Path, language: Language, compat: CompatFlags) -> WorkerConfig:
    raw = selected.raw
    name = str(raw["name"])
    return WorkerConfig(
        name=name,
        main=Path(os.path.normpath(folder / str(raw.get("main", "")))),
        language=language,
        folder=folder,
        compatibility_date=_date(raw),
        compatibility_flags=_flags(raw),
        compat=compat,
        environment=selected.name,
        workflows=read_workflows(cast("list[Entry]", raw.get("workflows", [])), workflow_exports(raw), name),
        services=tuple(_service(entry) for entry in cast("list[Entry]", raw.get("services", []))),
        crons=tuple(cast("list[str]", _object(raw, "triggers").get("crons") or [])),
        vars=_object(raw, "vars"),
        required_secrets=_required_secrets(raw),
        bindings={key: raw[key] for key in BY_KEY if raw.get(key) and key not in ("workflows", "services")},
        dev=_dev(_object(raw, "dev")),
        raw=raw,
    )


def _check_python(raw: Entry, compat: CompatFlags, problems: Problems) -> None:
    if unknown := unknown_flags(_flags(raw)):
        quoted = ", ".join(f'"{flag}"' for flag in unknown)
        text = f"Unknown compatibility flags, ignored here and rejected by deployment: {quoted}."
        problems.warn(text, similar_flags(unknown))
    if not compat.python_workers:
        problems.error(
            "The `python_workers` compatibility flag is required to use Python.",
            'Add it to "compatibility_flags".',
        )
    elif (raw.get("workflows") or workflow_exports(raw)) and not compat.python_workflows:
        problems.warn(
            "Workflows of a Python Worker need the `python_workflows` compatibility flag before 2025-09-20.",
            'Add it to "compatibility_flags", or choose a later "compatibility_date".',
        )


def _check_entry(raw: Entry, folder: Path, problems: Problems) -> Language | None:
    main = raw.get("main")
    if not main:
        problems.error(
            "Missing entry-point to Worker script or to assets directory",
            'Add "main": "src/index.ts" or "main": "src/entry.py" to the configuration.',
        )
        return None
    language = _LANGUAGES.get(os.path.splitext(str(main))[1].lower())
    if language is None:
        problems.error(
            f'The entry-point file "{main}" is neither Python nor JavaScript.',
            f"Its name must end in one of {', '.join(_LANGUAGES)}.",
        )
    elif not os.path.isfile(os.path.join(folder, str(main))):
        problems.error(
            f'The entry-point file at "{main}" was not found.',
            'Check "main", which is relative to the configuration file. '
            "If a build step generates it, run the build first.",
        )
    return language


def _date(raw: Entry) -> str:
    return str(raw.get("compatibility_date") or NEWEST_DATE)


def _flags(raw: Entry) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cast("list[str]", raw.get("compatibility_flags") or [])))


def _object(raw: Entry, key: str) -> Entry:
    return cast("Entry", raw.get(key) or {})


def _required_secrets(raw: Entry) -> tuple[str, ...] | None:
    if raw.get("secrets") is None:
        return None
    return tuple(cast("list[str]", _object(raw, "secrets").get("required") or []))


def _service(entry: Entry) -> ServiceConfig:
    return ServiceConfig(str(entry["binding"]), str(entry["service"]), cast("str | None", entry.get("entrypoint")))


def _dev(dev: Entry) -> DevConfig:
    return DevConfig(
        ip=cast("str | None", dev.get("ip")),
        port=whole_number(dev.get("port")),
        inspector_port=whole_number(dev.get("inspector_port")),
        inspector_ip=cast("str | None", dev.get("inspector_ip")),
        host=cast("str | None", dev.get("host")),
    )
