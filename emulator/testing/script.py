"""Running one instance to its end by itself: the clock moves, and events come when they are awaited."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.values import encode
from stepwell.emulator.storage.records import FINITE
from stepwell.emulator.testing.emulation import Emulation
from stepwell.emulator.testing.explain import explained
from stepwell.emulator.testing.live_port import LivePort
from stepwell.emulator.testing.modifier import WorkflowInstanceModifier
from stepwell.emulator.testing.pace import Pace
from stepwell.emulator.testing.workflow import Prepared, TestedWorkflow

INSTANCE_ID: Final = "checked"
_MOST_MOVES: Final = 20_000


@dataclass(frozen=True, slots=True)
class Script:
    """What an instance is given. `events` holds the payload by type: one for every wait, or a list of them."""

    params: Any = None
    events: Mapping[str, Any] = field(default_factory=dict)
    mocks: Callable[[WorkflowInstanceModifier], object] | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How an instance has ended. `output` is the encoded text."""

    status: str
    output: str | None
    error: ErrorInfo | None

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.status} with {self.error.name}: {self.error.message}"
        return f"{self.status} with output {self.output}"


class Performance:
    """One instance on an emulation of its own. An engine that crashes is started again."""

    def __init__(
        self, emulation: Emulation, workflow_name: str, script: Script, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """`stopped` says when there is no need to go on."""
        self._stopped = stopped
        self._emulation = emulation
        self._name = workflow_name
        self._script = script
        self._pace = Pace(emulation)
        self._sent: Counter[str] = Counter()

    async def run(self) -> Ending | None:
        """How it ended, None when it was stopped.

        Raises `Deadlock` when the script leaves the instance waiting, and `StillRunning`.
        """
        __tracebackhide__ = True
        await self._begin()
        for _ in range(_MOST_MOVES):
            await self._pace.settle()
            if self._stopped():
                return None
            if not self._emulation.runs:
                await self._emulation.restart()
            elif self._is_over():
                return self._ending()
            elif not (await self._send_what_is_awaited() or self._pace.move_to_next()):
                break
        raise explained(self._emulation, "the end", self._key(), 0, may_move=False)

    async def _begin(self) -> None:
        workflow = TestedWorkflow(LivePort(self._emulation, self._name))
        prepared = Prepared(workflow, INSTANCE_ID, self._script.params)
        if self._script.mocks is not None:
            self._script.mocks(prepared)
        await self._surviving(prepared.start())

    def _key(self) -> int | None:
        return self._emulation.find(self._name, INSTANCE_ID)

    def _is_over(self) -> bool:
        key = self._key()
        return key is not None and self._emulation.store.status(key) in FINITE

    async def _send_what_is_awaited(self) -> bool:
        """Sends the event of the oldest wait that the script has one for; False when there is none."""
        key = self._key()
        if key is None:
            return False
        for _, config in self._emulation.store.pending_waits(key):
            event_type = json.loads(config)["type"]
            if event_type in self._script.events and self._has_more(event_type):
                await self._send(event_type)
                return True
        return False

    def _has_more(self, event_type: str) -> bool:
        given = self._script.events[event_type]
        return not isinstance(given, list) or self._sent[event_type] < len(given)

    async def _send(self, event_type: str) -> None:
        given = self._script.events[event_type]
        payload = given[self._sent[event_type]] if isinstance(given, list) else given
        port = LivePort(self._emulation, self._name)
        if await self._surviving(port.send_event(INSTANCE_ID, {"type": event_type, "payload": encode(payload)})):
            self._sent[event_type] += 1

    async def _surviving(self, call: Awaitable[object]) -> bool:
        """Whether the call was answered; a crash of the engine leaves it without."""
        try:
            await call
        except asyncio.CancelledError:
            if self._emulation.crashed is None:
                raise
            return False
        return True

    def _ending(self) -> Ending:
        key, store = self._key(), self._emulation.store
        assert key is not None
        values, status = store.values(key), store.status(key)
        assert values is not None
        error = ErrorInfo.from_json(json.loads(values.error)) if values.error else None
        return Ending(str(status), values.output, error)
