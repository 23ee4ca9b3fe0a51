"""One pass: an execution of run() from the top until it ends, or until the instance is detached from it.

An attached pass owns its instance. A detached pass can no longer record anything: its waits are cancelled, steps
that its code still calls raise `RunAborted`, and its return value or error is ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import CodeType, CoroutineType
from typing import Any, Final, Protocol

from stepwell.bindings.context import StepFrame, current_step
from stepwell.bindings.errors import ErrorInfo, HostCrashed, NotSerialisable, RunAborted, ValueTooLarge, error_info
from stepwell.bindings.escapes import is_order
from stepwell.bindings.ports import RunEvent
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.introspection import Point, Reached
from stepwell.emulator.engine.passes.host_place import HostPlace
from stepwell.emulator.engine.passes.settling import CodeWatch
from stepwell.emulator.engine.passes.step_ports import PassSteps
from stepwell.emulator.engine.passes.waits import Wait, Waits
from stepwell.emulator.storage.records import EventType, Status, StepKind, StepRow, StepState
from stepwell.emulator.storage.store import StorageError

_T = EventType
_log = logging.getLogger("stepwell.engine")

_POINT_OF_WAIT: Final = {
    StepKind.DO: Point.BETWEEN_ATTEMPTS,
    StepKind.SLEEP: Point.SLEEPING,
    StepKind.WAIT_FOR_EVENT: Point.WAITING_FOR_EVENT,
}


class PassOwner(Protocol):
    """Receives the events of a pass."""

    def ended(self, pass_: Pass) -> None:
        """The pass no longer owns its instance."""
        ...

    def wake_by(self, at: int) -> None: ...

    def resting(self, pass_: Pass) -> None:
        """Everything waits; the pass may be dropped."""
        ...

    def drop(self, pass_: Pass) -> None:
        """End the pass. The instance continues from its records in a later pass."""
        ...

    def ask_for_slot(self, instance: Instance) -> None:
        """A waiting instance wants to run again. It is queued if no concurrency slot is free."""
        ...

    def paused(self, pass_: Pass) -> None: ...

    def superseded(self, pass_: Pass) -> None: ...

    async def returned(self, pass_: Pass, output: Encoded) -> None: ...

    async def raised(self, pass_: Pass, error: ErrorInfo) -> None: ...

    async def unstorable(self, pass_: Pass, error: ErrorInfo) -> None: ...

    def crashed(self, pass_: Pass, error: BaseException) -> None: ...

    def cancelled(self, pass_: Pass) -> None:
        """User code has cancelled the task of the pass, which is its own `asyncio.current_task()`."""
        ...

    async def unsettled(self, pass_: Pass, error: Exception) -> None:
        """Recording the end of run() failed, and neither user code nor storage is the cause."""
        ...

    def set_aside(self, instance: Instance, error: StorageError) -> None:
        """The records of the instance can't be read: end its pass, and leave the records unchanged."""
        ...


