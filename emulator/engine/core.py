"""What every part of the engine shares: storage, time, limits, and the log of what happens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from stepwell.emulator.clock import Clock
from stepwell.emulator.engine.admission import Slots
from stepwell.emulator.engine.durability import Commits
from stepwell.emulator.engine.history import Changes
from stepwell.emulator.engine.introspection import Introspection
from stepwell.emulator.engine.passes.callbacks import Callbacks
from stepwell.emulator.engine.passes.settling import Settling
from stepwell.emulator.engine.time.rates import CreationRate
from stepwell.emulator.engine.time.timers import Deadlines
from stepwell.emulator.limits import Limits
from stepwell.emulator.storage.store import Store
from stepwell.emulator.switches import Switches


@dataclass(slots=True)
class Core:
    """Built once per engine; nothing in it knows about single instances."""

    store: Store
    clock: Clock
    limits: Limits
    compat: Switches
    enforce_retention: bool
    commits: Commits
    changes: Changes
    callbacks: Callbacks
    rate: CreationRate
    introspection: Introspection = field(default_factory=Introspection)
    slots: Slots = field(default_factory=Slots)
    #: Runs that were woken a few turns ago and may still go on.
    settling: Settling = field(default_factory=Settling)
    #: Busy instances that only let time pass: the delay between two attempts of a rollback.
    parked: int = 0
    #: Rollback handlers that run right now.
    handlers: int = 0
    #: The engine is about to stop: what runs may end, and nothing else begins.
    stopping: bool = False
    #: Passes and rollbacks wait here before they call user code; None where nothing is held.
    code_gate: asyncio.Event | None = None

    async def hold_while_stopping(self) -> None:
        """Returns at once, or never: what waits here when the engine stops is cancelled with its pass."""
        if self.stopping:
            await asyncio.get_running_loop().create_future()

    @staticmethod
    def build(
        store: Store, clock: Clock, limits: Limits, compat: Switches, *, enforce_retention: bool = False
    ) -> Core:
        changes = Changes()
        slots = Slots()
        return Core(
            store=store,
            clock=clock,
            limits=limits,
            compat=compat,
            enforce_retention=enforce_retention,
            commits=Commits(store, lambda: slots.total, changes.publish, clock.slice),
            changes=changes,
            callbacks=Callbacks(Deadlines(clock)),
            rate=CreationRate(clock),
            slots=slots,
        )
