"""The files that hold a recorded instance: an export, a list of events, or an answer of Cloudflare's REST API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stepwell.emulator.histories.event_list import run_of_events
from stepwell.emulator.histories.production import is_instance_detail, run_of_detail
from stepwell.emulator.histories.saved import WRONG, NotARun, SavedRun, run_of


def load(file: str | bytes, *, workflow: str = "", instance_id: str = "") -> SavedRun:
    """The instance in a file.

    `workflow` and `instance_id` are used where the file does not name them. Raises `NotARun`.
    """
    try:
        data = json.loads(file)
    except (ValueError, RecursionError) as error:
        raise NotARun(f"Not a JSON file: {error}") from None
    try:
        return _run_of(data, workflow, instance_id)
    except WRONG as error:
        if isinstance(error, NotARun):
            raise
        raise NotARun(f"The file is incomplete or invalid: {error!r}") from None


def _run_of(data: Any, workflow: str, instance_id: str) -> SavedRun:
    if isinstance(data, list):
        return run_of_events(data)
    if isinstance(data, dict) and isinstance(data.get("result"), dict | list):  # a whole answer of the API
        return _run_of(data["result"], workflow, instance_id)
    if is_instance_detail(data):
        return run_of_detail(workflow, str(data.get("id") or instance_id), data)
    return run_of(data)


def load_file(path: Path) -> SavedRun:
    """The instance in a file. Raises `NotARun`, with the reason, also for a file that cannot be read."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise NotARun(f"Can't read {path}: {error.strerror}.") from None
    return load(text, workflow=path.parent.name, instance_id=path.stem)
