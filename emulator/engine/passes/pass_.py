"""One pass of run(): from its start at the top until it ends, or until the instance is taken from it.

A pass owns its instance while it is attached. Detached, it can record nothing any more: its waits are cancelled,
steps that its code still calls end at once, and what it returns or raises is ignored.
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
    """What a pass reports to."""

    def ended(self, pass_: Pass) -> None:
        """The pass no longer owns its instance."""
        ...

    def wake_by(self, at: int) -> None: ...

    def resting(self, pass_: Pass) -> None:
        """Everything waits; the pass may be dropped."""
        ...

    def drop(self, pass_: Pass) -> None:
        """Ends the pass; its instance goes on from its records."""
        ...

    def ask_for_slot(self, instance: Instance) -> None:
        """An instance that waits goes on by itself; queued when no slot is free."""
        ...

    def paused(self, pass_: Pass) -> None: ...

    def superseded(self, pass_: Pass) -> None: ...

    async def returned(self, pass_: Pass, output: Encoded) -> None: ...

    async def raised(self, pass_: Pass, error: ErrorInfo) -> None: ...

    async def unstorable(self, pass_: Pass, error: ErrorInfo) -> None: ...

    def crashed(self, pass_: Pass, error: BaseException) -> None: ...

    def cancelled(self, pass_: Pass) -> None:
        """Somebody else has cancelled the task of the pass: user code can, which has it as its current one."""
        ...

    async def unsettled(self, pass_: Pass, error: Exception) -> None:
        """The end of run() could not be recorded, for a reason that lies neither in user code nor in storage."""
        ...

    def set_aside(self, instance: Instance, error: StorageError) -> None:
        """What is stored of the instance cannot be read: its pass ends, and nothing of it is changed."""
        ...


class Pass:
    """The machinery of one pass; `steps` is what user code sees of it."""

    def __init__(self, core: Core, instance: Instance, event: RunEvent, owner: PassOwner) -> None:
        self.core = core
        self.instance = instance
        self.event = event
        self.owner = owner
        self.steps: PassSteps | None = None
        self.waits = Waits()
        self.host = HostPlace()
        self.modifications = core.introspection.of(instance.workflow.name, instance.id)
        #: Whether the pass still owns the instance.
        self.attached = True
        #: Callbacks that run right now.
        self.executing = 0
        self.rolling_back = False
        #: The pass has come to its own end, which may not be recorded yet.
        self.released = False
        #: New code waits to continue the instance.
        self.supersede = False
        #: The pass is to leave memory; until then, code that awaits something which is not a step may continue.
        self.leaves = False
        #: When the pass came to rest the last time.
        self.rests_since = 0
        #: Steps whose stream is being stored.
        self.streaming: set[int] = set()
        self._task: asyncio.Task[Any] | None = None
        #: Steps that may not begin yet wait here.
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
        except StorageError as error:  # of the engine's own reads
            if self._goes_on():
                self.owner.set_aside(self.instance, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, no instance stays in `running` without code
            # Of an engine that has stopped, the next start continues the instance.
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
        """Ends the code of the pass; the pass still owns the instance while `task` rolls it back."""
        self.rolling_back = True
        self.waits.cancel()
        if self._task is not None:
            self._task.cancel()
        self._task = task

    def _goes_on(self) -> bool:
        """Whether what the code does still counts."""
        return self.attached and not self.rolling_back

    async def _may_end(self) -> bool:
        """Whether what the code does still counts, once the database can be written."""
        if not self._goes_on():
            return False
        await self.core.commits.writable()
        return self._goes_on()

    async def _raised(self, error: BaseException) -> None:
        if await self._may_end():
            self._tell_end()
            await self.owner.raised(self, error_info(error))

    async def _cancelled(self, error: asyncio.CancelledError) -> None:
        """A cancellation that user code raised is an ordinary error; that of the task itself is not."""
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
        """Takes the instance from this pass; its code is cancelled where it stands."""
        if not self.attached:
            return
        self.attached = False
        self.owner.ended(self)
        self.waits.cancel()
        for seq in self.streaming:
            with contextlib.suppress(StorageError):  # the next attempt deletes it as well
                self.core.store.delete_stream(self.instance.key, seq)
        if self._gate is not None:
            self._gate.cancel()
        if self._task is not None:
            self._task.cancel()
        self.host.leave(self.event)

    def release(self) -> None:
        """The pass has ended by itself: nothing is left to cancel but what its code forgot to await."""
        self.attached, self.released = False, True
        self.owner.ended(self)
        self.waits.cancel()
        self.host.leave(self.event)

    def unreadable(self, error: StorageError) -> RunAborted:
        """To be raised where a step cannot read what it needs: user code must not take that for its own error."""
        self.owner.set_aside(self.instance, error)
        return RunAborted()

    def check_attached(self) -> None:
        """Raises `RunAborted` when the instance is no longer this pass's."""
        if not self.attached:
            raise RunAborted

    # -- points, for tests
    def reached(self, point: Point, row: StepRow | None = None) -> None:
        """Says where the run is; raises `RunAborted` when a test crashes the engine there."""
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
    async def before_step(self) -> None:
        """Lets a step begin: not while a pause is asked for, new code waits, or no slot is free."""
        self.check_attached()
        self.leaves = False
        self._watch.restart()
        if self.core.stopping and not _is_inside_a_step(self.instance):
            await self.core.hold_while_stopping()
        while self._holds_back():
            if self._gate is None:
                self._gate = asyncio.get_running_loop().create_future()
            await _wait_with_others(self._gate)
            self.check_attached()

    def _holds_back(self) -> bool:
        """Whether a step must wait before it begins. Raises `RunAborted` when the pass ends here instead."""
        instance = self.instance
        if instance.status is Status.RUNNING and not self.supersede:
            return False
        if instance.status is Status.PAUSED:
            # Not already when its last result was stored: run() may also end without another step.
            self.owner.drop(self)
            raise RunAborted
        if self.executing:
            # Steps inside a callback belong to the step that executes, which nothing holds back.
            return not _is_inside_a_step(instance)
        if self.supersede:
            self.owner.superseded(self)
            raise RunAborted
        if instance.status is Status.WAITING:
            self.owner.ask_for_slot(instance)
        return instance.status in (Status.WAITING_FOR_PAUSE, Status.QUEUED)

    def go_on(self) -> None:
        """A pause was undone before it took effect, or a slot is there: what was held back goes on."""
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.set_result(None)
        self.progress()

    def enter_callback(self) -> None:
        self.executing += 1

    def leave_callback(self) -> None:
        """A callback has ended; what follows from that is logged before its result.

        A pause that waited for it takes effect. Beside a wait, the mood is waiting again (cases parallel-race,
        parallel-retry-beside); the status follows when the code has settled.
        """
        self.executing -= 1
        if self.executing:
            return
        if self.instance.status is Status.WAITING_FOR_PAUSE:
            self.owner.paused(self)
        elif self.instance.status is Status.RUNNING and len(self.waits):
            self.instance.log_mood(_T.WORKFLOW_WAITING)

    def give_up_callback(self) -> None:
        """Code of run() awaits the step no longer; nothing is recorded, as if the attempt had been cut off."""
        if self.attached:
            self.leave_callback()
            self._rest_soon()

    def _rest_soon(self) -> None:
        """The instance waits from now on, unless the code goes on to another step."""
        if self.executing == 0 and len(self.waits):
            self._watch.look_soon()

    def after_step(self, *, settled: bool = False) -> None:
        """The attempt is stored; goes on unless the pass ends here. `settled`: no attempt of the step follows."""
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
        """Records the end of a sleep or of a wait for an event."""
        row.state = StepState.COMPLETED
        row.ended_at = self.core.clock.now()
        row.output = output
        self.core.store.complete_step(self.instance.key, row)
        self.instance.log(event, step=row.seq)

    async def wait(
        self, row: StepRow, due_at: int, on_due: Callable[[Wait], None], event_type: str | None = None
    ) -> Encoded | None:
        """Waits, for what is stored already; gives what the wait ends with."""
        future: asyncio.Future[Encoded | None] = asyncio.get_running_loop().create_future()
        self.waits.add(Wait(row, due_at, future, on_due, event_type))
        self.note_waiting()
        self._watch.look_soon()
        return await future

    def only_waits(self) -> bool:
        """Whether run() itself stands in a wait, so that nothing of it can go on before that has ended.

        False where that cannot be told: of branches side by side, one may await something that is not a step.
        """
        return self._task is not None and _innermost_code(self._task) is Pass.wait.__code__

    def note_waiting(self) -> None:
        """Something waits; when nothing executes, the instance as a whole does."""
        instance = self.instance
        at = self.waits.next_at()
        if instance.status is Status.RUNNING and self.executing == 0:
            instance.log_mood(_T.WORKFLOW_WAITING)
            if at is not None and at <= self.core.clock.now():
                return  # over already: it keeps its slot, and goes on when the code has settled
            self._become(Status.WAITING)
        elif instance.status is not Status.QUEUED:  # there everything waits for the slot
            self.core.store.set_wake(instance.key, at)
            self._wake_by(at)

    def _become(self, status: Status) -> None:
        """Stores the status with the time of the next wake, and sees to that."""
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
        """Ends the waits whose time has come, and hands out events; whether there was anything.

        The instance holds a slot; one that is queued for it goes on when it has it.
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
        """The code has probably come as far as it can: see what state the pass is in, and act on it."""
        with self.core.commits.or_stop():
            if not self.attached or self._may_call_another_step() or self._delivers_held_events():
                return
            _ON_SETTLED[self.state()](self)

    def _may_call_another_step(self) -> bool:
        """Whether code of run() gets more time before it counts as waiting."""
        if self.executing or not len(self.waits):
            return False
        if self.host.remote is not None:
            return self._watch.host_may_call_another_step(self.host.remote, self.event)
        return self._watch.may_call_another_step(self.only_waits)

    def _delivers_held_events(self) -> bool:
        """Hands out events that were held back for waits which the code has not reached."""
        self._watch.has_settled()
        return self.steps is not None and self.steps.expects_no_more() and self.progress()

    def state(self) -> PassState:
        """The state of a pass whose code has come as far as it can. The first that applies counts."""
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
        """Something else continues the pass."""


class PassState(StrEnum):
    """What a pass does once its code has come as far as it can."""

    EXECUTING = "executing"
    RUNNING = "running"
    QUEUED = "queued"
    DUE = "due"
    DUE_WITHOUT_SLOT = "due without a slot"
    REPLACED = "replaced"
    WAITING = "waiting"


#: What happens to a pass in each state.
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
    """The code of the last coroutine in the chain of those that a task stands in."""
    code: CodeType | None = None
    awaited: object = task.get_coro()
    while isinstance(awaited, CoroutineType):
        code, awaited = awaited.cr_code, awaited.cr_await
    return code


async def _wait_with_others(shared: asyncio.Future[None]) -> None:
    """Awaits a future that others await too; cancelling this waiter leaves it alone."""
    await asyncio.shield(shared)
