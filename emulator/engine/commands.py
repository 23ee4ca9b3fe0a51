"""What may be done to an instance from outside, by the table in lifecycle.py."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping

from stepwell.bindings.context import current_step
from stepwell.bindings.errors import EngineError, RunAborted, WorkflowError
from stepwell.bindings.values import Encoded, jsnull
from stepwell.bindings.values.texts import javascript_text
from stepwell.emulator.clock import turns
from stepwell.emulator.engine.admission import AGAIN, NEW
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.lifecycle import BUSY, Command, Verdict, check
from stepwell.emulator.engine.passes.outcomes import BY_API, Termination
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.engine.passes.passes import Passes
from stepwell.emulator.engine.passes.rollback import TERMINATED, Rollbacks
from stepwell.emulator.storage.records import FINITE, EventType, PassCause, Status, StepKind, StepRow, StepState

_T = EventType
_log = logging.getLogger("stepwell.engine")

#: Turns of the loop in which a cancelled callback hears of it, before its step is undone.
_STOPPING_TURNS = 6


class Commands:
    """Each method changes one instance, and returns when the change is durable."""

    def __init__(self, core: Core, passes: Passes) -> None:
        self._core = core
        self._passes = passes

    def instance(self, key: int) -> Instance:
        """The instance; raises when it is gone."""
        instance = self._passes.table.load(key)
        if instance is None:
            raise not_found()
        return instance

    def _pass_of(self, instance: Instance) -> Pass | None:
        return self._passes.table.pass_of(instance)

    async def pause(self, key: int) -> None:
        await self._core.commits.writable()
        instance = self.instance(key)
        if check(instance.status, Command.PAUSE) is Verdict.NOTHING:
            return
        pass_ = self._pass_of(instance)
        if pass_ is not None and pass_.executing:
            instance.become(Status.WAITING_FOR_PAUSE)
            self._core.store.set_status(
                key, Status.WAITING_FOR_PAUSE, self._core.clock.now(), pass_.waits.next_at()
            )
            instance.log(_T.WORKFLOW_WAITING_FOR_PAUSE)
        else:
            self._leave_queue(instance)
            rested = instance.status is Status.WAITING and (pass_ is None or self._passes.residency.has_left(pass_))
            self._passes.outcomes.pause(instance, rested=rested)
            self._drop_pass(instance)
        await self._durable(pass_)

    async def _durable(self, pass_: Pass | None) -> None:
        """Returns when it is; but code that took its own instance from its pass ends here."""
        await self._core.commits.durable()
        frame = current_step.get()
        own = frame is not None and pass_ is not None and frame.instance_key == pass_.instance.key
        if own and pass_ is not None and not pass_.attached:
            raise RunAborted

    def _leave_queue(self, instance: Instance) -> None:
        if instance.status is Status.QUEUED:
            self._passes.queue.leave(instance)

    def _drop_pass(self, instance: Instance) -> None:
        pass_ = self._pass_of(instance)
        if pass_ is not None:
            pass_.detach()
        self._passes.table.forget(instance)

    async def resume(self, key: int) -> None:
        await self._core.commits.writable()
        instance = self.instance(key)
        if not self._core.compat.resume_requires_paused and instance.status not in (
            Status.PAUSED,
            Status.WAITING_FOR_PAUSE,
        ):
            return
        check(instance.status, Command.RESUME)
        if instance.status is Status.WAITING_FOR_PAUSE:
            self._undo_pause(instance)
        else:
            self._go_on(instance)
        await self._core.commits.durable()

    def _undo_pause(self, instance: Instance) -> None:
        instance.become(Status.RUNNING)
        pass_ = self._pass_of(instance)
        at = pass_.waits.next_at() if pass_ is not None else None
        self._core.store.set_status(instance.key, Status.RUNNING, self._core.clock.now(), at)
        instance.log(_T.WORKFLOW_RUNNING)
        instance.mood = _T.WORKFLOW_RUNNING
        if pass_ is not None:
            pass_.go_on()

    def _go_on(self, instance: Instance) -> None:
        """From paused: every wait keeps the time it had left (cases pause-in-*)."""
        self._drop_pass(instance)  # whose last result was about to be stored
        store, now = self._core.store, self._core.clock.now()
        row = store.instance(instance.key)
        paused_at = row.paused_at if row is not None and row.paused_at is not None else now
        ended = store.ended_while_paused(instance.key)
        wake_at = store.move_deadlines(instance.key, now - paused_at)
        if not instance.started:
            self._passes.queue.put(instance, NEW)
        elif store.was_rested(instance.key):
            instance.become(Status.WAITING)
            store.resume(instance.key, Status.WAITING, now, wake_at)
            instance.log_mood(_T.WORKFLOW_WAITING)
            self._passes.waker.alarm.by(wake_at)
            if self._has_event(instance):
                self._passes.waker.wake(instance.key)
        elif self._passes.queue.may_go_on(instance):
            instance.become(Status.RUNNING)
            store.resume(instance.key, Status.RUNNING, now, wake_at)
            if ended:
                instance.log(_T.WORKFLOW_QUEUED)
            self._passes.starter.start(instance, PassCause.RESUME)
        else:
            self._passes.queue.put(instance, AGAIN)

    def _has_event(self, instance: Instance) -> bool:
        """Whether an event has come that one of its waits is for."""
        sent = {event.type for event in self._core.store.events(instance.key) if event.claimed_by is None}
        return any(self._waits_for(instance, one) for one in sent)

    async def terminate(self, key: int, *, rollback: bool = False, how: Termination = BY_API) -> None:
        """Ends the instance; with `rollback` after its handlers have run."""
        await self._core.commits.writable()
        instance = self.instance(key)
        check(instance.status, Command.TERMINATE)
        self._leave_queue(instance)
        pass_ = self._pass_of(instance)
        rolls_back = rollback and instance.started and instance.status is not Status.ROLLING_BACK
        if not rolls_back or not await self._terminate_with_rollback(instance, how):
            self._drop_pass(instance)
            await self._passes.outcomes.terminated(instance, how)
        await self._durable(pass_)

    async def _terminate_with_rollback(self, instance: Instance, how: Termination) -> bool:
        """False when there is nothing to roll back."""
        pass_ = self._pass_of(instance)
        if pass_ is not None and pass_.steps is not None:
            rollbacks, missing = pass_.steps.rollbacks, list[StepRow]()
        else:
            self._passes.outcomes.begin_rollback(instance, how)
            pass_, rollbacks, missing = await self._passes.recovery.collect_rollbacks(instance)
            if not pass_.attached:  # ended by another command meanwhile
                return True
        if not len(rollbacks) and not missing:
            return False
        self._passes.outcomes.begin_rollback(instance, how)
        # In a task of its own: the caller may be the very code that is stopped here.
        rolling_back = asyncio.get_running_loop().create_task(
            self._roll_back_stopped(pass_, rollbacks, missing, how)
        )
        pass_.roll_back_in(rolling_back)
        await asyncio.wait([rolling_back])
        if not rolling_back.cancelled():
            rolling_back.result()
        return True

    async def _roll_back_stopped(
        self, pass_: Pass, rollbacks: Rollbacks, missing: list[StepRow], how: Termination
    ) -> None:
        await turns(_STOPPING_TURNS)
        error, end = TERMINATED, Status.TERMINATED
        await self._passes.outcomes.roll_back(pass_, rollbacks, error, end, missing=missing, how=how)

    async def restart(self, key: int, origin: Mapping[str, object] | None = None) -> None:
        """From the top, or from the step that `origin` names: {"name", "count"?, "type"?}."""
        await self._core.commits.writable()
        instance = self.instance(key)
        check(instance.status, Command.RESTART)
        from_seq = 0 if origin is None else self._step_to_restart_from(key, origin)
        self._core.rate.check(instance.workflow)
        self._core.rate.made(instance.workflow)
        pass_ = self._pass_of(instance)
        self._leave_queue(instance)
        self._drop_pass(instance)
        instance.become(Status.QUEUED) if instance.status is not Status.QUEUED else None
        store, now = self._core.store, self._core.clock.now()
        store.reset(key, now, NEW, instance.workflow.version_key, from_seq)
        instance.mood = None
        if from_seq == 0:
            instance.started = False
            instance.log(_T.WORKFLOW_QUEUED)
        self._core.changes.note(key)
        self._passes.queue.enqueue_or_start(instance)
        await self._durable(pass_)

    def _step_to_restart_from(self, key: int, origin: Mapping[str, object]) -> int:
        name, count, kind = origin.get("name"), origin.get("count"), origin.get("type")
        count, kind = 1 if count in (None, jsnull) else count, "do" if kind in (None, jsnull) else kind
        seq = None
        if isinstance(name, str) and type(count) is int and isinstance(kind, str) and kind in set(StepKind):
            seq = self._core.store.find_step(key, StepKind(kind), name, count)
        if seq is None:
            raise WorkflowError(
                f'(instance.cannot_restart) Step "{javascript_text(name)}" not found in execution history',
                code="instance.cannot_restart",
            )
        return seq

    async def delete(self, key: int) -> None:
        await self._core.commits.writable()
        instance = self.instance(key)
        pass_ = self._pass_of(instance)
        self._leave_queue(instance)
        self._drop_pass(instance)
        if instance.status in BUSY:
            self._core.slots.change(instance.workflow.key, -1)
        self._core.store.delete(key)
        self._core.changes.note(key)
        await self._durable(pass_)

    async def send_event(self, key: int, event_type: str, payload: Encoded) -> None:
        """Keeps the event until a wait of its type takes it; first in, first out."""
        await self._core.commits.writable()
        instance = self.instance(key)
        check(instance.status, Command.SEND_EVENT)
        if instance.status in FINITE:
            _log.warning(
                'event "%s": the instance is already %s, so no step is waiting for it',
                event_type,
                instance.status,
                extra={"instance": instance},
            )
        self._core.store.add_event(key, event_type, payload, self._core.clock.now())
        self._core.changes.note(key)
        pass_ = self._pass_of(instance)
        if instance.status is Status.WAITING and self._waits_for(instance, event_type):
            self._passes.waker.wake(key, by_event=True)
        elif pass_ is not None and instance.status is Status.RUNNING:
            pass_.progress()
        await self._core.commits.durable()

    def _waits_for(self, instance: Instance, event_type: str) -> bool:
        pass_ = self._pass_of(instance)
        if pass_ is not None and not pass_.leaves:
            return any(wait.event_type == event_type for wait in pass_.waits)
        wanted = f'"type":{json.dumps(event_type)}'
        return any(wanted in config for _, config in self._core.store.pending_waits(instance.key))

    async def skip_sleep(self, key: int, name: str | None = None) -> None:
        """Ends the sleep that is due next, or retry delay; with `name` ("nap-1" or "nap") that one."""
        await self._core.commits.writable()
        instance = self.instance(key)
        check(instance.status, Command.SKIP_SLEEP)
        if not self._end_first(instance, name, _sleeps):
            raise WorkflowError(
                f"(instance.not_sleeping) There is no sleep{_named(name)} to skip", code="instance.not_sleeping"
            )
        await self._core.commits.durable()

    async def time_out(self, key: int, name: str | None = None) -> None:
        """Has the wait for an event that is due next time out now; with `name` that one."""
        await self._core.commits.writable()
        instance = self.instance(key)
        check(instance.status, Command.TIME_OUT)
        if not self._end_first(instance, name, _waits):
            raise WorkflowError(
                f"(instance.not_waiting) There is no wait for an event{_named(name)} to time out",
                code="instance.not_waiting",
            )
        await self._core.commits.durable()

    def _end_first(self, instance: Instance, name: str | None, ends: Callable[[StepRow], bool]) -> bool:
        """Has the deadline of a step come, of those that it `ends` the one that is due next; False without any."""
        rows = [row for row in self._core.store.steps(instance.key, with_outputs=False) if ends(row)]
        if name is not None:
            rows = [row for row in rows if name in (row.name, row.public_name)]
        if not rows:
            return False
        row = min(rows, key=lambda one: (one.due_at or 0, one.seq))
        self._end_now(instance, row.seq, self._core.clock.now())
        return True

    def _end_now(self, instance: Instance, seq: int, now: int) -> None:
        row = self._core.store.instance(instance.key)
        paused_at = row.paused_at if row is not None else None
        self._core.store.move_step(instance.key, seq, paused_at if paused_at is not None else now)
        self._core.changes.note(instance.key)
        pass_ = self._pass_of(instance)
        if pass_ is not None:
            for wait in pass_.waits:
                if wait.row.seq == seq:
                    wait.due_at = wait.row.due_at = now
        if paused_at is None:
            self._passes.waker.wake(instance.key)


def _sleeps(row: StepRow) -> bool:
    return (row.kind is StepKind.SLEEP and row.state is StepState.PENDING) or row.state is StepState.RETRYING


def _waits(row: StepRow) -> bool:
    return row.kind is StepKind.WAIT_FOR_EVENT and row.state is StepState.PENDING


def _named(name: str | None) -> str:
    return f" named {name!r}" if name else ""


def not_found() -> EngineError:
    """The bare error of get() and of all methods of a handle (case get-unknown)."""
    return EngineError("instance.not_found", code="instance.not_found")