class Pass:
    """State and waits of one pass. User code only sees `steps`."""

    def __init__(self, core: Core, instance: Instance, event: RunEvent, owner: PassOwner) -> None:
        self.core = core
        self.instance = instance
        self.event = event
        self.owner = owner
        self.steps: PassSteps | None = None
        self.waits = Waits()
        self.host = HostPlace()
        self.modifications = core.introspection.of(instance.workflow.name, instance.id)
        #: True while the pass owns the instance.
        self.attached = True
        #: Number of callbacks that are running.
        self.executing = 0
        self.rolling_back = False
        #: True once run() has ended; its end may not be recorded yet.
        self.released = False
        #: True if new code was loaded and should continue the instance.
        self.supersede = False
        #: True if the pass will be dropped at its next wake. Until then, branches may finish non-step awaits.
        self.leaves = False
        #: When the pass last became idle.
        self.rests_since = 0
        #: Steps whose stream is being stored.
        self.streaming: set[int] = set()
        self._task: asyncio.Task[Any] | None = None
        #: Awaited by steps that may not begin yet: during a pause, or without a slot.
        self._gate: asyncio.Future[None] | None = None
        self._watch = CodeWatch(core.settling, self._settle)

    # -- the pass
    def start(self, steps: PassSteps) -> None:
        self.steps = steps
        self.runs_in(asyncio.get_running_loop().create_task(self._main(steps)))

    def runs_in(self, task: asyncio.Task[Any]) -> None:
        """The task that runs the code; it is cancelled when the pass is detached."""
        self._task = task

    async def _main(self, steps: PassSteps) -> None:
        if self.core.code_gate is not None:
            await self.core.code_gate.wait()
        try:
            await self._run_code(steps)
        except StorageError as error:  # the engine could not read the records
            if self._goes_on():
                self.owner.set_aside(self.instance, error)
        except Exception as error:  # noqa: BLE001 - without a handler the instance would stay `running` forever
            # If the engine has stopped, the next start continues the instance.
            if self.core.commits.failure is None and (self.attached or self.released):
                await self.owner.unsettled(self, error)

    async def _run_code(self, steps: PassSteps) -> None:
        instance = self.instance
        runner = instance.workflow.runner
        if runner is None:
            return
        self.host.begins_with(runner)
        current_step.set(StepFrame(instance.workflow.name, instance.id, instance.key))
        try:
            replays = self.core.introspection.replays
            output = await runner(self.event, steps if replays is None else replays.begins(instance, steps))
        except asyncio.CancelledError as error:
            await self._cancelled(error)
        except HostCrashed as error:
            if self._goes_on():
                self.owner.crashed(self, error)
        except NotSerialisable as error:
            if await self._may_end():
                await self.owner.unstorable(self, ErrorInfo("NotSerialisable", str(error)))
        except ValueTooLarge:
            if await self._may_end():
                most = instance.workflow.limits.output_bytes
                text = f"its size, which is more than the maximum of {most} bytes"
                await self.owner.unstorable(self, ErrorInfo("NotSerialisable", text))
        except BaseException as error:
            if is_order(error, self._task) or issubclass(type(error), StorageError):
                raise
            await self._raised(error)
        else:
            if await self._may_end():
                self._tell_end()
                await self.owner.returned(self, output)

    def roll_back_in(self, task: asyncio.Task[None]) -> None:
        """Cancel the code of the pass. The pass keeps the instance while `task` runs the rollback."""
        self.rolling_back = True
        self.waits.cancel()
        if self._task is not None:
            self._task.cancel()
        self._task = task

    def _goes_on(self) -> bool:
        """True while results of user code are still recorded."""
        return self.attached and not self.rolling_back

    async def _may_end(self) -> bool:
        """Wait until the database can be written; True if the end of run() is still to be recorded."""
        if not self._goes_on():
            return False
        await self.core.commits.writable()
        return self._goes_on()

    async def _raised(self, error: BaseException) -> None:
        if await self._may_end():
            self._tell_end()
            await self.owner.raised(self, error_info(error))

    async def _cancelled(self, error: asyncio.CancelledError) -> None:
        """A CancelledError raised by user code is an ordinary error; a cancellation of the task itself is not."""
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            await self._raised(error)
        elif self._goes_on():
            self.owner.cancelled(self)

    def _tell_end(self) -> None:
        replays = self.core.introspection.replays
        if replays is not None:
            replays.ends(self.instance)

    def detach(self) -> None:
        """Take the instance from this pass and cancel its code."""
        if not self.attached:
            return
        self.attached = False
        self.owner.ended(self)
        self.waits.cancel()
        for seq in self.streaming:
            with contextlib.suppress(StorageError):  # the next attempt deletes the partial stream otherwise
                self.core.store.delete_stream(self.instance.key, seq)
        if self._gate is not None:
            self._gate.cancel()
        if self._task is not None:
            self._task.cancel()
        self.host.leave(self.event)

    def release(self) -> None:
        """End the pass after run() has ended. Only waits that the code never awaited are left to cancel."""
        self.attached, self.released = False, True
        self.owner.ended(self)
        self.waits.cancel()
        self.host.leave(self.event)

    def unreadable(self, error: StorageError) -> RunAborted:
        """The error to raise when a step can't read its records. `RunAborted`, so user code can't handle it."""
        self.owner.set_aside(self.instance, error)
        return RunAborted()

    def check_attached(self) -> None:
        """Raise `RunAborted` if the pass no longer owns the instance."""
        if not self.attached:
            raise RunAborted

    # -- points, for tests
    def reached(self, point: Point, row: StepRow | None = None) -> None:
        """Report a crash point to tests. Raises `RunAborted` if the test crashes the engine at this point."""
        if self.core.introspection.at_point is not None:
            self._tell(point, row)
            self.check_attached()

    def _tell(self, point: Point, row: StepRow | None) -> None:
        at_point, instance = self.core.introspection.at_point, self.instance
        step, attempt = (None, None) if row is None else (row.public_name, row.attempts or None)
        if at_point is not None:
            at_point(Reached(point, instance.workflow.name, instance.id, step, attempt))

    def _tell_waits(self) -> None:
        for wait in self.waits:
            if self.attached:
                self._tell(_POINT_OF_WAIT[wait.row.kind], wait.row)

    # -- callbacks
    def may_begin_step(self) -> bool:
        """Whether a step may begin at once. If not, `before_step` waits until it may."""
        self.leaves = False
        self._watch.restart()
        return (
            self.attached
            and self.instance.status is Status.RUNNING
            and not self.supersede
            and not self.core.stopping
        )

    async def before_step(self) -> None:
        """Wait until a step may begin: not during a pause, while new code waits, or without a free slot."""
        if self.may_begin_step():
            return
        self.check_attached()
        if self.core.stopping and not _is_inside_a_step(self.instance):
            await self.core.hold_while_stopping()
        while self._holds_back():
            if self._gate is None:
                self._gate = asyncio.get_running_loop().create_future()
            await _wait_with_others(self._gate)
            self.check_attached()

    def _holds_back(self) -> bool:
        """True if a step must wait before it begins. Raises `RunAborted` if the pass ends here instead."""
        instance = self.instance
        if instance.status is Status.RUNNING and not self.supersede:
            return False
        if instance.status is Status.PAUSED:
            # The pause was not applied when the last result was stored, because run() may end without another step.
            self.owner.drop(self)
            raise RunAborted
        if self.executing:
            # Nested steps belong to the running step, which a pause does not interrupt.
            return not _is_inside_a_step(instance)
        if self.supersede:
            self.owner.superseded(self)
            raise RunAborted
        if instance.status is Status.WAITING:
            self.owner.ask_for_slot(instance)
        return instance.status in (Status.WAITING_FOR_PAUSE, Status.QUEUED)

    def go_on(self) -> None:
        """Let waiting steps begin: a pause was undone before it took effect, or a slot is free."""
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.set_result(None)
        self.progress()

    def enter_callback(self) -> None:
        self.executing += 1

    def leave_callback(self) -> None:
        """End a callback. The consequences are logged before its result, as on Cloudflare.

        A requested pause takes effect. Beside an open wait, `workflow_waiting` is logged again (cases
        parallel-race, parallel-retry-beside); the status follows when the code has settled.
        """
        self.executing -= 1
        if self.executing:
            return
        if self.instance.status is Status.WAITING_FOR_PAUSE:
            self.owner.paused(self)
        elif self.instance.status is Status.RUNNING and len(self.waits):
            self.instance.log_mood(_T.WORKFLOW_WAITING)

    def give_up_callback(self) -> None:
        """run() no longer awaits the step: record nothing, as if the attempt had been interrupted."""
        if self.attached:
            self.leave_callback()
            self._rest_soon()

    def _rest_soon(self) -> None:
        """Check soon whether the instance is waiting: the code may also call another step."""
        if self.executing == 0 and len(self.waits):
            self._watch.look_soon()

    def after_step(self, *, settled: bool = False) -> None:
        """Called when an attempt is stored. Raises `RunAborted` if the pass ends. `settled`: it was the last."""
        if self.instance.status is Status.PAUSED:
            if settled and self.attached and not len(self.waits):
                return
            self.owner.drop(self)
        elif self.supersede and self.executing == 0:
            self.owner.superseded(self)
        self.check_attached()
        self._rest_soon()

    # -- waits
    def complete(self, row: StepRow, output: Encoded | None, event: EventType) -> None:
        """Record the end of a sleep or of a wait for an event."""
        row.state = StepState.COMPLETED
        row.ended_at = self.core.clock.now()
        row.output = output
        self.core.store.complete_step(self.instance.key, row)
        self.instance.log(event, step=row.seq)

    async def wait(
        self, row: StepRow, due_at: int, on_due: Callable[[Wait], None], event_type: str | None = None
    ) -> Encoded | None:
        """Wait for a stored sleep, event or retry. Returns its result."""
        future: asyncio.Future[Encoded | None] = asyncio.get_running_loop().create_future()
        self.waits.add(Wait(row, due_at, future, on_due, event_type))
        self.note_waiting()
        self._watch.look_soon()
        return await future

    def only_waits(self) -> bool:
        """True if run() itself is suspended in a wait, so no user code can run before the wait ends.

        False if unknown: with parallel branches, one of them may await something other than a step.
        """
        return self._task is not None and _innermost_code(self._task) is Pass.wait.__code__

    def note_waiting(self) -> None:
        """Record a new wait. If no callback is running, the instance as a whole is waiting."""
        instance = self.instance
        at = self.waits.next_at()
        if instance.status is Status.RUNNING and self.executing == 0:
            instance.log_mood(_T.WORKFLOW_WAITING)
            if at is not None and at <= self.core.clock.now():
                return  # already due: the instance keeps its slot and continues when the code has settled
            self._become(Status.WAITING)
        elif instance.status is not Status.QUEUED:  # a queued instance wakes when it gets a slot
            self.core.store.set_wake(instance.key, at)
            self._wake_by(at)

    def _become(self, status: Status) -> None:
        """Store the status with the time of the next wake, and set the alarm."""
        at = self.waits.next_at()
        self.instance.become(status)
        self.core.store.set_status(self.instance.key, status, self.core.clock.now(), at)
        self._wake_by(at)

    def _wake_by(self, at: int | None) -> None:
        if at is not None:
            self.owner.wake_by(at)

    def note_running(self) -> None:
        """An attempt begins."""
        instance = self.instance
        if instance.status is Status.WAITING:
            self._become(Status.RUNNING)
        if instance.status is Status.RUNNING:
            instance.log_mood(_T.WORKFLOW_RUNNING)

    def progress(self) -> bool:
        """Finish due waits and deliver events. Returns True if any wait ended.

        Requires a slot: a queued instance continues when it gets one.
        """
        if self.instance.status is Status.QUEUED:
            return False
        now = self.core.clock.now()
        due = self.waits.due(now)
        for wait in due:
            self.waits.remove(wait)
            wait.on_due(wait)
        try:
            claimed = [
                wait for wait in self.waits.for_events() if self.steps is not None and self.steps.claim(wait)
            ]
        except StorageError as error:
            self.owner.set_aside(self.instance, error)
            return True
        for wait in claimed:
            self.waits.remove(wait)
        if not due and not claimed:
            return False
        self._watch.restart()
        status = self.instance.status
        self._become(Status.RUNNING if status is Status.WAITING else status)
        self._watch.look_soon()
        return True

    # -- settling
    def _settle(self) -> None:
        """Called when user code is probably idle: determine the state of the pass, and act on it."""
        with self.core.commits.or_stop():
            if not self.attached or self._may_call_another_step() or self._delivers_held_events():
                return
            _ON_SETTLED[self.state()](self)

    def _may_call_another_step(self) -> bool:
        """True if run() should get more turns before it counts as waiting."""
        if self.executing or not len(self.waits):
            return False
        if self.host.remote is not None:
            return self._watch.host_may_call_another_step(self.host.remote, self.event)
        return self._watch.may_call_another_step(self.only_waits)

    def _delivers_held_events(self) -> bool:
        """Deliver events that were reserved for earlier waits, which the code will not reach now."""
        self._watch.has_settled()
        return self.steps is not None and self.steps.expects_no_more() and self.progress()

    def state(self) -> PassState:
        """The state of a pass whose user code is idle. The first match wins."""
        status, at = self.instance.status, self.waits.next_at()
        if self.executing:
            return PassState.EXECUTING
        if at is None:
            return PassState.RUNNING
        if status is Status.QUEUED:
            return PassState.QUEUED
        if at <= self.core.clock.now():
            return PassState.DUE if status is Status.RUNNING else PassState.DUE_WITHOUT_SLOT
        return PassState.REPLACED if self.supersede else PassState.WAITING

    def _be_replaced(self) -> None:
        self.owner.superseded(self)

    def _rest(self) -> None:
        if self.instance.status is Status.RUNNING:
            self._become(Status.WAITING)
        if self.core.introspection.at_point is not None:
            self._tell_waits()
            if not self.attached:  # a test has crashed the engine at that point
                return
        if self.steps is not None:
            self.steps.warn_of_renamed()
        if self.core.introspection.replays is not None:
            self.core.introspection.replays.rests(self.instance)
        self.owner.resting(self)

    def _stay(self) -> None:
        """Do nothing: something else continues the pass (see `_ON_SETTLED`)."""


