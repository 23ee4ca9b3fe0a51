"""One pass of run(): from its start at the top until it ends, or until the instance is taken from it.

A pass owns its instance while it is attached. Detached, it can record nothing any more: its waits are cancelled,
steps that its code still calls end at once, and what it returns or raises is ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from types import CodeType, CoroutineType
from typing import Any, Final, Protocol

from stepwell.bindings.context import StepFrame, current_step
from stepwell.bindings.errors import ErrorInfo, NotSerialisable, RunAborted, error_info
from stepwell.bindings.errors import HostCrashed as HostCrashed
from stepwell.bindings.escapes import is_ctrl_c, is_order
from stepwell.bindings.ports import RemoteRunner, RunEvent, Runner, StepPort, is_remote
from stepwell.bindings.room import Room
from stepwell.bindings.values import Encoded
from stepwell.emulator.clock import breathe, turns
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.introspection import Point, Reached, RecordedSteps
from stepwell.emulator.engine.passes.rollback import Rollbacks
from stepwell.emulator.engine.passes.waits import Wait, Waits
from stepwell.emulator.storage.records import EventType, Status, StepKind, StepRow
from stepwell.emulator.storage.store import StorageError

_T = EventType
_log = logging.getLogger("stepwell.engine")

_POINT_OF_WAIT: Final = {
    StepKind.DO: Point.BETWEEN_ATTEMPTS,
    StepKind.SLEEP: Point.SLEEPING,
    StepKind.WAIT_FOR_EVENT: Point.WAITING_FOR_EVENT,
}


#: Rounds of settling for branches side by side: one of them may be on its way to a step through code of its own.
_ROUNDS: Final = 8
#: Turns of the loop within which followed code comes from one recorded step to the next.
_TURNS_TO_SETTLE: Final = 32


class PassSteps(RecordedSteps, Protocol):
    """The steps of a pass, as the pass itself needs them."""

    rollbacks: Rollbacks

    def warn_of_renamed(self) -> None:
        """Says when the code asks for new steps and not for recorded ones, as far as it has gone."""
        ...

    def warn_of_abandoned(self) -> None:
        """The same at the end of run(), and which steps it leaves unfinished."""
        ...

    def claim(self, wait: Wait) -> bool:
        """Gives a waiting step the oldest event of its type; False when there is none."""
        ...

    def expects_no_more(self) -> bool:
        """The code has gone as far as it can; whether events were held back until now."""
        ...


class FollowedSteps(PassSteps, Protocol):
    """The steps of a pass that is followed on its records."""

    @property
    def arrivals(self) -> int:
        """How often a step was called so far."""
        ...

    @property
    def staying(self) -> int:
        """How many of these calls are in a step without a result, which they never leave."""
        ...


class RunOwner(Protocol):
    """What a pass reports to."""

    def ended(self, run: Run) -> None:
        """The pass no longer owns its instance."""
        ...

    def wake_by(self, at: int) -> None: ...

    def resting(self, run: Run) -> None:
        """Everything waits; the pass may be dropped."""
        ...

    def drop(self, run: Run) -> None:
        """Ends the pass; its instance goes on from its records."""
        ...

    def ask_for_slot(self, instance: Instance) -> None:
        """An instance that waits goes on by itself; queued when no slot is free."""
        ...

    def paused(self, run: Run) -> None: ...

    def superseded(self, run: Run) -> None: ...

    async def returned(self, run: Run, output: Encoded) -> None: ...

    async def raised(self, run: Run, error: ErrorInfo) -> None: ...

    async def unstorable(self, run: Run, error: ErrorInfo) -> None: ...

    def crashed(self, run: Run, error: BaseException) -> None: ...

    def cancelled(self, run: Run) -> None:
        """Somebody else has cancelled the task of the pass: user code can, which has it as its current one."""
        ...

    def set_aside(self, instance: Instance, error: StorageError) -> None:
        """What is stored of the instance cannot be read: its pass ends, and nothing of it is changed."""
        ...


class Run:
    """The machinery of one pass; `steps` is what user code sees of it."""

    def __init__(self, core: Core, instance: Instance, event: RunEvent, owner: RunOwner) -> None:
        self.core = core
        self.instance = instance
        self.event = event
        self.owner = owner
        self.waits = Waits()
        self.executing = 0
        self.attached = True
        self.rolling_back = False
        self.supersede = False
        #: Rests, and starts anew at its wake; until then code that awaits something of its own may go on.
        self.leaves = False
        #: When it came to rest the last time.
        self.rests_since = 0
        #: Steps whose stream is being stored.
        self.streaming: set[int] = set()
        self.modifications = core.introspection.of(instance.workflow.name, instance.id)
        self._gate: asyncio.Future[None] | None = None
        self._settling = False
        #: How often the code was let go on since it called a step.
        self._rounds = 0
        #: What runs the code in another process, and is told when the pass is over.
        self._remote: RemoteRunner | None = None
        self._room: Room | None = None
        self._asking: asyncio.Task[None] | None = None
        self._quiet = False
        self._task: asyncio.Task[Any] | None = None
        self.steps: PassSteps | None = None

    # -- the pass
    def start(self, steps: PassSteps) -> None:
        self.steps = steps
        self._task = asyncio.get_running_loop().create_task(self._main(steps))

    async def _main(self, steps: PassSteps) -> None:
        try:
            await self._run_code(steps)
        except StorageError as error:  # of the engine's own reads
            if self._goes_on():
                self.owner.set_aside(self.instance, error)

    async def _run_code(self, steps: PassSteps) -> None:
        instance = self.instance
        runner = instance.workflow.runner
        if runner is None:
            return
        self.begins_with(runner)
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
        except BaseException as error:
            if is_order(error, self._task) or isinstance(error, StorageError):
                raise
            await self._raised(error)
        else:
            if await self._may_end():
                self._tell_end()
                await self.owner.returned(self, output)

    async def follow(self, steps: FollowedSteps) -> HostCrashed | None:
        """Runs the code on stored results as far as these lead; what comes of it is ignored.

        Returns the end of the runtime, when that is what ended the code. Code that stays in a step is left there
        until the pass is detached or rolled back.
        """
        self.steps = steps
        runner = self.instance.workflow.runner
        if runner is None:
            return None
        self.begins_with(runner)
        task = asyncio.get_running_loop().create_task(_ignoring(runner, self.event, steps))
        self._task = task
        arrivals = -1
        while self.attached and not (arrivals == steps.arrivals and (task.done() or steps.staying)):
            arrivals = steps.arrivals
            await self._let_settle(task)
        return task.result() if task.done() and not task.cancelled() else None

    async def _let_settle(self, task: asyncio.Task[HostCrashed | None]) -> None:
        """Gives followed code the time to come to its next steps."""
        if self._remote is not None and not task.done():
            asking = asyncio.get_running_loop().create_task(self._remote.quiesce(self.event))
            await asyncio.wait({task, asking}, return_when=asyncio.FIRST_COMPLETED)
            asking.cancel()
        await turns(_TURNS_TO_SETTLE)
        await breathe()

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
        self.end()

    def release(self) -> None:
        """The pass has ended by itself: nothing is left to cancel but what its code forgot to await."""
        self.attached = False
        self.owner.ended(self)
        self.waits.cancel()
        self.end()

    # -- what the pass holds in the process that runs its code
    def enter(self, room: Room) -> None:
        """Takes a place in the room of the host until the pass is over."""
        self._room = room
        room.enter()

    def is_in(self, room: Room) -> bool:
        return self._room is room

    @property
    def is_in_full_room(self) -> bool:
        return self._room is not None and self._room.is_full

    def begins_with(self, runner: Runner) -> None:
        """The code is about to be called by `runner`."""
        self._remote = runner if is_remote(runner) else None

    def end(self) -> None:
        """Nothing is asked of the code any more, so that its host can free what the pass holds."""
        remote, self._remote = self._remote, None
        room, self._room = self._room, None
        if remote is not None:
            remote.release(self.event)
        if room is not None:
            room.leave()

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
        self._rounds = 0
        if self.core.stopping and not _is_inside_a_step(self.instance):
            await self.core.hold_while_stopping()
        while self._holds_back():
            if self._gate is None:
                self._gate = asyncio.get_running_loop().create_future()
            await _wait_with_others(self._gate)
            self.check_attached()

    def _holds_back(self) -> bool:
        instance = self.instance
        if instance.status is Status.RUNNING and not self.supersede:
            return False
        if instance.status is Status.PAUSED:
            # Only here, not once its last result is stored: run() may also end without another step.
            self.owner.drop(self)
            raise RunAborted
        if self.executing:
            # Steps inside a callback belong to the step that executes, which nothing holds back.
            return not _is_inside_a_step(instance) and (self.supersede or instance.status is not Status.RUNNING)
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
            self._settle_soon()

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
    async def wait(
        self, row: StepRow, due_at: int, on_due: Callable[[Wait], None], event_type: str | None = None
    ) -> Encoded | None:
        """Waits, for what is stored already; gives what the wait ends with."""
        future: asyncio.Future[Encoded | None] = asyncio.get_running_loop().create_future()
        self.waits.add(Wait(row, due_at, future, on_due, event_type))
        self.note_waiting()
        self._settle_soon()
        return await future

    def only_waits(self) -> bool:
        """Whether run() itself stands in a wait, so that nothing of it can go on before that has ended.

        False where that cannot be told: of branches side by side, one may await something that is not a step.
        """
        return self._task is not None and _innermost_code(self._task) is Run.wait.__code__

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
        self._rounds = 0
        status = self.instance.status
        self._become(Status.RUNNING if status is Status.WAITING else status)
        self._settle_soon()
        return True

    def _settle_soon(self) -> None:
        if not self._settling:
            self._settling = True
            self.core.settling.add(self._settle)

    def _settle(self) -> None:
        """User code has gone as far as it can: if only waits are left, the instance rests."""
        with self.core.commits.or_stop():
            self._rest_if_settled()

    def _rest_if_settled(self) -> None:
        self._settling = False
        if not self.attached:
            return
        if not self.executing and len(self.waits) and self._may_go_on():
            return
        self._quiet = False
        if self.steps is not None and self.steps.expects_no_more() and self.progress():
            return
        if self.executing or not len(self.waits) or self.instance.status is Status.QUEUED:
            return
        at = self.waits.next_at()
        if at is not None and at <= self.core.clock.now():
            if self.instance.status is Status.RUNNING:
                self.progress()
            return  # one that waits is woken by the alarm, with the slot that it needs
        if self.supersede:
            self.owner.superseded(self)
            return
        if self.instance.status is Status.RUNNING:
            self._become(Status.WAITING)
        if self.core.introspection.at_point is not None:
            self._tell_waits()
            if not self.attached:
                return
        if self.steps is not None:
            self.steps.warn_of_renamed()
        if self.core.introspection.replays is not None:
            self.core.introspection.replays.rests(self.instance)
        self.owner.resting(self)

    def _may_go_on(self) -> bool:
        """Whether code of run() gets more time to call its next step before it counts as waiting."""
        if self._remote is not None:
            if not self._quiet:
                self._ask_host(self._remote)
            return not self._quiet
        self._rounds += 1
        if self._rounds > _ROUNDS or self.only_waits():
            return False
        self._settle_soon()
        return True

    def _ask_host(self, remote: RemoteRunner) -> None:
        """Turns of our loop say nothing about code in another process: it must say itself that it only waits."""
        if self._asking is None:
            self.core.settling.hold()
            self._asking = asyncio.get_running_loop().create_task(remote.quiesce(self.event))
            self._asking.add_done_callback(self._host_is_quiet)

    def _host_is_quiet(self, asking: asyncio.Task[None]) -> None:
        self._asking = None
        self.core.settling.release()
        if not asking.cancelled() and asking.exception() is None and not self._settling:
            self._quiet = True
            self._settle()


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


async def _ignoring(runner: Runner, event: RunEvent, steps: StepPort) -> HostCrashed | None:
    try:
        await runner(event, steps)
    except HostCrashed as crash:
        return crash
    except (Exception, asyncio.CancelledError, KeyboardInterrupt, SystemExit) as error:
        if is_ctrl_c(error):
            raise
        _log.debug("followed run() to %r", error)
    return None


async def _wait_with_others(shared: asyncio.Future[None]) -> None:
    """Awaits a future that others await too; cancelling this waiter leaves it alone."""
    await asyncio.shield(shared)
