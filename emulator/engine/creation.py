"""Creates instances: stores validated requests, and starts the instances when a slot is free."""

from __future__ import annotations

import json
from collections.abc import Sequence

from stepwell.bindings.context import calling_instance
from stepwell.bindings.errors import WorkflowError
from stepwell.bindings.ports import RunEvent, Schedule
from stepwell.emulator.engine.admission import NEW
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.passes.passes import Passes
from stepwell.emulator.engine.replay.carrying import Carried, copy_steps, steps_to_carry
from stepwell.emulator.engine.requests import ALREADY_EXISTS, DUPLICATE, BatchError, CreateRequest
from stepwell.emulator.engine.run_event import run_event
from stepwell.emulator.storage.records import EventType, InstanceRef, InstanceRow, NewInstance, Status, Trigger


class Creation:
    """Creates instances of any Workflow. Returned instances are committed."""

    def __init__(self, core: Core, passes: Passes) -> None:
        self._core = core
        self._passes = passes
        self._queue = passes.queue

    async def create(
        self, workflow: WorkflowState, request: CreateRequest, trigger: Trigger, schedule: Schedule | None = None
    ) -> Instance:
        """Raises `WorkflowError` (instance.already_exists) for a used id."""
        await self._core.commits.writable()
        self._check_room(workflow, 1)
        made = self._insert(workflow, request, trigger, schedule)
        if made is None:
            raise _already_exists(request.id)
        self._core.rate.made(workflow)
        instance, event = made
        self._queue.enqueue_or_start(instance, event)
        await self._core.commits.durable()
        return instance

    async def create_carrying(
        self,
        workflow: WorkflowState,
        request: CreateRequest,
        trigger: Trigger,
        carried: Carried,
        *,
        paused: bool = False,
    ) -> Instance:
        """Create an instance with results of another one. Raises `WorkflowError`.

        `paused`: it starts when it is resumed, and continues where the results end.
        """
        await self._core.commits.writable()
        self._check_room(workflow, 1)
        store = self._core.store
        rows = steps_to_carry(store, carried)
        key = carried.source if isinstance(carried.source, int) else None
        source = None if key is None else store.instance(key)
        made = self._insert(workflow, request, trigger, None, source=source)
        if made is None:
            raise _already_exists(request.id)
        self._core.rate.made(workflow)
        instance, _ = made
        copy_steps(store, instance.key, rows, key, self._core.clock.now())
        if paused:
            self._passes.outcomes.pause(instance, rested=False)
        else:
            self._queue.enqueue_or_start(instance)  # without its event: then its records are read
        await self._core.commits.durable()
        return instance

    async def create_batch(
        self, workflow: WorkflowState, requests: Sequence[CreateRequest], trigger: Trigger
    ) -> tuple[list[Instance], list[BatchError]]:
        """Create all valid instances in one commit. Returns the errors of the others by position."""
        await self._core.commits.writable()
        self._check_room(workflow, len(requests))
        made: list[tuple[Instance, RunEvent]] = []
        errors: list[BatchError] = []
        seen: set[str] = set()
        for index, request in enumerate(requests):
            if request.id in seen:
                errors.append(BatchError(index, request.id, *DUPLICATE))
                continue
            seen.add(request.id)
            one = self._insert(workflow, request, trigger, None)
            if one is None:
                errors.append(BatchError(index, request.id, *ALREADY_EXISTS))
            else:
                made.append(one)
        self._core.rate.made(workflow, len(made))
        for instance, event in made:
            self._queue.enqueue_or_start(instance, event)
        await self._core.commits.durable()
        return [instance for instance, _ in made], errors

    def _insert(
        self,
        workflow: WorkflowState,
        request: CreateRequest,
        trigger: Trigger,
        schedule: Schedule | None,
        source: InstanceRow | None = None,
    ) -> tuple[Instance, RunEvent] | None:
        """Store an instance; `source` is the instance whose results it begins with. None if the id is taken."""
        core, now = self._core, self._core.clock.now()
        caller = calling_instance() if trigger is Trigger.BINDING else None
        cron = json.dumps({"cron": schedule.cron, "scheduledTime": schedule.scheduled_at}) if schedule else None
        new = NewInstance(
            workflow=workflow.key,
            id=request.id,
            created_at=now,
            version=workflow.version_key,
            trigger=trigger if caller is None else Trigger.WORKFLOW,
            params=request.params,
            schedule=cron,
            success_retention_ms=request.success_retention_ms,
            error_retention_ms=request.error_retention_ms,
            created_by=InstanceRef(*caller).to_json() if caller is not None else None,
            copied_from=InstanceRef(workflow.name, source.id).to_json() if source is not None else None,
        )
        # Stored without a rank, then started or queued. After a crash in between, the next start finds it.
        key = core.store.insert_instance(new, None)
        if key is None:
            return None
        instance = Instance(core, key, request.id, workflow, Status.QUEUED, 0)
        instance.retention = (request.success_retention_ms, request.error_retention_ms)
        instance.log(EventType.WORKFLOW_QUEUED)
        return instance, run_event(workflow.name, request.id, now, request.params, cron)

    def _check_room(self, workflow: WorkflowState, count: int) -> None:
        """Check the creation rate and the size of the queue."""
        limits, admission = self._core.limits, self._queue.admission
        is_full = limits.queue_max is not None and admission.queued_in_all + count > limits.queue_max
        if is_full and not admission.may_overtake(workflow):
            raise WorkflowError(
                f"(instance.queue_full) {admission.queued_in_all} instances are queued; "
                f"the maximum is {limits.queue_max}",
                code="instance.queue_full",
            )
        self._core.rate.check(workflow, count)


def _already_exists(instance_id: str) -> WorkflowError:
    return WorkflowError(
        f'(instance.already_exists) Workflow instance with id "{instance_id}" already exists',
        code="instance.already_exists",
    )


__all__ = ["NEW", "Creation"]
