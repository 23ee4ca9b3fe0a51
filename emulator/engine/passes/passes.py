"""Instances in memory and their passes: who is started, woken, rested, queued and dropped.

One owner per instance: everything that changes an instance goes through here or through `Commands`, on the
engine's loop.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

from stepwell.bindings.context import StepFrame, current_step
from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.ports import RunEvent, Runner, is_remote
from stepwell.bindings.room import Room
from stepwell.bindings.values import Encoded
from stepwell.emulator.clock import after_turns, turns
from stepwell.emulator.engine.admission import AGAIN, NEW, Admission
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.instance import Instance, run_event
from stepwell.emulator.engine.introspection import Point, Reached
from stepwell.emulator.engine.lifecycle import BUSY
from stepwell.emulator.engine.passes.outcomes import Outcomes
from stepwell.emulator.engine.passes.rollback import Rollbacks
from stepwell.emulator.engine.passes.rollback_progress import rollback_progress
from stepwell.emulator.engine.passes.run import Run
from stepwell.emulator.engine.passes.steps import Steps
from stepwell.emulator.engine.time.timers import Alarm
from stepwell.emulator.storage.records import EventType, PassCause, Status, StepKind, StepRow
from stepwell.emulator.storage.store import Damaged, StorageError

_T = EventType
_log = logging.getLogger("stepwell.engine")

#: A pass that waits longer than this leaves memory, as on workerd: run() starts again at the wake.
REST_MS: Final = 60_000
#: From so many history entries on a pass stays in memory whatever it waits for, while there is room. Replay at each
#: event costs time for every step before: of 4,000 events to one instance the last ones took 57 ms each.
COSTLY_TO_REPLAY: Final = 200
#: So many waiting passes stay in memory; the one that has rested longest goes first.
RESIDENT: Final = 1_000
#: So many passes that leave memory do so later, because branches of them may await something that is not a step;
#: while they are younger than REST_MS, as many as may rest.
LINGERING: Final = 100
#: Before a pass goes on whose runtime crashes again and again, without a step between.
CRASH_DELAY_MS: Final = 100
LONGEST_CRASH_DELAY_MS: Final = 30_000
#: Turns that calls get between two shares of starting: instances are accepted faster than they start.
_TURNS_BETWEEN_STARTS: Final = 12
#: Statuses in which an instance goes on by itself when its pass has ended early.
_DRIVEN: Final = (Status.RUNNING, Status.ROLLING_BACK)
#: Due instances that one turn wakes.
WAKE_AT_ONCE: Final = 200


class Passes:
    """The `RunOwner` of all passes."""

    def __init__(self, core: Core, workflows: dict[int, WorkflowState], *, replay_always: bool = False) -> None:
        self._core = core
        self._workflows = workflows
        self._instances: dict[int, Instance] = {}
        self._resting: OrderedDict[int, Run] = OrderedDict()
        self._lingering: OrderedDict[int, Run] = OrderedDict()
        self._replay_always = replay_always
        self._draining = False
        self._waking = False
        #: Of instances whose runtime has crashed: their last event then, and how often since.
        self._crashes: dict[int, tuple[int, int]] = {}
        self._stopped = False
        #: Instances that were woken because their time had come.
        self.woken = 0
        #: Instances whose rollback was cut off and waits for code.
        self._blocked_rollbacks: set[int] = set()
        self._rolling_back: set[asyncio.Task[None]] = set()
        #: Instances that cannot be read: they are left as they are stored.
        self._aside: set[int] = set()
        self._about_to_start: dict[int, tuple[Instance, RunEvent | None]] = {}
        self.outcomes = Outcomes(core, self.forget)
        self.admission = Admission(core.slots, core.limits, {})
        self.alarm = Alarm(core.clock, self.wake_due)
        core.slots.on_freed(self._slot_freed)

    # -- instances
    def load(self, key: int) -> Instance | None:
        """The instance, from memory or from storage."""
        instance = self._instances.get(key)
        if instance is not None:
            return instance
        if key in self._aside:
            return self._take_back(key)
        return self._loaded(key)

    def _take_back(self, key: int) -> Instance | None:
        """A command on an instance that was set aside: it counts again, so that the command can end it."""
        instance = self._loaded(key)
        self._aside.discard(key)
        if instance is not None and instance.status in BUSY:
            self._core.slots.change(instance.workflow.key, 1)
        return instance

    def _loaded(self, key: int) -> Instance | None:
        row = self._core.store.instance(key)
        if row is None or row.workflow not in self._workflows:
            return None
        workflow = self._workflows[row.workflow]
        instance = Instance(self._core, key, row.id, workflow, row.status, self._core.store.last_event_id(key))
        instance.started = row.started_at is not None
        return instance

    def add(self, instance: Instance) -> None:
        self._instances[instance.key] = instance

    def forget(self, instance: Instance) -> None:
        """No pass is left in memory; the next command loads the instance anew."""
        self._instances.pop(instance.key, None)
        self._rouse(instance.key)
        self._crashes.pop(instance.key, None)
        self._forget_block(instance.key)

    def in_memory(self) -> list[Instance]:
        return list(self._instances.values())

    # -- starting
    def start(self, instance: Instance, cause: PassCause, event: RunEvent | None = None) -> None:
        """Begins a pass of a queued, waiting or resumed instance; it takes a slot.

        `cause` is noted where the pass is not the first. One that was woken by an event is logged as running when
        it begins a step (case events-long-wait).
        """
        core, now = self._core, self._core.clock.now()
        fresh = not instance.started
        # Read first: of an instance that cannot be read nothing may be changed.
        records = [] if fresh and event is not None else core.store.steps(instance.key)
        event = event or self._event(instance)
        if fresh:
            self._tell_start(instance)
        if self._stopped:
            return
        if instance.status is not Status.RUNNING:
            instance.become(Status.RUNNING)
            core.store.start(instance.key, now)
        if fresh:
            instance.started = True
            instance.mood = _T.WORKFLOW_RUNNING
            instance.log(_T.WORKFLOW_STARTED, _T.WORKFLOW_RUNNING)
        elif cause is not PassCause.EVENT:
            instance.log_mood(_T.WORKFLOW_RUNNING)
        self._begin(instance, records, event, None if fresh else cause)

    def _tell_start(self, instance: Instance) -> None:
        at_point = self._core.introspection.at_point
        if at_point is not None:
            at_point(Reached(Point.BEFORE_START, instance.workflow.name, instance.id))

    def resume_after_crash(self, instance: Instance, cause: PassCause) -> None:
        """Drives an instance again whose pass died; nothing of that is logged (semantics 13)."""
        records, event = self._core.store.steps(instance.key), self._event(instance)
        if instance.status is not Status.RUNNING:
            instance.become(Status.RUNNING)
            self._core.store.set_status(instance.key, Status.RUNNING, self._core.clock.now(), None)
        self._begin(instance, records, event, cause)

    def _begin(self, instance: Instance, records: list[StepRow], event: RunEvent, cause: PassCause | None) -> None:
        self.add(instance)
        self._note_pass(instance, cause)
        run = Run(self._core, instance, event, self)
        self._enter_room(run)
        instance.run = run
        run.start(Steps(run, records, Rollbacks(instance.workflow.configs)))

    def _note_pass(self, instance: Instance, cause: PassCause | None) -> None:
        """Keeps why run() begins at the top again; the first pass has nothing to note, and costs nothing."""
        if cause is not None:
            now, version = self._core.clock.now(), instance.workflow.version_key
            self._core.store.add_pass(instance.key, now, cause, version)

    def _event(self, instance: Instance) -> RunEvent:
        row, values = self._core.store.instance(instance.key), self._core.store.values(instance.key)
        assert row is not None
        assert values is not None
        return run_event(instance, row.created_at, values.params, row.schedule)

    async def collect_rollbacks(self, instance: Instance) -> tuple[Run, Rollbacks, list[StepRow]]:
        """Follows run() on stored results to find the handlers of an instance that is not in memory.

        It is rolling back already, so that nothing else goes on with it meanwhile. The pass is detached when the
        runtime ends under it; then the rollback goes on in the next one.
        """
        records = self._core.store.steps(instance.key)
        self.add(instance)
        self._note_pass(instance, PassCause.ROLLBACK)
        run = Run(self._core, instance, self._event(instance), self)
        rollbacks = Rollbacks(instance.workflow.configs, collecting=True)
        self._enter_room(run)
        instance.run = run
        crash = await run.follow(Steps(run, records, rollbacks, stays=True))
        if crash is not None and run.attached and self._core.compat.resume_rollbacks:
            self.crashed(run, crash)
        found = {one.row.seq for one in rollbacks.newest_first()}
        return run, rollbacks, [row for row in records if row.has_rollback and row.seq not in found]

    def recorded(self, instance: Instance) -> tuple[Run, Steps]:
        """A pass beside the real ones, on stored results alone: it ends at the first step without one."""
        run = Run(self._core, instance, self._event(instance), self)
        return run, Steps(
            run, self._core.store.steps(instance.key), Rollbacks(instance.workflow.configs, collecting=True)
        )

    async def follow_again(self, instance: Instance, runner: Runner) -> Encoded:
        """Runs the code of a finished instance on its records, for a check; gives what it returns.

        Raises what it raises, and `RunAborted` when it comes to a step that is not recorded.
        """
        run, steps = self.recorded(instance)
        current_step.set(StepFrame(instance.workflow.name, instance.id, instance.key))
        replays = self._core.introspection.replays
        run.begins_with(runner)
        try:
            output = await runner(run.event, steps if replays is None else replays.begins(instance, steps))
        finally:
            run.end()
        if replays is not None:
            replays.ends(instance)
        return output

    # -- queueing
    def leave_queue(self, instance: Instance) -> None:
        """Taken out of the queue by a command; the caller changes its status."""
        if instance.key not in self._about_to_start:
            self.admission.left(instance.workflow.key)
        self._about_to_start.pop(instance.key, None)

    def enqueue_or_start(self, instance: Instance, event: RunEvent | None = None) -> None:
        """A new or restarted instance: starts in the next turn when a slot is free and nobody waits for one."""
        if not self._may_overtake(instance.workflow) or instance.workflow.runner is None:
            self._core.store.requeue(instance.key, self._core.clock.now(), NEW)
            self.admission.joined(instance.workflow.key)
            return
        self.add(instance)
        if not self._about_to_start:
            after_turns(1, self._start_all)
        self._about_to_start[instance.key] = (instance, event)

    def _start_all(self) -> None:
        """Starts new instances, oldest first; calls that come in meanwhile go between."""
        if not self._core.commits.ready(self._start_all):
            return
        share = self._core.clock.slice()
        while self._about_to_start and not share.over:
            key = next(iter(self._about_to_start))
            self._unless_damaged(key, partial(self._start_new, *self._about_to_start.pop(key)))
        if self._about_to_start:
            after_turns(_TURNS_BETWEEN_STARTS, self._start_all)

    def _start_new(self, instance: Instance, event: RunEvent | None) -> None:
        if self._instances.get(instance.key) is not instance:
            return
        if self._may_overtake(instance.workflow):
            self.start(instance, PassCause.RESTART, event)
        else:
            self.queue(instance, NEW)

    def queue(self, instance: Instance, rank: int = AGAIN) -> None:
        """Puts an instance into the queue of its Workflow."""
        if instance.status is not Status.QUEUED:
            instance.become(Status.QUEUED)
        self._core.store.requeue(instance.key, self._core.clock.now(), rank)
        self.admission.joined(instance.workflow.key)
        self._slot_freed(instance.workflow.key)

    def _slot_freed(self, workflow: int) -> None:
        if self.admission.queued_in_all and not self._draining:
            self._draining = True
            after_turns(1, self._drain)

    def _drain(self) -> None:
        """Starts queued instances as long as slots are free, the Workflows in turn; other work goes between."""
        if not self._core.commits.ready(self._drain):
            return
        with self._core.commits.or_stop():
            self._start_queue()

    def _start_queue(self) -> None:
        share = self._core.clock.slice()
        while sum(self._start_next(workflow) for workflow in self._workflows.values()):
            if share.over:
                after_turns(_TURNS_BETWEEN_STARTS, self._drain)
                return
        self._draining = False

    def _start_next(self, workflow: WorkflowState) -> bool:
        """Starts the first of the queue; whether there was one that may start."""
        keys = self._core.store.next_queued(workflow.key, 1, self._aside) if self._admits(workflow) else []
        for key in keys:
            self._unless_damaged(key, partial(self._start_queued, key))
        return bool(keys)

    def _admits(self, workflow: WorkflowState) -> bool:
        admission = self.admission
        waiting = admission.queued(workflow.key) > 0 and workflow.runner is not None
        return waiting and not self._stopped and admission.may_run(workflow) and self._has_room(workflow)

    def _start_queued(self, key: int) -> None:
        instance = self.load(key)
        if instance is None:
            return
        self.admission.left(instance.workflow.key)
        if instance.run is None:
            self.start(instance, PassCause.QUEUE)
            return
        instance.become(Status.RUNNING)
        self._core.store.start(key, self._core.clock.now(), keeps_wake=True)
        instance.run.go_on()

    # -- waking
    def wake_due(self) -> None:
        """Wakes the instances whose time has come, earliest first."""
        if self._stopped or not self._core.commits.ready(self.wake_due):
            return
        with self._core.commits.or_stop():
            self._wake_due()

    def _wake_due(self) -> None:
        self.alarm.cancel()  # set anew below; a moved clock would ring it a second time
        due = self._core.store.due(self._core.clock.now(), WAKE_AT_ONCE, self._aside)
        share = self._core.clock.slice()
        woken = 0
        for key, _, _ in due:
            if share.over:
                break
            self._unless_damaged(key, partial(self.wake, key))
            woken += 1
        self.woken += woken
        if woken < len(due) or woken == WAKE_AT_ONCE:
            self._waking = True
            after_turns(1, self._wake_more)
        else:
            self.alarm.by(self.next_wake())

    @property
    def damaged(self) -> frozenset[int]:
        return frozenset(self._aside)

    def next_wake(self) -> int | None:
        """When the earliest waiting instance is due that can be woken."""
        return self._core.store.next_wake(self._aside)

    def _unless_damaged(self, key: int, action: Callable[[], None]) -> None:
        """An instance that cannot be read does not keep the others from going on."""
        try:
            action()
        except StorageError as error:
            self._set_key_aside(key, error)
        except Exception as error:  # noqa: BLE001 - logged, and the instance is left alone
            _log.exception("instance %s cannot go on", key)
            self._set_key_aside(key, Damaged(f"{type(error).__name__}: {error}"))

    def set_aside(self, instance: Instance, error: StorageError) -> None:
        """Leaves an instance that cannot be read as it is stored; the next start tries again."""
        self._set_key_aside(instance.key, error)

    def _set_key_aside(self, key: int, error: StorageError) -> None:
        if self._core.commits.failure is not None:
            return
        instance = self._instances.get(key)
        name = f"The instance {instance.workflow.name}/{instance.id}" if instance is not None else f"Instance {key}"
        self._aside.add(key)
        if instance is not None:
            if instance.run is not None:
                instance.run.detach()
            if instance.status in BUSY:
                self._core.slots.change(instance.workflow.key, -1)
            self.forget(instance)
        _log.error(
            "%s is set aside, and everything else goes on: %s Restart or delete it, or start Stepwell again once "
            "the database is mended.",
            name,
            error,
            extra={"action": "set_aside"},
        )

    def _wake_more(self) -> None:
        self._waking = False
        self.wake_due()

    def wake(self, key: int, *, by_event: bool = False) -> None:
        """A wait of the instance is over, or an event is there for it."""
        instance = self.load(key)
        if instance is None:
            return
        if instance.status is Status.WAITING and not self.may_go_on(instance):
            self.queue(instance)
        elif instance.run is not None and instance.run.leaves:
            self.drop(instance.run)
            self.start(instance, PassCause.EVENT if by_event else PassCause.WAKE)
        elif instance.run is not None:
            self._rouse(key)
            if not instance.run.progress():
                self._core.store.set_wake(key, instance.run.waits.next_at())
        elif instance.status is Status.WAITING:
            self.start(instance, PassCause.EVENT if by_event else PassCause.WAKE)
        else:
            self._core.store.set_wake(key, None)  # a pass that is about to begin says when to wake it

    def may_go_on(self, instance: Instance) -> bool:
        workflow = instance.workflow
        if workflow.runner is None or not self.admission.may_run(workflow):
            return False
        return instance.run is not None or self._has_room(workflow)

    def _may_overtake(self, workflow: WorkflowState) -> bool:
        """Whether a new instance may start at once."""
        return self.admission.may_overtake(workflow) and self._has_room(workflow)

    # -- the room of hosts in other processes
    def _enter_room(self, run: Run) -> None:
        room = _room_of(run.instance.workflow)
        if room is not None:
            room.on_free(lambda: self._slot_freed(0))
            run.enter(room)

    def _has_room(self, workflow: WorkflowState) -> bool:
        """Whether the host can carry one more pass; a pass that only waits leaves memory for it."""
        room = _room_of(workflow)
        return room is None or not room.is_full or self._make_room(room)

    def _make_room(self, room: Room) -> bool:
        """Drops the pass that has waited longest, or one whose instance is queued: it begins anew at its turn."""
        resting = itertools.chain(self._resting.values(), self._lingering.values())
        run = next((run for run in resting if run.is_in(room) and run.instance.status is Status.WAITING), None)
        if run is None:
            queued = (i.run for i in self.in_memory() if i.run is not None and i.status is Status.QUEUED)
            run = next((run for run in queued if run.is_in(room)), None)
        if run is not None:
            self.drop(run)
        return run is not None

    def ask_for_slot(self, instance: Instance) -> None:
        if not self.may_go_on(instance):
            self.queue(instance)

    def wake_by(self, at: int) -> None:
        self.alarm.by(at)

    # -- what passes report
    def resting(self, run: Run) -> None:
        key, at = run.instance.key, run.waits.next_at()
        far = at is not None and at - self._core.clock.now() > REST_MS
        # The delay of a retry does not make an instance leave memory (case retries-default-schedule).
        far = far and not any(wait.row.kind is StepKind.DO for wait in run.waits)
        far = far and run.instance.last_event_id < COSTLY_TO_REPLAY
        run.leaves = self._replay_always or (far and not self._is_kept(run.instance))
        run.rests_since = self._core.clock.now()
        self._rouse(key)
        if not run.leaves:
            self._keep(run, self._resting)
        elif run.only_waits():
            self.drop(run)
        else:
            self._keep(run, self._lingering)

    def _keep(self, run: Run, kept: OrderedDict[int, Run]) -> None:
        kept[run.instance.key] = run
        while len(kept) > (LINGERING if self.has_left(next(iter(kept.values()))) else RESIDENT):
            _, longest = kept.popitem(last=False)
            if longest.instance.status is Status.WAITING:
                self.drop(longest)
        if run.is_in_full_room:  # which a queued instance may have, now that this pass only waits
            self._slot_freed(run.instance.workflow.key)

    def has_left(self, run: Run) -> bool:
        """Whether a pass that is still in memory has had its time there: its next wait begins a new one."""
        return run.leaves and self._core.clock.now() - run.rests_since >= REST_MS

    def _rouse(self, key: int) -> None:
        self._resting.pop(key, None)
        self._lingering.pop(key, None)

    def _is_kept(self, instance: Instance) -> bool:
        keeps = self._core.introspection.keeps
        return keeps is not None and keeps(instance.workflow.name, instance.id)

    def drop(self, run: Run) -> None:
        """Ends a pass that only waits; its instance goes on from its records."""
        instance = run.instance
        run.detach()
        self.forget(instance)

    def paused(self, run: Run) -> None:
        """The pass is dropped when the result of its last callback is stored."""
        self.outcomes.pause(run.instance, rested=False)

    def superseded(self, run: Run) -> None:
        """The code was replaced, and the current step is done: the new code goes on."""
        instance = run.instance
        run.detach()
        if instance.status is Status.RUNNING:
            after_turns(1, lambda: self._again(instance, PassCause.RELOAD))
        else:
            self.forget(instance)

    def _again(self, instance: Instance, cause: PassCause) -> None:
        if not self._core.commits.ready(lambda: self._again(instance, cause)):
            return
        if instance.status not in _DRIVEN or instance.run is not None or self._stopped:
            return
        if self._instances.get(instance.key) is not instance:  # deleted meanwhile
            return
        if instance.status is Status.ROLLING_BACK:
            self._continue_rollback(instance)
        elif instance.workflow.runner and self._has_room(instance.workflow):
            self.resume_after_crash(instance, cause)
        else:  # until its code comes back, or its host has room
            self.queue(instance)
            self.forget(instance)

    def crashed(self, run: Run, error: BaseException) -> None:
        _log.warning("the runtime of this run crashed (%s); going on from its last step", error)
        self._drive_again(run)

    def cancelled(self, run: Run) -> None:
        _log.warning("the code of %s cancelled its own task; going on from its last step", run.instance.id)
        self._drive_again(run)

    def _drive_again(self, run: Run) -> None:
        """Goes on in a new pass, as after a crash."""
        instance = run.instance
        run.detach()
        delay_ms = self._delay_after_crash(instance)
        if delay_ms == 0:
            after_turns(1, lambda: self._again(instance, PassCause.CRASH))
            return

        def go_on() -> None:
            self._core.parked -= 1
            self._again(instance, PassCause.CRASH)

        self._core.parked += 1
        self._core.callbacks.deadlines.after(delay_ms, go_on)

    def _delay_after_crash(self, instance: Instance) -> int:
        """None at first; longer and longer while crash follows crash with nothing done between them."""
        last, count = self._crashes.get(instance.key, (-1, 0))
        count = count + 1 if last == instance.last_event_id else 0
        self._crashes[instance.key] = (instance.last_event_id, count)
        return 0 if count == 0 else min(CRASH_DELAY_MS << min(count - 1, 20), LONGEST_CRASH_DELAY_MS)

    async def returned(self, run: Run, output: Encoded) -> None:
        await self.outcomes.returned(run, output)

    async def raised(self, run: Run, error: ErrorInfo) -> None:
        await self.outcomes.raised(run, error)

    async def unstorable(self, run: Run, error: ErrorInfo) -> None:
        await self.outcomes.unstorable(run, error)

    # -- start and stop of the engine
    async def restore(self) -> None:
        """Takes over what the last process left: nothing that only sleeps is loaded."""
        store = self._core.store
        for workflow in self._workflows:
            store.queue_the_forgotten(workflow)
        self.admission = Admission(self._core.slots, self._core.limits, store.count_queued())
        share = self._core.clock.slice()
        for key, _, status in store.left_in_memory():
            self._unless_damaged(key, partial(self._take_over, key, status))
            if share.over:
                await turns(1)
                share = self._core.clock.slice()
        self.alarm.by(self.next_wake())
        self._slot_freed(0)

    def adopt(self, workflow: WorkflowState) -> None:
        """A Workflow that an earlier process knew is declared after the start."""
        store = self._core.store
        store.queue_the_forgotten(workflow.key)
        self.admission.recount(store.count_queued())
        for key, of_workflow, status in store.left_in_memory():
            if of_workflow == workflow.key:
                self._unless_damaged(key, partial(self._take_over, key, status))
        self.unblock(workflow)

    def unblock(self, workflow: WorkflowState) -> None:
        """Code has come for a Workflow, or a higher limit: what could not go on without it goes on."""
        self.alarm.by(self.next_wake())
        self._slot_freed(workflow.key)
        self._unblock_rollbacks(workflow)

    def _take_over(self, key: int, status: Status) -> None:
        instance = self.load(key)
        if instance is None:  # of a Workflow that is no longer declared
            return
        records, event = self._core.store.steps(key), self._event(instance)
        self._core.slots.change(instance.workflow.key, 1)
        if status is Status.WAITING_FOR_PAUSE:
            self.outcomes.pause(instance, rested=False)
        elif status is Status.ROLLING_BACK and self._core.compat.resume_rollbacks:
            self._continue_rollback(instance)
        elif status is Status.ROLLING_BACK:
            self._end_rollback(instance)
        elif instance.workflow.runner is None or not self._has_room(instance.workflow):
            self.queue(instance)  # until its code comes back, or its host has room
        else:
            self._begin(instance, records, event, PassCause.PROCESS)

    def _continue_rollback(self, instance: Instance) -> None:
        """Goes on with a rollback that was cut off; without code it waits for that."""
        self.add(instance)
        if instance.workflow.runner is None:
            self._blocked_rollbacks.add(instance.key)
            self._core.parked += 1
            return
        task = asyncio.get_running_loop().create_task(self._roll_back_again(instance))
        self._rolling_back.add(task)
        task.add_done_callback(self._rolling_back.discard)

    async def _roll_back_again(self, instance: Instance) -> None:
        current_step.set(StepFrame(instance.workflow.name, instance.id, instance.key))
        progress = rollback_progress(self._core.store, instance.key)
        run, rollbacks, missing = await self.collect_rollbacks(instance)
        if run.attached:
            task = asyncio.current_task()
            assert task is not None
            run.roll_back_in(task)
            await self.outcomes.continue_rollback(run, rollbacks, missing, progress)

    def _unblock_rollbacks(self, workflow: WorkflowState) -> None:
        for key in list(self._blocked_rollbacks):
            instance = self._instances.get(key)
            if instance is not None and instance.workflow is workflow and workflow.runner is not None:
                self._forget_block(key)
                self._continue_rollback(instance)

    def _forget_block(self, key: int) -> None:
        if key in self._blocked_rollbacks:
            self._blocked_rollbacks.discard(key)
            self._core.parked -= 1

    def _end_rollback(self, instance: Instance) -> None:
        """With workerd's way a stop or crash while rolling back ends the chain."""
        _log.warning(
            "a stop cut the rollback off: its remaining handlers do not run (compat.resume_rollbacks is off)",
            extra={"instance": instance},
        )
        instance.log(_T.ROLLBACK_ERRORED)
        values = self._core.store.values(instance.key)
        self._core.store.set_rollback(instance.key, json.dumps({"outcome": "failed", "error": None}))
        if values is not None and values.error is not None:
            self.outcomes.finish(instance, Status.ERRORED, error=ErrorInfo.from_json(json.loads(values.error)))
            instance.log(_T.WORKFLOW_ERRORED)
        else:
            self.outcomes.finish(instance, Status.TERMINATED)
            instance.log(_T.WORKFLOW_TERMINATED)

    def replace_code(self, workflow: WorkflowState) -> None:
        """New code for a Workflow: its passes go over to it, each after the step it is in."""
        for instance in self.in_memory():
            run = instance.run
            if run is None or instance.workflow is not workflow or run.rolling_back:
                continue
            run.supersede = True
            if instance.status in (Status.WAITING, Status.QUEUED):
                self.drop(run)

    def stop(self) -> None:
        """Detaches every pass: what is not recorded by now happens again after the next start."""
        self._stopped = True
        self.alarm.cancel()
        for instance in self.in_memory():
            if instance.run is not None:
                instance.run.detach()
        self._about_to_start.clear()
        self._instances.clear()
        self._resting.clear()
        self._lingering.clear()

    @property
    def starting(self) -> int:
        """Whether instances are about to start or to wake in the next turns."""
        return len(self._about_to_start) + self._draining + self._waking

    @property
    def executing(self) -> int:
        """Callbacks and rollback handlers that run right now."""
        executing = sum(instance.run.executing for instance in self.in_memory() if instance.run is not None)
        return executing + self._core.handlers


def _room_of(workflow: WorkflowState) -> Room | None:
    return workflow.runner.room if is_remote(workflow.runner) else None
