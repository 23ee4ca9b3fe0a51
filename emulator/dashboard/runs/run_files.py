"""The files that can be opened: a run as `save` writes it, and a history as `subscribe()` gives it."""

from __future__ import annotations

import json

from stepwell.emulator.dashboard.runs.history_file import run_of_history
from stepwell.emulator.dashboard.runs.saved import NotARun, SavedRun, run_of


def load(file: str | bytes) -> SavedRun:
    """Raises `NotARun`, or one of `saved.WRONG` for a history that somebody has changed."""
    try:
        data = json.loads(file)
    except (ValueError, RecursionError) as error:
        raise NotARun(f"This is no JSON file: {error}") from None
    return run_of_history(data) if isinstance(data, list) else run_of(data)
