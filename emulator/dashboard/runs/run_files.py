"""The supported files: an instance as `save` writes it, and a history as `subscribe()` delivers it."""

from __future__ import annotations

import json

from stepwell.emulator.dashboard.runs.history_file import run_of_history
from stepwell.emulator.dashboard.runs.saved import NotARun, SavedRun, run_of


def load(file: str | bytes) -> SavedRun:
    """Raises `NotARun`, or one of `saved.WRONG` for a modified history."""
    try:
        data = json.loads(file)
    except (ValueError, RecursionError) as error:
        raise NotARun(f"Not a JSON file: {error}") from None
    return run_of_history(data) if isinstance(data, list) else run_of(data)
