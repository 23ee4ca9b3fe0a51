"""All passes of all instances: the parts that own them, and what a pass reports.

| part | owns |
| --- | --- |
| `table` | the instances in memory, the pass of each, instances that cannot be read |
| `residency` | which waiting passes stay in memory; the room of hosts |
| `starter` | nothing: begins passes |
| `queue` | instances that wait for a slot, or start in the next turns |
| `waker` | the alarm for the earliest wake |
| `recovery` | crashes, and rollbacks that were cut off |
| `outcomes` | nothing: writes how passes end |
"""

from __future__ import annotations

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.passes.outcomes import Outcomes
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.engine.passes.queue import Queue
from stepwell.emulator.engine.passes.recovery import Recovery
from stepwell.emulator.engine.passes.residency import Residency
from stepwell.emulator.engine.passes.starting import Starter
from stepwell.emulator.engine.passes.table import InstanceTable
from stepwell.emulator.engine.passes.waker import Waker
from stepwell.emulator.storage.records import Status
from stepwell.emulator.storage.store import StorageError


class Passes:
    """Puts the parts together; the `PassOwner` of every pass."""

    def __init__(self, core: Core, workflows: dict[int, WorkflowState], *, replay_always: bool = False) -> None:
        self._core = core
        self.table = InstanceTable(core, workflows)
        self.residency = Residency(core, self.table, replay_always=replay_always)
        self.starter = Starter(core, self.table, self.residency, self)
        self.queue = Queue(core, self.table, self.residency, self.starter)
        self.waker = Waker(core, self.table, self.residency, self.starter, self.queue)
        self.outcomes = Outcomes(core, self.table.forget)
        self.recovery = Recovery(core, self.table, self.residency, self.starter, self.queue, self.outcomes)

    # -- what passes report
    def ended(self, pass_: Pass) -> None:
        self.table.detached(pass_)

    def wake_by(self, at: int) -> None:
        self.waker.alarm.by(at)

    def resting(self, pass_: Pass) -> None:
        self.residency.resting(pass_)

    def drop(self, pass_: Pass) -> None:
        self.residency.drop(pass_)

    def ask_for_slot(self, instance: Instance) -> None:
        if not self.queue.may_go_on(instance):
            self.queue.put(instance)

    def paused(self, pass_: Pass) -> None:
        """The pass is dropped when the result of its last callback is stored."""
        self.outcomes.pause(pass_.instance, rested=False)

    def superseded(self, pass_: Pass) -> None:
        self.recovery.superseded(pass_)

    def crashed(self, pass_: Pass, error: BaseException) -> None:
        self.recovery.crashed(pass_, error)

    def cancelled(self, pass_: Pass) -> None:
        self.recovery.cancelled(pass_)

    def set_aside(self, instance: Instance, error: StorageError) -> None:
        self.table.set_aside(instance.key, error)

    async def returned(self, pass_: Pass, output: Encoded) -> None:
        await self.outcomes.returned(pass_, output)

    async def raised(self, pass_: Pass, error: ErrorInfo) -> None:
        await self.outcomes.raised(pass_, error)

    async def unstorable(self, pass_: Pass, error: ErrorInfo) -> None:
        await self.outcomes.unstorable(pass_, error)

    async def unsettled(self, pass_: Pass, error: Exception) -> None:
        await self.outcomes.unsettled(pass_, error)

    # -- start and stop of the engine, and its code
    async def restore(self) -> None:
        """Takes over what the last process left."""
        for workflow in self.table.workflows:
            self._core.store.queue_the_forgotten(workflow)
        self.queue.recount()
        await self.recovery.take_over_all()
        self.waker.set_alarm()
        self.queue.slot_freed(0)

    def adopt(self, workflow: WorkflowState) -> None:
        """A Workflow that an earlier process knew is declared after the start."""
        self._core.store.queue_the_forgotten(workflow.key)
        self.queue.recount()
        self.recovery.take_over(workflow)
        self.unblock(workflow)

    def unblock(self, workflow: WorkflowState) -> None:
        """Code has come for a Workflow, or a higher limit: instances that waited for it continue."""
        self.waker.set_alarm()
        self.queue.slot_freed(workflow.key)
        self.recovery.unblock_rollbacks(workflow)

    def replace_code(self, workflow: WorkflowState) -> None:
        """New code for a Workflow: each of its passes changes over after the step it is in."""
        for pass_ in self.table.passes():
            if pass_.instance.workflow is not workflow or pass_.rolling_back:
                continue
            pass_.supersede = True
            if pass_.instance.status in (Status.WAITING, Status.QUEUED):
                self.residency.drop(pass_)

    def stop(self) -> None:
        """Detaches every pass: what is not recorded by now happens again after the next start."""
        self.waker.alarm.cancel()
        self.table.close()
        self.queue.clear()
        self.residency.clear()

    @property
    def starting(self) -> int:
        """More than 0 while instances start or wake in the next turns."""
        return self.queue.starting + self.waker.waking

    @property
    def executing(self) -> int:
        """Callbacks and rollback handlers that run right now."""
        return sum(pass_.executing for pass_ in self.table.passes()) + self._core.handlers
