"""The engine: what the binding, the APIs, the dashboard and tests call."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from stepwell.bindings.ports import Runner
from stepwell.bindings.values import Encoded
from stepwell.emulator.clock import Clock, breathe
from stepwell.emulator.engine.binding import Binding
from stepwell.emulator.engine.commands import Commands, not_found
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.creation import Creation
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition, WorkflowState
from stepwell.emulator.engine.durability import Hold
from stepwell.emulator.engine.introspection import Introspection
from stepwell.emulator.engine.passes.passes import Passes
from stepwell.emulator.engine.passes.retries import StepConfigs
from stepwell.emulator.engine.replay.reloads import CannotFollow, ReloadCheck
from stepwell.emulator.engine.time.clock_moves import ClockMoves
from stepwell.emulator.engine.time.schedules import Schedules
from stepwell.emulator.engine.time.travel import EngineState, Move, TimeTravel
from stepwell.emulator.limits import Limits
from stepwell.emulator.storage.records import Trigger, VersionRow
from stepwell.emulator.storage.store import Store
from stepwell.emulator.switches import Switches

if TYPE_CHECKING:
    from stepwell.emulator.engine.replay.check import ReplayCheck
    from stepwell.emulator.engine.replay.compare import Finding

_log = logging.getLogger("stepwell.engine")


class Engine:
    """Runs the instances of any number of Workflows on the running loop.

    Order of use: construct, `define` every Workflow, `start`, use, `stop`. All methods belong to the loop's thread.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        limits: Limits | None = None,
        compat: Switches | None = None,
        *,
        replay_always: bool = False,
        enforce_retention: bool = False,
        fire_schedules: bool = True,
    ) -> None:
        """`enforce_retention`: also apply the default retention of the limits."""
        self.store = store
        self.clock = clock
        self.limits = limits or Limits()
        self.compat = compat or Switches()
        self._core = Core.build(store, clock, self.limits, self.compat, enforce_retention=enforce_retention)
        self.clock_moves = ClockMoves(store)
        self._workflows: dict[str, WorkflowState] = {}
        self._by_key: dict[int, WorkflowState] = {}
        self._passes = Passes(self._core, self._by_key, replay_always=replay_always)
        if replay_always:
            from stepwell.emulator.engine.replay.compare import Replays

            self._core.introspection.replays = Replays(_warn_of)
        self.commands = Commands(self._core, self._passes)
        self.reload_check = ReloadCheck(self._core, self.commands)
        self.creation = Creation(self._core, self._passes)
        self.schedules = Schedules(self._core, self._by_key, self.creation, enabled=fire_schedules)
        waker = self._passes.waker
        outlook = EngineState(self._is_quiet, self.next_at, self._next_wake, waker.wake_due, lambda: waker.woken)
        self._travel = TimeTravel(self._core, self.clock_moves, outlook)
        self._started = False
        #: Callbacks that had not ended when the engine stopped.
        self.cut_off = 0
        self._at_failure: list[Callable[[], None]] = []
        self._core.commits.on_failure(self._stop_for_good)
        self._core.commits.on_hold(self._hold_changed)
        self._at_hold: list[Callable[[], None]] = []

    # -- Workflows
    def define(self, definition: WorkflowDefinition, runner: Runner | None, version: Version | None) -> None:
        """Define a Workflow and the code that runs it. Call it again when either changes.

        Instances that run go over to the new code, each after the step it is in. Without a runner (the class is
        gone, or not loaded yet) they are blocked until there is one.
        """
        if not self._workflows:
            self.store.undefine_workflows()  # those of the last process; each comes back with its code
        definition = definition.overridden(self.limits.of_workflows.get(definition.name, {}))
        if (preserved := self.compat.preserve_non_retryable) != "auto":
            definition = replace(definition, preserve_non_retryable=preserved == "on")
        now = self.clock.now()
        key = self.store.put_workflow(
            str(uuid.uuid4()), definition.name, definition.class_name, definition.script_name, now
        )
        version_key = self.store.put_version(_version_row(key, definition, version, now)) if version else 0
        version_id = version.id if version else ""
        self.store.define_workflow(key, defined=runner is not None)
        state = self._workflows.get(definition.name)
        if state is None:
            limits = self.limits.of_workflow(definition.name)
            configs = StepConfigs(limits, self.compat)
            state = WorkflowState(key, definition, version_key, version_id, runner, limits=limits, configs=configs)
            self._workflows[definition.name] = self._by_key[key] = state
            if self._started:
                self._passes.adopt(state)
        else:
            state.definition, state.runner = definition, runner
            state.version_key, state.version_id = version_key, version_id
            self._passes.replace_code(state)
            if self._started and runner is not None:
                self._passes.unblock(state)
        if self._started:
            self.store.commit()
            self.schedules.plan()

    def workflow(self, name: str, trigger: Trigger = Trigger.BINDING) -> Binding:
        """The port of a Workflow. Raises `KeyError` for an unknown name."""
        return Binding(self._core, self._workflows[name], self.creation, self.commands, trigger)

    def find_workflow(self, name: str) -> Binding | None:
        """The port of a Workflow, or None for an unknown name."""
        return self.workflow(name) if name in self._workflows else None

    def workflows(self) -> list[WorkflowState]:
        return list(self._workflows.values())

    async def fire_schedule(self, name: str, cron: str | None = None) -> str:
        """The id of the instance that a schedule creates now. Raises `EngineError`, `KeyError` for no Workflow."""
        return await self.schedules.fire(self._workflows[name], cron)

    # -- life
    async def start(self) -> None:
        """Start: continue the instances that an earlier process left in storage."""
        if not self._workflows:
            self.store.undefine_workflows()
        await self._passes.restore()
        self.store.commit()
        self._started = True
        self.schedules.plan()
        self._passes.outcomes.retention.start()
        self._travel.keep_scaled()

    def hold_code(self) -> None:
        """Until `release_code` passes and rollbacks begin without calling user code, which may never return."""
        self._core.code_gate = asyncio.Event()

    def release_code(self) -> None:
        gate, self._core.code_gate = self._core.code_gate, None
        if gate is not None:
            gate.set()

    @property
    def executing(self) -> int:
        """Number of running step callbacks and rollback handlers."""
        return self._passes.executing

    async def stop(self, grace_ms: int = 0) -> None:
        """Stop: no new steps begin, running callbacks get `grace_ms` to finish, then all passes are detached."""
        self._travel.end()
        self.schedules.stop()
        self._passes.outcomes.retention.stop()
        self._core.stopping = True
        await self._grace(grace_ms)
        self.cut_off = self._passes.executing
        self._passes.stop()
        self._core.callbacks.stop()
        await asyncio.sleep(0)
        self._core.commits.give_up()
        if self.failure is None:
            self.store.commit()

    async def _grace(self, grace_ms: int) -> None:
        over = asyncio.Event()
        deadline = self._core.callbacks.deadlines.after(grace_ms, over.set)
        while self._passes.executing and not over.is_set():
            await breathe()
        deadline.cancel()

    def crash(self) -> None:
        """Stop like a killed process, without the last commit (for tests)."""
        self._halt()
        self._core.commits.discard()

    def _halt(self) -> None:
        self._travel.halt()
        self.schedules.stop()
        self._passes.outcomes.retention.stop()
        self._passes.stop()
        self._core.callbacks.stop()

    @property
    def failure(self) -> BaseException | None:
        """The storage error that stopped the engine, or None."""
        return self._core.commits.failure

    def _stop_for_good(self, error: BaseException) -> None:
        """Stop after a failed commit: no callback may run if its attempt can't be recorded."""
        _log.critical(
            "The engine has stopped: it can't write to the database (%s).",
            error,
            extra={"action": "engine_stopped"},
        )
        self._halt()
        for callback in self._at_failure:
            callback()

    @property
    def damaged(self) -> frozenset[int]:
        """Keys of the instances that can't be read. Their records stay unchanged."""
        return self._passes.table.aside

    @property
    def damage(self) -> str:
        """Damage found by the check of the database; "" for none. Safe to read from any thread."""
        return self._core.store.damage

    @property
    def held(self) -> Hold | None:
        """Why the database can't be written at the moment, or None. Safe to read from any thread."""
        return self._core.commits.held

    def at_hold(self, callback: Callable[[], None]) -> None:
        """Set the callback for changes of `held`."""
        self._at_hold.append(callback)

    def _hold_changed(self) -> None:
        for callback in self._at_hold:
            callback()

    def at_failure(self, callback: Callable[[], None]) -> None:
        """Set the callback for an engine that stopped because of a storage error."""
        self._at_failure.append(callback)

    @property
    def introspection(self) -> Introspection:
        return self._core.introspection

    async def follow_again(self, key: int) -> Encoded:
        """For tests: what run() of a finished instance returns when it is followed once more on its records.

        Raises what it raises, and `RunAborted` when it comes to a step that is not recorded.
        """
        instance = self._passes.table.load(key)
        runner = None if instance is None else instance.workflow.runner
        if instance is None or runner is None:
            raise not_found()
        return await asyncio.create_task(self._passes.starter.follow_again(instance, runner))

    async def check_replay(self, key: int) -> ReplayCheck:
        """Replay an instance on the current code and its stored results; return the first difference."""
        instance = self._passes.table.load(key)
        if instance is None or instance.workflow.runner is None:
            raise not_found()
        from stepwell.emulator.engine.replay.check import check_replay

        return await check_replay(self._core, self._passes, instance, instance.workflow.runner)

    async def check_reload(self, name: str, runner: Runner) -> list[CannotFollow]:
        """Pause the unfinished instances of a Workflow that can't follow new code. Call it before `define`."""
        return await self.reload_check.check(self._workflows[name], runner)

    def look_again(self, key: int) -> None:
        """Check open waits again after a test has added mocked events."""
        self._passes.waker.wake(key)

    def observe(self, observer: Callable[[frozenset[int]], None]) -> None:
        """Set the callback that receives the keys of changed instances after each commit."""
        self._core.changes.observe(observer)

    # -- time
    @property
    def is_idle(self) -> bool:
        """True if nothing happens without time or a call: all instances wait, are paused, queued or finished."""
        return self._travel.is_idle

    def _is_quiet(self) -> bool:
        busy = len(self._core.settling) or self._passes.starting or self._passes.waker.alarm.is_due
        return not (busy or self.schedules.firing or self.store.dirty or self._core.commits.waits)

    async def idle(self) -> None:
        """Wait until the engine is idle."""
        await self._travel.idle()

    def next_at(self) -> int | None:
        """The next due time: of a wake, a timeout or a schedule."""
        return _earliest(self._next_wake(), self._core.callbacks.deadlines.next_at())

    def _next_wake(self) -> int | None:
        return _earliest(self._passes.waker.next_wake(), self.schedules.next_at())

    async def advance(self, ms: int) -> None:
        """Move the clock. Due work runs in order; each instance runs until it waits again."""
        await self._travel.advance(ms)

    async def advance_to_next(self) -> int | None:
        """Move the clock to the next due time and return it; None if nothing is due."""
        return await self._travel.advance_to_next()

    @property
    def clock_move(self) -> Move | None:
        """The current move of the clock, or None."""
        return self._travel.under_way

    def stop_clock(self) -> None:
        """Stop the current move of the clock at the time that it has reached."""
        self._travel.stop()

    def move_clock(self, at: int) -> None:
        """Set the time and wake everything due by then. Await `idle` for the work to finish."""
        self._travel.move(at)


def _earliest(*times: int | None) -> int | None:
    return min((at for at in times if at is not None), default=None)


def _warn_of(finding: Finding) -> None:
    extra = {"action": "not_deterministic", "workflow": finding.workflow_name, "instance_id": finding.instance_id}
    _log.warning("not deterministic: %s", finding, extra=extra)


def _version_row(workflow: int, definition: WorkflowDefinition, version: Version, at: int) -> VersionRow:
    settings: dict[str, object] = {
        "limits": {"steps": definition.steps_limit} if definition.steps_limit else None,
        "concurrency": {"limit": definition.concurrency_limit} if definition.concurrency_limit else None,
        "default_retention": {
            "success_retention": definition.success_retention_ms,
            "error_retention": definition.error_retention_ms,
        },
    }
    return VersionRow(
        key=0,
        id=version.id,
        workflow=workflow,
        class_name=definition.class_name,
        language=version.language,
        created_at=at,
        settings=json.dumps(settings),
        source=version.source,
    )
