"""Which waiting passes stay in memory, and which hosts have room for one more pass.

A pass that is dropped costs nothing but a replay at its next wake. A pass that stays costs memory here, and a place
in the process that runs its code.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from stepwell.bindings.ports import is_remote
from stepwell.bindings.room import Room
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.engine.passes.table import InstanceTable
from stepwell.emulator.storage.records import Status, StepKind

#: A pass that waits longer than this leaves memory, as on workerd: run() starts again at the wake.
REST_MS: Final = 60_000
#: A pass with this many history entries stays in memory whatever it waits for, while there is room. A replay at
#: each event costs time for every earlier step: of 4,000 events to one instance the last ones took 57 ms each.
COSTLY_TO_REPLAY: Final = 200
#: Maximum of waiting passes in memory; the pass that has rested longest leaves first.
RESIDENT: Final = 1_000
#: Maximum of passes that are to leave memory and do not leave at once, because a branch of theirs may await
#: something that is not a step. Up to RESIDENT while they are younger than REST_MS.
LINGERING: Final = 100


class Residency:
    """Owns the lists of passes that rest: those that stay, and those that linger before they leave."""

    def __init__(self, core: Core, table: InstanceTable, *, replay_always: bool) -> None:
        """`replay_always`: every pass leaves memory at every wait."""
        self._core = core
        self._table = table
        self._replay_always = replay_always
        self._resting: OrderedDict[int, Pass] = OrderedDict()
        self._lingering: OrderedDict[int, Pass] = OrderedDict()
        table.on_forget(self.rouse)

    # -- passes that rest
    def resting(self, pass_: Pass) -> None:
        """Only waits are left of the pass: it stays, lingers or is dropped."""
        pass_.leaves = self._replay_always or (self._waits_long(pass_) and not self._is_kept(pass_.instance))
        pass_.rests_since = self._core.clock.now()
        self.rouse(pass_.instance.key)
        if not pass_.leaves:
            self._keep(pass_, self._resting)
        elif pass_.only_waits():
            self.drop(pass_)
        else:
            self._keep(pass_, self._lingering)

    def _waits_long(self, pass_: Pass) -> bool:
        at = pass_.waits.next_at()
        if at is None or at - self._core.clock.now() <= REST_MS:
            return False
        # The delay of a retry does not make an instance leave memory (case retries-default-schedule).
        retries = any(wait.row.kind is StepKind.DO for wait in pass_.waits)
        return not retries and pass_.instance.last_event_id < COSTLY_TO_REPLAY

    def _is_kept(self, instance: Instance) -> bool:
        keeps = self._core.introspection.keeps
        return keeps is not None and keeps(instance.workflow.name, instance.id)

    def _keep(self, pass_: Pass, passes: OrderedDict[int, Pass]) -> None:
        passes[pass_.instance.key] = pass_
        while len(passes) > (LINGERING if self.has_left(next(iter(passes.values()))) else RESIDENT):
            _, longest = passes.popitem(last=False)
            if longest.instance.status is Status.WAITING:
                self.drop(longest)
        if pass_.host.is_full:  # a queued instance may take its place, now that this pass only waits
            self._core.slots.announce(pass_.instance.workflow.key)

    def has_left(self, pass_: Pass) -> bool:
        """Whether a lingering pass counts as gone: its next wait begins a new pass."""
        return pass_.leaves and self._core.clock.now() - pass_.rests_since >= REST_MS

    def rouse(self, key: int) -> None:
        """The pass of the instance no longer rests."""
        self._resting.pop(key, None)
        self._lingering.pop(key, None)

    def drop(self, pass_: Pass) -> None:
        """Ends a pass that only waits; its instance continues from its records."""
        pass_.detach()
        self._table.forget(pass_.instance)

    def clear(self) -> None:
        self._resting.clear()
        self._lingering.clear()

    # -- the room of hosts in other processes
    def enter_room(self, pass_: Pass) -> None:
        room = _room_of(pass_.instance.workflow)
        if room is not None:
            room.on_free(lambda: self._core.slots.announce(0))
            pass_.host.enter(room)

    def has_room(self, workflow: WorkflowState) -> bool:
        """Whether the host can carry one more pass; a pass that only waits leaves memory for it."""
        room = _room_of(workflow)
        return room is None or not room.is_full or self._make_room(room)

    def _make_room(self, room: Room) -> bool:
        """Drops the pass that has waited longest, or one of a queued instance, which starts again at its turn."""
        resting = itertools.chain(self._resting.values(), self._lingering.values())
        pass_ = _first(resting, room, Status.WAITING) or _first(self._table.passes(), room, Status.QUEUED)
        if pass_ is not None:
            self.drop(pass_)
        return pass_ is not None


def _first(passes: Iterable[Pass], room: Room, status: Status) -> Pass | None:
    return next((pass_ for pass_ in passes if pass_.instance.status is status and pass_.host.is_in(room)), None)


def _room_of(workflow: WorkflowState) -> Room | None:
    return workflow.runner.room if is_remote(workflow.runner) else None
