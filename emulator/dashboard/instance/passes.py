"""Passes of run(): every one after the first is a replay, and says why there was need of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.storage.records import PassCause, PassRow

_WHY: Final = {
    PassCause.WAKE: "the time it waited for had come",
    PassCause.EVENT: "the event it waited for had come",
    PassCause.RESUME: "it was resumed",
    PassCause.QUEUE: "its turn in the queue had come",
    PassCause.RESTART: "it was restarted from a step",
    PassCause.PROCESS: "the emulator was started again",
    PassCause.RELOAD: "its code was replaced",
    PassCause.CRASH: "the runtime of its code crashed",
    PassCause.ROLLBACK: "its rollback handlers were looked for",
}


@dataclass(frozen=True, slots=True)
class PassView:
    """A pass that began at the top again. `version` is the id of the code that it ran, empty where unknown."""

    number: int
    at: int
    why: str
    version: str

    @property
    def title(self) -> str:
        return f"replay: run() began again from the top (pass {self.number}), since {self.why}"


def pass_views(rows: Sequence[PassRow], versions: Mapping[int, str]) -> tuple[PassView, ...]:
    """`versions` are ids by key."""
    return tuple(PassView(row.number, row.at, _WHY[row.cause], versions.get(row.version, "")) for row in rows)
