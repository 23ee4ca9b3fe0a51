"""Rollback handlers: compensation of the steps that have started, newest first (area rollback).

A handler is registered by the last argument of step.do, at every pass. After a rest, a stop or a crash the
handlers of an instance are collected again by following run() on stored results as far as these lead. A rollback
that was cut off continues: completed handlers do not run again, and an attempt in flight counts as failed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from stepwell.bindings.errors import (
    NON_RETRYABLE,
    ErrorInfo,
    HostCrashed,
    NonRetryableDelayError,
    WorkflowFatalError,
    error_info,
)
from stepwell.bindings.ports import RollbackInput, RollbackOptions, StepContext, StepResult
from stepwell.bindings.values import Encoded
from stepwell.emulator.clock import resolve
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.passes.delays import delay_before_retry, is_non_retryable
from stepwell.emulator.engine.passes.retries import StepConfig, StepConfigs
from stepwell.emulator.engine.passes.rollback_progress import HandlerProgress, RollbackProgress
from stepwell.emulator.engine.passes.streams import stored_stream
from stepwell.emulator.storage.records import EventType, StepRow, StepState

_T = EventType

#: What handlers receive as the error when the instance is terminated.
TERMINATED: Final = ErrorInfo("Error", "Instance terminated during rollback")
MISSING: Final = ErrorInfo("RollbackMissing", "Rollback function not available in registry")
#: The error of an attempt that was in flight when the process or the runtime died.
CRASHED: Final = ErrorInfo(
    "WorkflowInternalError",
    "Attempt failed due to internal workflows error",
    cause=ErrorInfo("Stopped", "Stepwell was stopped, or the Worker's runtime ended, while the attempt ran"),
)


@dataclass(frozen=True, slots=True)
class Registered:
    """A step with its handler. `settings` is the step's own config, which the handler sees."""

    row: StepRow
    options: RollbackOptions
    settings: StepConfig


@dataclass(frozen=True, slots=True)
class RollbackOutcome:
    """What the REST API shows as `rollback`."""

    outcome: Literal["complete", "failed"]
    error: ErrorInfo | None = None

    def to_json(self) -> str:
        error = self.error.public() if self.error is not None else None
        return json.dumps({"outcome": self.outcome, "error": error})


class Rollbacks:
    """The handlers of one pass. `collecting`: the pass only looks for them and runs nothing."""

    def __init__(self, configs: StepConfigs, *, collecting: bool = False) -> None:
        self._configs = configs
        self.collecting = collecting
        self._registered: dict[int, Registered] = {}

    def check(self, name: str, options: RollbackOptions | None) -> RollbackOptions | None:
        """The options as given. Raises `WorkflowFatalError` for a bad handler or config."""
        if options is None:
            return None
        if not isinstance(options, RollbackOptions):
            raise WorkflowFatalError(f'Rollback options for "{name}" must be an object')
        if not callable(options.handler):
            raise WorkflowFatalError(f'Rollback for "{name}" must be a function')
        if options.has_config:
            self._configs.check(name, options.config, what="Rollback")
        return options

    def register(self, row: StepRow, options: RollbackOptions, settings: StepConfig) -> None:
        self._registered[row.seq] = Registered(row, options, settings)

    def config_of(self, one: Registered) -> StepConfig:
        if not one.options.has_config:
            return self._configs.default
        given = one.options.config
        return self._configs.check(one.row.name, given if isinstance(given, Mapping) else {}, what="Rollback")

    def __len__(self) -> int:
        return len(self._registered)

    def newest_first(self) -> list[Registered]:
        return [self._registered[seq] for seq in sorted(self._registered, reverse=True)]


