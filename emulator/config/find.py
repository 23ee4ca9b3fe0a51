"""Finds the configuration file: at the path passed, or by searching upwards."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

from stepwell.emulator.config.problems import ConfigError, failure
from stepwell.emulator.config.reading import parse_jsonc, read_text

# Like wrangler, search all folders for one name before the next: a wrangler.json two folders up wins over a
# wrangler.toml in the current folder.
NAMES: Final = ("wrangler.json", "wrangler.jsonc", "wrangler.toml")
REDIRECT: Final = os.path.join(".wrangler", "deploy", "config.json")


class ConfigLocation(NamedTuple):
    """The file to read, and the file that the user wrote; they differ if a build tool redirects."""

    path: Path
    user_path: Path

    @property
    def redirected(self) -> bool:
        return self.path != self.user_path

    @property
    def folder(self) -> Path:
        """The project folder: that of the user's file."""
        return self.user_path.parent


def find_config(start: Path, config_file: Path | None = None) -> ConfigLocation:
    """Find a project's configuration. `start` is the file or a folder of the project; `config_file` overrides it.

    Relative paths count from the current folder. Raises `ConfigError` if there is no file, or if a redirect
    (`.wrangler/deploy/config.json`) can't be followed.
    """
    explicit = config_file if config_file is not None else start if os.path.isfile(start) else None
    if explicit is not None:
        path = _absolute(explicit)
        if not os.path.exists(path):
            raise failure(f"Configuration file {explicit} not found.", "Check the path passed with --config.")
        return ConfigLocation(path, path)
    folder = _absolute(start)
    if not os.path.isdir(folder):
        raise failure(f"Folder {start} not found.", "Pass the folder of a Workers project.")
    own = next(filter(None, (_upward(folder, name) for name in NAMES)), None)
    return _redirected(folder, own) or _own_or_none(folder, own)


def _own_or_none(folder: Path, own: Path | None) -> ConfigLocation:
    if own is None:
        raise failure(
            f"No wrangler.jsonc, wrangler.json or wrangler.toml was found in {folder} or in the folders above it.",
            "Change to the folder of a Workers project, pass it as `stepwell dev PATH` or `--config FILE`, "
            "or create one with `stepwell init`.",
        )
    return ConfigLocation(own, own)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


def _upward(folder: Path, name: str) -> Path | None:
    candidates = (os.path.join(place, name) for place in (folder, *folder.parents))
    return next((Path(path) for path in candidates if os.path.isfile(path)), None)


def _redirected(folder: Path, own: Path | None) -> ConfigLocation | None:
    redirect = _upward(folder, REDIRECT)
    if redirect is None:
        return None
    target = _target(redirect)
    if own is None:
        return ConfigLocation(target, target)
    expected = own.parent / REDIRECT
    if redirect != expected:
        raise failure(
            f'Found both a user configuration file at "{own}"\nand a deploy configuration file at "{redirect}".\n'
            "But these do not share the same base path so it is not clear which should be used.",
            f'It only takes effect next to the configuration file, at "{expected}". '
            f'Delete "{redirect}" if it is left from an earlier build, or start in the folder of the configuration '
            "to use.",
        )
    return ConfigLocation(target, own)


def _target(redirect: Path) -> Path:
    try:
        value = parse_jsonc(redirect, read_text(redirect))
    except ConfigError as error:
        raise failure(f"Failed to parse the deploy configuration file at {redirect}", str(error)) from None
    target = value.get("configPath") if isinstance(value, dict) else None
    if not isinstance(target, str) or not target:
        raise failure(
            f'A deploy configuration file was found at "{redirect}".\n'
            'But this is not valid - the required "configPath" property was not found.',
            "Run the build of the project again, or delete the file.",
        )
    path = _absolute(redirect.parent / target)
    if not os.path.isfile(path):
        raise failure(
            f'There is a deploy configuration at "{redirect}".\n'
            f'But the redirected configuration path it points to, "{path}", does not exist.',
            "Run the build of the project again, or delete the file.",
        )
    return path
