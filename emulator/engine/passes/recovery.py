"""Continuing after a pass was cut off: by a crash of its runtime, by new code, or by the end of the process."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from typing import Final

from stepwell.bindings.context import StepFrame, current_step
from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.clock import after_turns, turns
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.passes.outcomes import Outcomes
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.engine.passes.queue import Queue
from stepwell.emulator.engine.passes.residency import Residency
from stepwell.emulator.engine.passes.rollback import Rollbacks
from stepwell.emulator.engine.passes.rollback_progress import rollback_progress
from stepwell.emulator.engine.passes.starting import Starter
from stepwell.emulator.engine.passes.table import InstanceTable
from stepwell.emulator.storage.records import EventType, PassCause, Status, StepRow

_T = EventType
_log = logging.getLogger("stepwell.engine")

#: Delay before a pass whose runtime crashes repeatedly without a step in between; doubled at each crash.
CRASH_DELAY_MS: Final = 100
LONGEST_CRASH_DELAY_MS: Final = 30_000
#: An instance whose pass ended early continues by itself in these statuses.
_DRIVEN: Final = (Status.RUNNING, Status.ROLLING_BACK)


class Recovery:
    """Owns the count of crashes, and the rollbacks that were cut off."""

    def __init__(
        self,
        core: Core,
        table: InstanceTable,
        residency: Residency,
        starter: Starter,
        queue: Queue,
        outcomes: Outcomes,
    ) -> None:
        self._core = core
        self._table = table
        self._residency = residency
        self._starter = starter
        self._queue = queue
        self._outcomes = outcomes
        #: For instances whose runtime has crashed: their last event then, and how often it crashed since.
        self._crashes: dict[int, tuple[int, int]] = {}
        #: Instances whose rollback was cut off and waits for code.
        self._blocked_rollbacks: set[int] = set()
        self._rolling_back: set[asyncio.Task[None]] = set()
        table.on_forget(self._forget)

    def _forget(self, key: int) -> None:
        self._crashes.pop(key, None)
        self._forget_block(key)

    # -- crashes and new code
    def crashed(self, pass_: Pass, error: BaseException) -> None:
        _log.warning("the runtime of this instance crashed (%s); continuing from its last step", error)
        self._drive_again(pass_)

    def cancelled(self, pass_: Pass) -> None:
        _log.warning("the code of %s cancelled its own task; continuing from its last step", pass_.instance.id)
        self._drive_again(pass_)

    def _drive_again(self, pass_: Pass) -> None:
        """Continues in a new pass."""
        instance = pass_.instance
        pass_.detach()
        delay_ms = self._delay_after_crash(instance)
        if delay_ms == 0:
            after_turns(1, lambda: self._again(instance, PassCause.CRASH))
            return

        def continue_now() -> None:
            self._core.parked -= 1
            self._again(instance, PassCause.CRASH)

        self._core.parked += 1
        self._core.callbacks.deadlines.after(delay_ms, continue_now)

    def _delay_after_crash(self, instance: Instance) -> int:
        """0 at first; longer and longer while crash follows crash with nothing done between them."""
        last, count = self._crashes.get(instance.key, (-1, 0))
        count = count + 1 if last == instance.last_event_id else 0
        self._crashes[instance.key] = (instance.last_event_id, count)
        return 0 if count == 0 else min(CRASH_DELAY_MS << min(count - 1, 20), LONGEST_CRASH_DELAY_MS)

    def superseded(self, pass_: Pass) -> None:
        """The code was replaced and the current step is done: the new code continues."""
        instance = pass_.instance
        pass_.detach()
        if instance.status is Status.RUNNING:
            after_turns(1, lambda: self._again(instance, PassCause.RELOAD))
        else:
            self._table.forget(instance)

    def _again(self, instance: Instance, cause: PassCause) -> None:
        if not self._core.commits.ready(lambda: self._again(instance, cause)):
            return
        if instance.status not in _DRIVEN or self._table.closed or not self._table.holds(instance):
            return
        if self._table.pass_of(instance) is not None:
            return
        if instance.status is Status.ROLLING_BACK:
            self._continue_rollback(instance)
        elif instance.workflow.runner and self._residency.has_room(instance.workflow):
            self._starter.resume_after_crash(instance, cause)
        else:  # until its code comes back, or its host has room
            self._queue.put(instance)
            self._table.forget(instance)

    # -- what an earlier process left
    async def take_over_all(self) -> None:
        """Continues what the last process was running. Nothing that only waits is loaded."""
        share = self._core.clock.slice()
        for key, _, status in self._core.store.left_in_memory():
            self._table.unless_damaged(key, partial(self._take_over, key, status))
            if share.over:
                await turns(1)
                share = self._core.clock.slice()

    def take_over(self, workflow: WorkflowState) -> None:
        """The same for the instances of one Workflow."""
        for key, of_workflow, status in self._core.store.left_in_memory():
            if of_workflow == workflow.key:
                self._table.unless_damaged(key, partial(self._take_over, key, status))

    def _take_over(self, key: int, status: Status) -> None:
        instance = self._table.load(key)
        if instance is None:  # its Workflow is no longer declared
            return
        records, event = self._starter.read(instance)
        self._core.slots.change(instance.workflow.key, 1)
        if status is Status.WAITING_FOR_PAUSE:
            self._outcomes.pause(instance, rested=False)
        elif status is Status.ROLLING_BACK and self._core.compat.resume_rollbacks:
            self._continue_rollback(instance)
        elif status is Status.ROLLING_BACK:
            self._end_rollback(instance)
        elif instance.workflow.runner is None or not self._residency.has_room(instance.workflow):
            self._queue.put(instance)  # until its code comes back, or its host has room
        else:
            self._starter.begin(instance, records, event, PassCause.PROCESS)

    # -- rollbacks
    async def collect_rollbacks(self, instance: Instance) -> tuple[Pass, Rollbacks, list[StepRow]]:
        """The handlers of an instance that is not in memory, and the steps whose handler is missing.

        The pass comes back detached if the runtime ended under it; the rollback then continues in the next one.
        """
        pass_, rollbacks, missing, crash = await self._starter.collect_rollbacks(instance)
        if crash is not None and pass_.attached and self._core.compat.resume_rollbacks:
            self.crashed(pass_, crash)
        return pass_, rollbacks, missing

    def _continue_rollback(self, instance: Instance) -> None:
        """Continues a rollback that was cut off; without code it waits for code."""
        self._table.add(instance)
        if instance.workflow.runner is None:
            self._blocked_rollbacks.add(instance.key)
            self._core.parked += 1
            return
        task = asyncio.get_running_loop().create_task(self._roll_back_again(instance))
        self._rolling_back.add(task)
        task.add_done_callback(self._rolling_back.discard)

    async def _roll_back_again(self, instance: Instance) -> None:
        if self._core.code_gate is not None:
            await self._core.code_gate.wait()
        current_step.set(StepFrame(instance.workflow.name, instance.id, instance.key))
        progress = rollback_progress(self._core.store, instance.key)
        pass_, rollbacks, missing = await self.collect_rollbacks(instance)
        if pass_.attached:
            task = asyncio.current_task()
            assert task is not None
            pass_.roll_back_in(task)
            await self._outcomes.continue_rollback(pass_, rollbacks, missing, progress)

    def unblock_rollbacks(self, workflow: WorkflowState) -> None:
        """Code has come for the Workflow: its rollbacks continue."""
        for key in list(self._blocked_rollbacks):
            instance = self._table.in_memory(key)
            if instance is not None and instance.workflow is workflow and workflow.runner is not None:
                self._forget_block(key)
                self._continue_rollback(instance)

    def _forget_block(self, key: int) -> None:
        if key in self._blocked_rollbacks:
            self._blocked_rollbacks.discard(key)
            self._core.parked -= 1

    def _end_rollback(self, instance: Instance) -> None:
        """As on workerd (compat.resume_rollbacks off): a stop or crash while rolling back ends the chain."""
        _log.warning(
            "the rollback was interrupted by a stop; its remaining handlers do not run "
            "(compat.resume_rollbacks is off)",
            extra={"instance": instance},
        )
        instance.log(_T.ROLLBACK_ERRORED)
        values = self._core.store.values(instance.key)
        self._core.store.set_rollback(instance.key, json.dumps({"outcome": "failed", "error": None}))
        if values is not None and values.error is not None:
            self._outcomes.finish(instance, Status.ERRORED, error=ErrorInfo.from_json(json.loads(values.error)))
            instance.log(_T.WORKFLOW_ERRORED)
        else:
            self._outcomes.finish(instance, Status.TERMINATED)
            instance.log(_T.WORKFLOW_TERMINATED)
