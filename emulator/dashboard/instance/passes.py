"""Passes of run(). Every pass after the first is a replay, listed with its reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.storage.records import PassCause, PassRow

_WHY: Final = {
    PassCause.WAKE: "a sleep, wait or retry delay ended",
    PassCause.EVENT: "an awaited event arrived",
    PassCause.RESUME: "the instance was resumed",
    PassCause.QUEUE: "a concurrency slot became free",
    PassCause.RESTART: "the instance was restarted from a step",
    PassCause.PROCESS: "stepwell dev was restarted",
    PassCause.RELOAD: "the code was reloaded",
    PassCause.CRASH: "the Worker's runtime crashed",
    PassCause.ROLLBACK: "rollback handlers had to be collected",
}


@dataclass(frozen=True, slots=True)
class PassView:
    """A replay. `version` is the id of the code that ran, empty if unknown."""

    number: int
    at: int
    why: str
    version: str

    @property
    def title(self) -> str:
        return f"Replay {self.number - 1}: {self.why}"


def pass_views(rows: Sequence[PassRow], versions: Mapping[int, str]) -> tuple[PassView, ...]:
    """`versions` are ids by key."""
    return tuple(PassView(row.number, row.at, _WHY[row.cause], versions.get(row.version, "")) for row in rows)
