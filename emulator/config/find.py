"""Which configuration file is meant: the one given, or the one found by looking upward."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

from stepwell.emulator.config.problems import ConfigError, failure
from stepwell.emulator.config.reading import parse_jsonc, read_text

# Each name is looked for all the way up before the next one, as wrangler does: a wrangler.json two folders up
# wins over a wrangler.toml right here.
NAMES: Final = ("wrangler.json", "wrangler.jsonc", "wrangler.toml")
REDIRECT: Final = os.path.join(".wrangler", "deploy", "config.json")


class Found(NamedTuple):
    """The file to read, and the one that the user wrote; they differ when a build tool redirects."""

    path: Path
    user_path: Path

    @property
    def redirected(self) -> bool:
        return self.path != self.user_path

    @property
    def folder(self) -> Path:
        """The project: the folder of the user's own file."""
        return self.user_path.parent


def find_config(start: Path, config_file: Path | None = None) -> Found:
    """The configuration of a project: `start` is a folder in it or the file itself, `config_file` ends the search.

    A relative path counts from the current folder. Raises `ConfigError` when there is none, or when a redirect
    (`.wrangler/deploy/config.json`) cannot be followed.
    """
    given = config_file if config_file is not None else start if os.path.isfile(start) else None
    if given is not None:
        path = _absolute(given)
        if not os.path.exists(path):
            raise failure(f"There is no configuration file {given}.", "Check the path given with --config.")
        return Found(path, path)
    folder = _absolute(start)
    if not os.path.isdir(folder):
        raise failure(f"There is no folder {start}.", "Give the folder of a Workers project.")
    own = next(filter(None, (_upward(folder, name) for name in NAMES)), None)
    return _redirected(folder, own) or _own_or_none(folder, own)


def _own_or_none(folder: Path, own: Path | None) -> Found:
    if own is None:
        raise failure(
            f"No wrangler.jsonc, wrangler.json or wrangler.toml was found in {folder} or in the folders above it.",
            "Change to the folder of a Workers project, give one with `stepwell dev PATH` or `--config FILE`, "
            "or make one with `stepwell init`.",
        )
    return Found(own, own)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


def _upward(folder: Path, name: str) -> Path | None:
    candidates = (os.path.join(place, name) for place in (folder, *folder.parents))
    return next((Path(path) for path in candidates if os.path.isfile(path)), None)


def _redirected(folder: Path, own: Path | None) -> Found | None:
    redirect = _upward(folder, REDIRECT)
    if redirect is None:
        return None
    target = _target(redirect)
    if own is None:
        return Found(target, target)
    expected = own.parent / REDIRECT
    if redirect != expected:
        raise failure(
            f'Found both a user configuration file at "{own}"\nand a deploy configuration file at "{redirect}".\n'
            "But these do not share the same base path so it is not clear which should be used.",
            f'It would count beside the configuration file, at "{expected}". '
            f'Delete "{redirect}" if an earlier build left it, or start from the folder whose configuration you '
            "want.",
        )
    return Found(target, own)


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