class RollingBack:
    """One execution of the handlers of an instance."""

    def __init__(
        self,
        core: Core,
        instance: Instance,
        rollbacks: Rollbacks,
        error: ErrorInfo,
        progress: RollbackProgress | None = None,
    ) -> None:
        """`progress`: how far an earlier execution had come, which this one continues."""
        self._core = core
        self._instance = instance
        self._rollbacks = rollbacks
        self._error = error
        self._progress = progress or RollbackProgress()

    async def run(self, missing: list[StepRow]) -> RollbackOutcome:
        """Runs the handlers; stops at the first that fails after its retries.

        `missing` are steps that had a handler once and have registered none: the chain stops there. Raises
        `HostCrashed` when the runtime of the user code ends and the rollback is to go on in the next one.
        """
        if not self._progress.started:
            self._instance.log(_T.ROLLBACK_STARTED)
        gone = {row.seq: row for row in missing}
        todo = {one.row.seq: one for one in self._rollbacks.newest_first()}
        completed = {seq for seq, handler in self._progress.handlers.items() if handler.completed}
        for seq in sorted((gone.keys() | todo.keys()) - completed, reverse=True):
            failure = self._missing(gone[seq]) if seq in gone else await self._unless_crashed(todo[seq])
            if failure is not None:
                self._instance.log(_T.ROLLBACK_ERRORED)
                return RollbackOutcome("failed", failure)
        self._instance.log(_T.ROLLBACK_COMPLETED)
        return RollbackOutcome("complete")

    def _missing(self, row: StepRow) -> ErrorInfo:
        self._instance.log(_T.ROLLBACK_STEP_ERRORED, step=row.seq, detail=json.dumps({"error": MISSING.to_json()}))
        return MISSING

    async def _unless_crashed(self, one: Registered) -> ErrorInfo | None:
        """With workerd's way a crash of the runtime ends the chain."""
        try:
            return await self._one(one)
        except HostCrashed as crash:
            if self._core.compat.resume_rollbacks:
                raise
            return error_info(crash)

    async def _one(self, one: Registered) -> ErrorInfo | None:
        """The error of a handler that failed for good, else None."""
        config = self._rollbacks.config_of(one)
        seq = one.row.seq
        before = self._progress.handlers.get(seq)
        if before is None:
            await self._core.hold_while_stopping()
            detail = json.dumps({"config": json.loads(config.text)})
            self._instance.log(_T.ROLLBACK_STEP_STARTED, step=seq, detail=detail)
        attempt = 0 if before is None else before.attempts
        final = None if before is None else await self._catch_up(one, config, before)
        while final is None:
            attempt += 1
            error = await self._attempt(one, config, attempt)
            if error is None:
                self._instance.log(_T.ROLLBACK_ATTEMPT_COMPLETED, step=seq, attempt=attempt)
                self._instance.log(_T.ROLLBACK_STEP_COMPLETED, step=seq)
                await self._core.commits.durable()
                return None
            final = await self._after(one, config, attempt, error)
        self._instance.log(_T.ROLLBACK_STEP_ERRORED, step=seq, detail=json.dumps({"error": final.to_json()}))
        return final

    async def _catch_up(self, one: Registered, config: StepConfig, before: HandlerProgress) -> ErrorInfo | None:
        """Brings a handler that was cut off to the start of its next attempt; gives its error when it has none."""
        if before.in_flight:
            final = CRASHED if before.attempts > config.limit else None
            detail: dict[str, object] = {"error": CRASHED.to_json()}
            if final is None:
                detail["retryDelayMs"] = 0
            self._log_failure(one, before.attempts, detail)
            return final
        if before.error is not None and before.retry_at is None:
            return before.error
        if before.retry_at is not None:
            await self._pass_time(max(before.retry_at - self._core.clock.now(), 0))
        return None

    async def _attempt(self, one: Registered, config: StepConfig, attempt: int) -> ErrorInfo | None:
        await self._core.hold_while_stopping()
        self._core.handlers += 1
        try:
            return await self._called(one, config, attempt)
        finally:
            self._core.handlers -= 1

    async def _called(self, one: Registered, config: StepConfig, attempt: int) -> ErrorInfo | None:
        row = one.row
        self._instance.log(_T.ROLLBACK_ATTEMPT_STARTED, step=row.seq, attempt=attempt)
        await self._core.commits.durable()
        context = StepContext(row.name, row.count, row.attempts, one.settings.shown)
        given = RollbackInput(context, self._error, self._output(row), row.public_name)
        try:
            await self._core.callbacks.within(config.timeout_ms, _call(one.options, given))
        except HostCrashed:
            raise
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            return _as_rpc_brings(error_info(error))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return error_info(error)  # the handler cancelled something of its own
        return None

    def _output(self, row: StepRow) -> StepResult | None:
        if row.state is not StepState.COMPLETED:
            return None
        if row.stream is not None:
            return stored_stream(self._core.store, self._instance.key, row.seq)
        return None if row.output is None else Encoded(row.output)

    async def _after(self, one: Registered, config: StepConfig, attempt: int, error: ErrorInfo) -> ErrorInfo | None:
        """Logs a failed attempt and waits for the next; gives the error when there is none."""
        detail: dict[str, object] = {"error": error.to_json()}
        final: ErrorInfo | None = None
        delay_ms = 0
        if is_non_retryable(error) or attempt > config.limit:
            final = error
        else:
            try:
                context = StepContext(one.row.name, one.row.count, attempt, config.shown)
                delay_ms = await delay_before_retry(
                    self._core, self._instance.workflow.limits, config, context, error
                )
                detail["retryDelayMs"] = delay_ms
            except NonRetryableDelayError as bad:
                final = bad.info
        self._log_failure(one, attempt, detail)
        await self._core.commits.durable()
        if final is None:
            await self._pass_time(delay_ms)
        return final

    def _log_failure(self, one: Registered, attempt: int, detail: dict[str, object]) -> None:
        self._instance.log(
            _T.ROLLBACK_ATTEMPT_ERRORED, step=one.row.seq, attempt=attempt, detail=json.dumps(detail)
        )

    async def _pass_time(self, ms: int) -> None:
        """Counts as parked until the very moment in which the time is over."""
        core = self._core
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def end() -> None:
            core.parked -= 1
            resolve(over)

        core.parked += 1
        deadline = core.callbacks.deadlines.after(round(ms / core.clock.scale), end)
        try:
            await over
        finally:
            if not deadline.is_over:
                deadline.cancel()
                core.parked -= 1


def _as_rpc_brings(error: ErrorInfo) -> ErrorInfo:
    """A handler's NonRetryableError has lost its name on its way to workerd's engine; the message has it."""
    return error.folded() if error.name == NON_RETRYABLE else error


async def _call(options: RollbackOptions, given: RollbackInput) -> None:
    await options.handler(given)
