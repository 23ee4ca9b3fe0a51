"""Instances that wait for a slot, and instances that start in the next turns.

The queue itself is in storage; `Admission` counts it. New instances that need not queue start a few at a time, so
that calls which create instances are answered faster than instances start.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from stepwell.bindings.ports import RunEvent
from stepwell.emulator.clock import after_turns
from stepwell.emulator.engine.admission import AGAIN, NEW, Admission
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.passes.residency import Residency
from stepwell.emulator.engine.passes.starting import Starter
from stepwell.emulator.engine.passes.table import InstanceTable
from stepwell.emulator.storage.records import PassCause, Status

#: Turns of the loop that calls get between two shares of starting.
_TURNS_BETWEEN_STARTS: Final = 12


class Queue:
    """Starts instances when slots are free, the Workflows in turn."""

    def __init__(self, core: Core, table: InstanceTable, residency: Residency, starter: Starter) -> None:
        self._core = core
        self._table = table
        self._residency = residency
        self._starter = starter
        self.admission = Admission(core.slots, core.limits, {})
        self._about_to_start: dict[int, tuple[Instance, RunEvent | None]] = {}
        self._draining = False
        core.slots.on_freed(self.slot_freed)

    @property
    def starting(self) -> int:
        """More than 0 while instances start in the next turns."""
        return len(self._about_to_start) + self._draining

    # -- who may run
    def may_go_on(self, instance: Instance) -> bool:
        """Whether a slot and room are free for the instance to continue."""
        workflow = instance.workflow
        if workflow.runner is None or not self.admission.may_run(workflow):
            return False
        return self._table.pass_of(instance) is not None or self._residency.has_room(workflow)

    def _may_overtake(self, workflow: WorkflowState) -> bool:
        """Whether a new instance may start at once."""
        return self.admission.may_overtake(workflow) and self._residency.has_room(workflow)

    # -- new instances
    def enqueue_or_start(self, instance: Instance, event: RunEvent | None = None) -> None:
        """A new or restarted instance starts in the next turn if a slot is free and nobody waits for one."""
        if not self._may_overtake(instance.workflow) or instance.workflow.runner is None:
            self._core.store.requeue(instance.key, self._core.clock.now(), NEW)
            self.admission.joined(instance.workflow.key)
            return
        self._table.add(instance)
        if not self._about_to_start:
            after_turns(1, self._start_new)
        self._about_to_start[instance.key] = (instance, event)

    def _start_new(self) -> None:
        """Starts new instances, oldest first; calls that come in meanwhile go between."""
        if not self._core.commits.ready(self._start_new):
            return
        share = self._core.clock.slice()
        while self._about_to_start and not share.over:
            key = next(iter(self._about_to_start))
            self._table.unless_damaged(key, partial(self._start_or_queue, *self._about_to_start.pop(key)))
        if self._about_to_start:
            after_turns(_TURNS_BETWEEN_STARTS, self._start_new)

    def _start_or_queue(self, instance: Instance, event: RunEvent | None) -> None:
        if not self._table.holds(instance):
            return
        if self._may_overtake(instance.workflow):
            self._starter.start(instance, PassCause.RESTART, event)
        else:
            self.put(instance, NEW)

    # -- the queue
    def put(self, instance: Instance, rank: int = AGAIN) -> None:
        """Puts an instance into the queue of its Workflow."""
        if instance.status is not Status.QUEUED:
            instance.become(Status.QUEUED)
        self._core.store.requeue(instance.key, self._core.clock.now(), rank)
        self.admission.joined(instance.workflow.key)
        self.slot_freed(instance.workflow.key)

    def leave(self, instance: Instance) -> None:
        """A command takes the instance out of the queue; the caller changes its status."""
        if instance.key not in self._about_to_start:
            self.admission.left(instance.workflow.key)
        self._about_to_start.pop(instance.key, None)

    def slot_freed(self, workflow: int) -> None:
        """Starts queued instances in the next turn."""
        if self.admission.queued_in_all and not self._draining:
            self._draining = True
            after_turns(1, self._drain)

    def _drain(self) -> None:
        if not self._core.commits.ready(self._drain):
            return
        with self._core.commits.or_stop():
            self._start_queued_ones()

    def _start_queued_ones(self) -> None:
        """Starts the first of each Workflow in turn as long as slots are free; other work goes between."""
        share = self._core.clock.slice()
        while sum(self._start_next(workflow) for workflow in self._table.workflows.values()):
            if share.over:
                after_turns(_TURNS_BETWEEN_STARTS, self._drain)
                return
        self._draining = False

    def _start_next(self, workflow: WorkflowState) -> bool:
        """Starts the first of the queue; False if no instance may start."""
        if not self._admits(workflow):
            return False
        keys = self._core.store.next_queued(workflow.key, 1, self._table.aside)
        for key in keys:
            self._table.unless_damaged(key, partial(self._start_queued, key))
        return bool(keys)

    def _admits(self, workflow: WorkflowState) -> bool:
        waiting = self.admission.queued(workflow.key) > 0 and workflow.runner is not None
        may_run = waiting and not self._table.closed and self.admission.may_run(workflow)
        return may_run and self._residency.has_room(workflow)

    def _start_queued(self, key: int) -> None:
        instance = self._table.load(key)
        if instance is None:
            return
        self.admission.left(instance.workflow.key)
        pass_ = self._table.pass_of(instance)
        if pass_ is None:
            self._starter.start(instance, PassCause.QUEUE)
            return
        instance.become(Status.RUNNING)
        self._core.store.start(key, self._core.clock.now(), keeps_wake=True)
        pass_.go_on()

    def recount(self) -> None:
        """Takes over the counts of storage."""
        self.admission.recount(self._core.store.count_queued())

    def clear(self) -> None:
        self._about_to_start.clear()
