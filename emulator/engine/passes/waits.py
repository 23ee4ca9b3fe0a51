"""What a run in memory waits for: sleeps, events, and the delays between attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stepwell.bindings.values import Encoded
from stepwell.emulator.storage.records import StepRow


@dataclass(slots=True)
class Wait:
    """One pending wait. `due` ends it when its time has come; `event_type` is that of an event wait."""

    row: StepRow
    due_at: int
    future: asyncio.Future[Encoded | None]
    on_due: Callable[[Wait], None]
    event_type: str | None = None

    def end(self, value: Encoded | None = None) -> None:
        if not self.future.done():
            self.future.set_result(value)

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Waits:
    """The waits of one run, by the seq of their step."""

    def __init__(self) -> None:
        self._waits: dict[int, Wait] = {}

    def __len__(self) -> int:
        return len(self._waits)

    def __iter__(self) -> Iterator[Wait]:
        return iter(list(self._waits.values()))

    def add(self, wait: Wait) -> None:
        self._waits[wait.row.seq] = wait

    def remove(self, wait: Wait) -> None:
        self._waits.pop(wait.row.seq, None)

    def next_at(self) -> int | None:
        """The earliest deadline."""
        return min((wait.due_at for wait in self._waits.values()), default=None)

    def due(self, now: int) -> list[Wait]:
        """Those whose time has come, earliest first; of one moment, in the order in which they began."""
        found = [wait for wait in self._waits.values() if wait.due_at <= now]
        return sorted(found, key=lambda wait: (wait.due_at, wait.row.seq))

    def for_events(self) -> list[Wait]:
        """Event waits; the one that has waited longest first."""
        found = [wait for wait in self._waits.values() if wait.event_type is not None]
        return sorted(found, key=lambda wait: wait.row.seq)

    def cancel(self) -> None:
        """Ends them without a result: the run is over."""
        for wait in self:
            wait.future.cancel()
        self._waits.clear()
