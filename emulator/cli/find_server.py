"""Which running `stepwell dev` a command talks to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from stepwell.emulator.app.state_folder import read_running
from stepwell.emulator.client import Server
from stepwell.emulator.config import ConfigError, open_project
from stepwell.emulator.config.settings import STATE_FOLDER

DEFAULT_URL: Final = "http://localhost:8787"


def find_server(port: int | None, folder: Path, token: str | None = None) -> Server:
    """Find the emulator: on `port`, otherwise that of the project around `folder`, otherwise on port 8787.

    The default of `token` is the project's token, from its settings or STEPWELL_TOKEN.
    """
    persist_to, own_token = _project(folder)
    token = token or own_token
    if port is not None:
        return Server(f"http://localhost:{port}", "from --port", token)
    running = read_running(persist_to) if persist_to is not None else None
    if running is not None:
        return Server(_reachable(running.url), f"from {persist_to}", token)
    return Server(DEFAULT_URL, "the default", token)


def _project(folder: Path) -> tuple[Path | None, str | None]:
    try:
        settings = open_project(folder, environ=os.environ).settings
    except ConfigError:  # outside a project, or its configuration is being edited
        return _state_folder_above(folder), os.environ.get("STEPWELL_TOKEN")
    return settings.persist_to, settings.token


def _state_folder_above(folder: Path) -> Path | None:
    places = (place / STATE_FOLDER for place in (folder, *folder.parents))
    return next((place for place in places if place.is_dir()), None)


def _reachable(url: str) -> str:
    """Replace an address that means "all interfaces" by loopback."""
    parts = urlsplit(url)
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}
    host = everywhere.get(parts.hostname or "")
    return url if host is None else urlunsplit(parts._replace(netloc=f"{host}:{parts.port}"))