class PassState(StrEnum):
    """The state of a pass once its user code is idle."""

    EXECUTING = "executing"
    RUNNING = "running"
    QUEUED = "queued"
    DUE = "due"
    DUE_WITHOUT_SLOT = "due without a slot"
    REPLACED = "replaced"
    WAITING = "waiting"


#: The action for each state.
_ON_SETTLED: Final[Mapping[PassState, Callable[[Pass], object]]] = {
    PassState.EXECUTING: Pass._stay,  # the end of the callback continues it
    PassState.RUNNING: Pass._stay,  # code between two steps, or the end of run()
    PassState.QUEUED: Pass._stay,  # the slot that it waits for
    PassState.DUE: Pass.progress,
    PassState.DUE_WITHOUT_SLOT: Pass._stay,  # the alarm, which asks for the slot first
    PassState.REPLACED: Pass._be_replaced,
    PassState.WAITING: Pass._rest,
}


def _is_inside_a_step(instance: Instance) -> bool:
    frame = current_step.get()
    return frame is not None and frame.seq is not None and frame.instance_key == instance.key


def _innermost_code(task: asyncio.Task[Any]) -> CodeType | None:
    """The code of the innermost coroutine that a task is suspended in."""
    code: CodeType | None = None
    awaited: object = task.get_coro()
    while isinstance(awaited, CoroutineType):
        code, awaited = awaited.cr_code, awaited.cr_await
    return code


async def _wait_with_others(shared: asyncio.Future[None]) -> None:
    """Await a shared future. Cancelling one waiter does not cancel it for the rest."""
    await asyncio.shield(shared)
