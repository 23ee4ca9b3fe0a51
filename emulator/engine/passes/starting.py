"""Beginning a pass: reading its records, noting why it begins, and calling run()."""

from __future__ import annotations

from stepwell.bindings.context import StepFrame, current_step
from stepwell.bindings.errors import HostCrashed
from stepwell.bindings.ports import RunEvent, Runner
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.introspection import Point, Reached
from stepwell.emulator.engine.passes.following import follow
from stepwell.emulator.engine.passes.pass_ import Pass, PassOwner
from stepwell.emulator.engine.passes.residency import Residency
from stepwell.emulator.engine.passes.rollback import Rollbacks
from stepwell.emulator.engine.passes.steps import Steps
from stepwell.emulator.engine.passes.table import InstanceTable
from stepwell.emulator.engine.run_event import run_event
from stepwell.emulator.storage.records import EventType, PassCause, Status, StepRow

_T = EventType


class Starter:
    """Begins passes; the table owns them from then on."""

    def __init__(self, core: Core, table: InstanceTable, residency: Residency, owner: PassOwner) -> None:
        self._core = core
        self._table = table
        self._residency = residency
        self._owner = owner

    def start(self, instance: Instance, cause: PassCause, event: RunEvent | None = None) -> None:
        """Begins a pass of a queued, waiting or resumed instance; it takes a slot.

        `cause` is noted unless the pass is the first. A pass that an event woke is logged as running when it begins
        a step (case events-long-wait).
        """
        core, now = self._core, self._core.clock.now()
        first = not instance.started
        # Read before anything changes: an instance that cannot be read stays as it is stored.
        records = [] if first and event is not None else core.store.steps(instance.key)
        event = event or self._event(instance)
        if first:
            self._reach_start(instance)
        if self._table.closed:  # a test has crashed the engine at that point
            return
        if instance.status is not Status.RUNNING:
            instance.become(Status.RUNNING)
            core.store.start(instance.key, now)
        if first:
            instance.started = True
            instance.mood = _T.WORKFLOW_RUNNING
            instance.log(_T.WORKFLOW_STARTED, _T.WORKFLOW_RUNNING)
        elif cause is not PassCause.EVENT:
            instance.log_mood(_T.WORKFLOW_RUNNING)
        self.begin(instance, records, event, None if first else cause)

    def _reach_start(self, instance: Instance) -> None:
        at_point = self._core.introspection.at_point
        if at_point is not None:
            at_point(Reached(Point.BEFORE_START, instance.workflow.name, instance.id))

    def resume_after_crash(self, instance: Instance, cause: PassCause) -> None:
        """Begins a pass of an instance whose pass died; as on workerd, the history does not show it."""
        records, event = self.read(instance)
        if instance.status is not Status.RUNNING:
            instance.become(Status.RUNNING)
            self._core.store.set_status(instance.key, Status.RUNNING, self._core.clock.now(), None)
        self.begin(instance, records, event, cause)

    def read(self, instance: Instance) -> tuple[list[StepRow], RunEvent]:
        """What a pass begins with, from storage. Raises `StorageError`."""
        return self._core.store.steps(instance.key), self._event(instance)

    def _event(self, instance: Instance) -> RunEvent:
        stored = self._core.store.run_input(instance.key)
        assert stored is not None
        return run_event(instance.workflow.name, instance.id, *stored)

    def begin(self, instance: Instance, records: list[StepRow], event: RunEvent, cause: PassCause | None) -> None:
        """Begins a pass with these records, without a word in the history."""
        pass_ = self._attached(instance, event, cause)
        pass_.start(Steps(pass_, records, Rollbacks(instance.workflow.configs)))

    def _attached(self, instance: Instance, event: RunEvent, cause: PassCause | None) -> Pass:
        self._table.add(instance)
        if cause is not None:  # the first pass has no cause to keep, and costs no row
            now, version = self._core.clock.now(), instance.workflow.version_key
            self._core.store.add_pass(instance.key, now, cause, version)
        pass_ = Pass(self._core, instance, event, self._owner)
        self._residency.enter_room(pass_)
        self._table.attach(pass_)
        return pass_

    # -- passes on records alone
    async def collect_rollbacks(
        self, instance: Instance
    ) -> tuple[Pass, Rollbacks, list[StepRow], HostCrashed | None]:
        """Follows run() on stored results to find the rollback handlers of an instance that is not in memory.

        The instance is rolling back already, so that nothing else continues it meanwhile. Returns the pass, the
        handlers, the steps whose handler is missing, and the crash of the runtime if one cut the search off.
        """
        records, event = self.read(instance)
        pass_ = self._attached(instance, event, PassCause.ROLLBACK)
        rollbacks = Rollbacks(instance.workflow.configs, collecting=True)
        crash = await follow(pass_, Steps(pass_, records, rollbacks, stays=True))
        registered = {handler.row.seq for handler in rollbacks.newest_first()}
        missing = [row for row in records if row.has_rollback and row.seq not in registered]
        return pass_, rollbacks, missing, crash

    def recorded(self, instance: Instance) -> tuple[Pass, Steps]:
        """A pass that owns nothing and ends at the first step without a stored result."""
        records, event = self.read(instance)
        pass_ = Pass(self._core, instance, event, self._owner)
        return pass_, Steps(pass_, records, Rollbacks(instance.workflow.configs, collecting=True))

    async def follow_again(self, instance: Instance, runner: Runner) -> Encoded:
        """What run() of a finished instance returns when it is called again on its records, for a check.

        Raises what run() raises, and `RunAborted` at a step without a stored result.
        """
        pass_, steps = self.recorded(instance)
        current_step.set(StepFrame(instance.workflow.name, instance.id, instance.key))
        replays = self._core.introspection.replays
        pass_.host.begins_with(runner)
        try:
            output = await runner(pass_.event, steps if replays is None else replays.begins(instance, steps))
        finally:
            pass_.host.leave(pass_.event)
        if replays is not None:
            replays.ends(instance)
        return output
