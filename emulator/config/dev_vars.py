"""Variables and secrets of local development: `.dev.vars`, `.env` and the process environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.config.problems import ConfigError, Problem, Problems, failure, shown
from stepwell.emulator.config.reading import read_bytes

INCLUDE_PROCESS_ENV: Final = "CLOUDFLARE_INCLUDE_PROCESS_ENV"
LOAD_FROM_DOT_ENV: Final = "CLOUDFLARE_LOAD_DEV_VARS_FROM_DOT_ENV"


class DevVars(NamedTuple):
    """The variables of `env`. `secrets` names the values from outside the configuration: never show them. `notices`
    are wrangler's lines that name the sources."""

    values: Mapping[str, object]
    secrets: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()


def load_dev_vars(
    config: WorkerConfig, environ: Mapping[str, str], problems: Problems, *, env_files: Sequence[Path] = ()
) -> DevVars:
    """The variables of a Worker, overridden by its local secrets.

    `env_files` replace the search for files; later files win. Paths are relative to the configuration file. Raises
    `ConfigError` for an unreadable file; warns about missing required secrets.
    """
    loaded: dict[str, str] | None = None
    notices: list[str] = []
    if not env_files:
        loaded = _load_dev_vars_file(config.folder, config.environment, notices, problems)
    if loaded is None and _switch(LOAD_FROM_DOT_ENV, environ, default=True):
        names = env_files or [Path(name) for name in _dot_env_names(config.environment)]
        include = config.required_secrets is not None or _switch(INCLUDE_PROCESS_ENV, environ, default=False)
        paths = [config.folder / name for name in names]
        loaded = _load_dot_env_files(paths, config.folder, environ if include else {}, notices, problems)
        if include:
            notices.append("Using secrets defined in process.env")
    secrets = _allowed(config, loaded or {}, problems)
    return DevVars({**config.vars, **secrets}, frozenset(secrets), tuple(notices))


def _dot_env_names(environment: str | None) -> list[str]:
    # Later files win. This is wrangler's actual order; its documentation swaps the middle two.
    names = [".env", ".env.local"]
    return names if environment is None else [*names, f".env.{environment}", f".env.{environment}.local"]


def _load_dev_vars_file(
    folder: Path, environment: str | None, notices: list[str], problems: Problems
) -> dict[str, str] | None:
    names = [".dev.vars"] if environment is None else [f".dev.vars.{environment}", ".dev.vars"]
    path = next((path for name in names if os.path.isfile(path := folder / name)), None)
    if path is None:
        return None
    from stepwell.emulator.config import dotenv  # imported late: many projects have no such file

    notices.append(f"Using secrets defined in {path.name}")
    return dotenv.parse(_text(path, problems))


def _load_dot_env_files(
    paths: Sequence[Path], folder: Path, environ: Mapping[str, str], notices: list[str], problems: Problems
) -> dict[str, str]:
    present = [path for path in paths if os.path.isfile(path)]  # .env may be the folder of a virtual environment
    if not present:
        return dict(environ)
    from stepwell.emulator.config import dotenv

    merged: dict[str, str] = {}
    for path in present:
        merged.update(dotenv.parse(_text(path, problems)))
        notices.append(f"Using secrets defined in {os.path.relpath(path, folder)}")
    try:
        return {**environ, **dotenv.expand(merged, environ)}
    except dotenv.ExpansionError as error:
        raise failure(f"Can't use the .env files: {error}.", "Remove the circular reference.") from None


def _text(path: Path, problems: Problems) -> str:
    try:
        data = read_bytes(path)
    except ConfigError as error:
        raise ConfigError(error.errors, heading=f"Reading {path.name}:") from None
    text = data.decode("utf-8-sig", errors="replace")
    if "\ufffd" in text:
        problems.warn(f"{path.name} is not valid UTF-8; invalid characters were replaced.", "Save it as UTF-8.")
    return text


def _allowed(config: WorkerConfig, loaded: Mapping[str, str], problems: Problems) -> dict[str, str]:
    """The loaded values. If `secrets` is declared, only required secrets and variables of the configuration."""
    if config.required_secrets is None:
        return dict(loaded)
    missing = [name for name in config.required_secrets if name not in loaded]
    if missing:
        problems.warn(
            f"Missing required secrets: {', '.join(missing)}. "
            "Add them to .dev.vars, .env, or set as environment variables."
        )
    allowed = {*config.vars, *config.required_secrets}
    return {name: value for name, value in loaded.items() if name in allowed}


def _switch(name: str, environ: Mapping[str, str], *, default: bool) -> bool:
    value = environ.get(name, "").strip().lower()
    if value not in ("", "true", "false"):
        raise ConfigError([Problem(f'Expected {name} to be "true" or "false", but got {shown(environ[name])}')])
    return default if not value else value == "true"
